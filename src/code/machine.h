/*
 * machine.h - one instruction at a time: what code.c needs to know of a machine
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CODE_MACHINE_H
#define CODE_MACHINE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

/* An instruction as a decoder found it.  Without text it is none. */
struct decoded {
	char text[256];
	uint32_t size;
	bool has_target;    /* it jumps to or calls 'address' */
	bool has_reference; /* an operand is 'address' */
	uint64_t address;
};

struct decoder {
	uint32_t step; /* how far to go on behind what is no instruction */
	void (*decode)(struct decoder *d, struct str bytes, uint64_t address, struct decoded *out);
	void (*close)(struct decoder *d);
};

/* Each makes a decoder to be closed with its close(), or says which package to install. */
int decoder_x86(bool wide, bool intel, struct decoder **out, struct err *err);
int decoder_arm64(struct decoder **out, struct err *err);

#endif /* CODE_MACHINE_H */
