/*
 * code.h - machine code as text
 *
 * Zydis reads x86, capstone reads 64-bit ARM; both are loaded by the first command that asks for
 * code.  Bytes that are no instruction are "(bad)", and reading goes on behind them: nothing is
 * too broken to be looked at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CODE_CODE_H
#define CODE_CODE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct err;

struct code_inst {
	uint64_t address; /* as the file was linked */
	uint64_t target;  /* where it jumps to or what it calls, as far as it says so; else 0 */
	struct str text;
	uint32_t size; /* in bytes */
};

/* A piece of code, one instruction after the other. */
struct code {
	struct arena arena; /* the texts live here */
	struct code_inst *insts;
	size_t n;
};

struct code_options {
	bool intel; /* syntax: Intel's, not AT&T's.  ARM has only one */
	/*
	 * The function at an address: "" or its name and how far into it the address is.  NULL:
	 * addresses get no names.
	 */
	struct str (*name_of)(uint64_t address, uint64_t *offset, void *ctx);
	void *ctx;
};

/*
 * code_decode() reads all of 'bytes', which are at 'address' in a file for 'machine' (EM_... of
 * <elf.h>).  Release with code_release(), whatever it returns.  Failure: -ENOTSUP and a sentence
 * for a machine nobody here knows, -ENOENT and which package to install.
 *
 * A jump or call is followed by the name of where it leads to, an operand relative to the program
 * counter by its address:
 *
 *	call 0x401136 <main+0x10>
 *	lea 0xe9d(%rip), %rdi  # 0x402004
 */
int code_decode(uint16_t machine, struct str bytes, uint64_t address, const struct code_options *o,
		struct code *out, struct err *err);

/*
 * code_read() is code_decode() for the code of 'f' from 'start' to before 'end'.  An instruction
 * that starts before 'end' is read to its own end.  Of more than 8 MiB it reads the first 8.
 */
int code_read(const struct elf_file *f, uint64_t start, uint64_t end, const struct code_options *o,
	      struct code *out, struct err *err);

void code_release(struct code *c);

#endif /* CODE_CODE_H */
