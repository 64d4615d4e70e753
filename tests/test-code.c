/*
 * test-code.c - machine code as text, and Go's line tables
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "code/code.h"
#include "elf/elf-file.h"
#include "elf/go-lines.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct str main_at_0x1000(uint64_t address, uint64_t *offset, void *ctx)
{
	(void)ctx;
	if (address < 0x1000 || address >= 0x1100)
		return (struct str){ 0 };
	*offset = address - 0x1000;
	return STR("main");
}

static void check(uint16_t machine, bool intel, struct str bytes, const char *const *want)
{
	struct code_options o = { .intel = intel, .name_of = main_at_0x1000 };
	struct err err = { "" };
	struct code c;
	size_t n = 0;

	if (code_decode(machine, bytes, 0x1000, &o, &c, &err) == -ENOENT) {
		code_release(&c);
		skip();
	}
	assert_string_equal(err.msg, "");
	for (; want[n]; n++) {
		assert_true(n < c.n);
		assert_string_equal(c.insts[n].text.p, want[n]);
	}
	assert_int_equal(c.n, n);
	code_release(&c);
}

#define TEXTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* push %rbp; mov %rsp,%rbp; lea 0x10(%rip),%rdi; call +0; je -2; ret */
static const char sequence[] = "\x55\x48\x89\xe5\x48\x8d\x3d\x10\x00\x00\x00"
			       "\xe8\x00\x00\x00\x00\x74\xfe\xc3";

static void x86_is_read_in_both_syntaxes(void **state)
{
	struct str bytes = { sequence, sizeof(sequence) - 1 };

	(void)state;
	check(EM_X86_64, false, bytes,
	      TEXTS("push %rbp", "mov %rsp, %rbp", "lea 0x10(%rip), %rdi  # 0x101b <main+0x1b>",
		    "call 0x1010 <main+0x10>", "je 0x1010 <main+0x10>", "ret"));
	check(EM_X86_64, true, bytes,
	      TEXTS("push rbp", "mov rbp, rsp", "lea rdi, [rip+0x10]  # 0x101b <main+0x1b>",
		    "call 0x1010 <main+0x10>", "je 0x1010 <main+0x10>", "ret"));
}

static void conditions_have_their_common_names(void **state)
{
	(void)state;
	check(EM_X86_64, false,
	      STR("\x75\x00\x7f\x00\x7d\x00\x73\x00\x77\x00\x7c\x00\x0f\x94\xc0\x0f\x45\xc1"),
	      TEXTS("jne 0x1002 <main+0x2>", "jg 0x1004 <main+0x4>", "jge 0x1006 <main+0x6>",
		    "jae 0x1008 <main+0x8>", "ja 0x100a <main+0xa>", "jl 0x100c <main+0xc>",
		    "sete %al", "cmovne %ecx, %eax"));
}

/* The decoder of the reference does not know these. */
static void new_instructions_are_known(void **state)
{
	(void)state;
	check(EM_X86_64, false,
	      STR("\x62\xf2\x75\x48\x50\xc2\x66\x0f\xae\xf0\xf3\x0f\xc7\xf8\x0f\x01\xe8"),
	      TEXTS("vpdpbusd %zmm2, %zmm1, %zmm0", "tpause %eax", "rdpid %rax", "serialize"));
}

static void reading_goes_on_behind_garbage(void **state)
{
	(void)state;
	check(EM_X86_64, false, STR("\x06\x90\x0f\xff"), TEXTS("(bad)", "nop", "(bad)", "(bad)"));
	check(EM_X86_64, false, STR("\xe8\x00"), TEXTS("(bad)", "(bad)"));
	check(EM_AARCH64, false, STR("\xff\xff\xff\xff\x1f\x20\x03\xd5\x00"),
	      TEXTS("(bad)", "nop", "(bad)"));
	check(EM_X86_64, false, STR(""), (const char *const[]){ NULL });
}

static void arm64_is_read(void **state)
{
	(void)state;
	check(EM_AARCH64, false,
	      STR("\xfd\x7b\xbf\xa9\x04\x00\x00\x94\x60\x00\x00\x54\xe0\x03\x00\x91\xc0\x03\x5f"
		  "\xd6"),
	      TEXTS("stp x29, x30, [sp, #-0x10]!", "bl #0x1014 <main+0x14>",
		    "b.eq #0x1014 <main+0x14>", "mov x0, sp", "ret"));
}

static void an_unknown_machine_is_named(void **state)
{
	struct code_options o = { 0 };
	struct err err = { "" };
	struct code c;

	(void)state;
	assert_int_equal(code_decode(EM_S390, STR("\0\0"), 0, &o, &c, &err), -ENOTSUP);
	code_release(&c);
	assert_string_equal(err.msg,
			    "cannot disassemble code for machine 22: only x86 and aarch64");
}

static void a_damaged_line_table_has_no_lines(void **state)
{
	char bytes[64] = "\xf1\xff\xff\xff\x00\x00\x01\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
	struct go_line line = { .line = 7 };
	struct go_lines g;

	(void)state;
	assert_false(go_lines_parse(&g, (struct str){ bytes, sizeof(bytes) }));
	assert_false(go_lines_parse(&g, (struct str){ bytes, 8 }));
	memset(bytes + 8, 0, 8);
	bytes[8] = 2;
	assert_true(go_lines_parse(&g, (struct str){ bytes, sizeof(bytes) }));
	for (uint64_t a = 0; a < UINT32_MAX; a += 0x01010101)
		if (go_lines_find(&g, a, &line))
			assert_int_equal(line.file.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_is_read_in_both_syntaxes),
		cmocka_unit_test(conditions_have_their_common_names),
		cmocka_unit_test(new_instructions_are_known),
		cmocka_unit_test(reading_goes_on_behind_garbage),
		cmocka_unit_test(arm64_is_read),
		cmocka_unit_test(an_unknown_machine_is_named),
		cmocka_unit_test(a_damaged_line_table_has_no_lines),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
