/*
 * test-demangle.c - names that people wrote, from names that compilers made
 *
 * What is expected here is what the reference tool prints.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/demangle.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/out.h"
#include "profile/profile.h"
#include "symbol/demangle-quick.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct name {
	const char *mangled;
	const char *shown;     /* by default */
	const char *templates; /* NULL: as by default */
	const char *full;      /* NULL: as with templates */
};

static void check_one(const char *mangled, enum demangle_mode mode, const char *expected)
{
	AUTO(arena_release) struct arena a;
	struct str got;

	arena_init(&a, 1 << 20);
	got = demangle_name(str_of(mangled), mode, &a);
	if (!str_is(got, expected))
		fail_msg("%s in mode %d: expected %s, got %.*s", mangled, mode, expected,
			 STR_ARG(got));
}

static void check(const struct name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *templates = names[i].templates ? names[i].templates : names[i].shown;
		const char *full = names[i].full ? names[i].full : templates;

		check_one(names[i].mangled, DEMANGLE_DEFAULT, names[i].shown);
		check_one(names[i].mangled, DEMANGLE_TEMPLATES, templates);
		check_one(names[i].mangled, DEMANGLE_FULL, full);
	}
}

static void functions_lose_parameters_and_template_arguments(void **state)
{
	static const struct name names[] = {
		{ "_Z3fooi", "foo", NULL, "foo(int)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back",
		  "std::vector<int, std::allocator<int> >::push_back",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZN12_GLOBAL__N_11fIiEEvT_", "(anonymous namespace)::f",
		  "(anonymous namespace)::f<int>", "void (anonymous namespace)::f<int>(int)" },
		{ "_ZZ4mainENKUlT_E_clIiEEDaS_", "main::{lambda(auto:1)#1}::operator()",
		  "main::{lambda(auto:1)#1}::operator()<int>",
		  "auto main::{lambda(auto:1)#1}::operator()<int>(int) const" },
		{ "_ZNKR1A1fIiEEvv", "A::f", "A::f<int>", "void A::f<int>() const &" },
		{ "_ZNK1AcvN1BIiEEEv", "A::operator B", "A::operator B<int>",
		  "A::operator B<int>() const" },
		{ "_ZN1A1fB5cxx11Ev", "A::f[abi:cxx11]", NULL, "A::f[abi:cxx11]()" },
	};

	(void)state;
	check(names, COUNT(names));
}

static void operators_keep_their_brackets(void **state)
{
	static const struct name names[] = {
		{ "_ZltIiEbT_S0_", "operator<", "operator< <int>",
		  "bool operator< <int>(int, int)" },
		{ "_ZlsIiEvT_S0_", "operator<<", "operator<< <int>",
		  "void operator<< <int>(int, int)" },
		{ "_ZrsIiEbT_S0_", "operator>>", "operator>><int>",
		  "bool operator>><int>(int, int)" },
		{ "_ZssIiEbT_S0_", "operator<=>", "operator<=><int>",
		  "bool operator<=><int>(int, int)" },
		{ "_ZN1AptEv", "A::operator->", NULL, "A::operator->()" },
		{ "_ZN1AclIiEEvv", "A::operator()", "A::operator()<int>",
		  "void A::operator()<int>()" },
		{ "_ZN1AixIiEEvv", "A::operator[]", "A::operator[]<int>",
		  "void A::operator[]<int>()" },
	};

	(void)state;
	check(names, COUNT(names));
}

static void comparisons_and_empty_packs_do_not_confuse(void **state)
{
	static const struct name names[] = {
		{ "_Z1fIXltLi3ELi2EEEvv", "f", "f<(3)<(2)>", "void f<(3)<(2)>()" },
		{ "_Z1fILb1EXgtLi3ELi2EEEvv", "f", "f<true, ((3)>(2))>",
		  "void f<true, ((3)>(2))>()" },
		{ "_Z1fI1AIXrsLi8ELi1EEEEvv", "f", "f<A<(8)>>(1)> >", "void f<A<(8)>>(1)> >()" },
		{ "_Z1fIXadL_ZNK1AgtEiEEEvv", "f", "f<&(A::operator>(int) const)>",
		  "void f<&(A::operator>(int) const)>()" },
		{ "_Z1fIJEiEvv", "f", "f<int>", "void f<int>()" },
		{ "_Z1fIiJEJiiEEvv", "f", "f<int, int, int>", "void f<int, int, int>()" },
		{ "_ZTV1AI1BIiJEEJEE", "vtable for A", "vtable for A<B<int> >", NULL },
	};

	(void)state;
	check(names, COUNT(names));
}

static void suffixes_of_the_compiler_are_dropped(void **state)
{
	static const struct name names[] = {
		{ "_Z3foov.cold", "foo", NULL, "foo()" },
		{ "_Z3foov.part.1.constprop.2", "foo", NULL, "foo()" },
		{ "_Z3foov.ABC", "foo", NULL, "foo()" },
		{ "_Z3fooi@plt", "foo", NULL, "_Z3fooi@plt" },
		{ "_ZL3foo.0", "foo", NULL, "_ZL3foo.0" },
		{ "_ZTV3foo@@X", "vtable for foo", NULL, NULL },
	};

	(void)state;
	check(names, COUNT(names));
	check_one("_Z3foov.isra.0.cold", DEMANGLE_NONE, "foo() [clone .isra.0] [clone .cold]");
}

static void what_starts_programs_and_blocks_is_named(void **state)
{
	static const struct name names[] = {
		{ "_GLOBAL__I__Z3fooIiEvT_", "global constructors keyed to void foo(int)",
		  "global constructors keyed to void foo<int>(int)", NULL },
		{ "_GLOBAL__D_abc", "global destructors keyed to _D_abc", NULL, NULL },
		{ "_GLOBAL__sub_I_foo.cc", "_GLOBAL__sub_I_foo.cc", NULL, NULL },
		{ "___Z3fooi_block_invoke_2", "invocation function for block in foo", NULL,
		  "invocation function for block in foo(int)" },
		{ "___Z3fooi_block_invoke_x", "___Z3fooi_block_invoke_x", NULL, NULL },
		{ "__Z3foov", "__Z3foov", NULL, NULL },
	};

	(void)state;
	check(names, COUNT(names));
}

static void rust_is_shown_in_full(void **state)
{
	static const struct name names[] = {
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo", NULL, NULL },
		{ "_RNvCs1234_7mycrate3foo.llvm.123", "mycrate::foo", NULL, NULL },
		{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>", NULL, NULL },
		{ "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
		  "core::fmt::Formatter::write_str", NULL, NULL },
		{ "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE.llvm.12345",
		  "core::fmt::Formatter::write_str", NULL, NULL },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		  "17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar", NULL, NULL },
		{ "_ZN3a.b4c..d17h930b740aa94f1d3aE", "a.b::c::d", NULL, NULL },
		/* Four different digits are not a hash: C++. */
		{ "_ZN4core3fmt17h1111222233334444E", "core::fmt::h1111222233334444", NULL, NULL },
	};

	(void)state;
	check(names, COUNT(names));
}

/* The reference crashes here. */
static void an_identifier_of_negative_length_is_refused(void **state)
{
	(void)state;
	check_one("_ZN0_1a17h930b740aa94f1d3aE", DEMANGLE_FULL, "_ZN0_1a17h930b740aa94f1d3aE");
}

static void names_that_were_demangled_before_are_shortened(void **state)
{
	static const struct name names[] = {
		{ "std::vector<int>::push_back(int const&)", "std::vector::push_back",
		  "std::vector<int>::push_back", "std::vector<int>::push_back(int const&)" },
		{ "(anonymous namespace)::f(int)", "::f", NULL, "(anonymous namespace)::f(int)" },
		{ "f((a)(b))::g((d)", "f::g((d)", NULL, "f((a)(b))::g((d)" },
		{ "foo)bar::(x)", "foo)bar::(x)", NULL, NULL },
		{ "foo(int)", "foo(int)", NULL, NULL },
		{ "a:b(c)", "a:b(c)", NULL, NULL },
		{ "[unknown]", "[unknown]", NULL, NULL },
		{ "<unknown>", "", "<unknown>", NULL },
	};

	(void)state;
	check(names, COUNT(names));
}

static void names_of_go_and_java_stay_as_they_are(void **state)
{
	static const struct name names[] = {
		{ "", "", NULL, NULL },
		{ "runtime.mallocgc", "runtime.mallocgc", NULL, NULL },
		{ "main.(*Foo[...]).Bar", "main.(*Foo[...]).Bar", NULL, NULL },
		{ "main.Map[...].func1(x)", "main.Map[...].func1", NULL, "main.Map[...].func1(x)" },
		{ "java.lang.Object.<init>(int)", "java.lang.Object.<init>(int)", NULL, NULL },
		{ "_start", "_start", NULL, NULL },
		{ "__libc_start_main", "__libc_start_main", NULL, NULL },
	};

	(void)state;
	check(names, COUNT(names));
}

static void nonsense_stays_as_it_is(void **state)
{
	static const char *const names[] = {
		"_Z",
		"_ZN",
		"_R",
		"_RN",
		"_ZNK",
		"_Z3fo",
		"_Z9999999999a",
		"_GLOBAL_",
		"_GLOBAL__I_",
		"___Z",
		"___Z_block_invoke",
		"_ZN3foo17h930b740aa94f1d3a",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		check_one(names[i], DEMANGLE_FULL, names[i]);
}

/* A name as a stranger would make it: 'n' times 'unit' after 'start', then 'end'. */
static char *repeated(const char *start, const char *unit, size_t n, const char *end)
{
	size_t a = strlen(start), b = strlen(unit), c = strlen(end);
	char *z = malloc(a + n * b + c + 1);

	assert_non_null(z);
	memcpy(z, start, a);
	for (size_t i = 0; i < n; i++)
		memcpy(z + a + i * b, unit, b);
	memcpy(z + a + n * b, end, c + 1);
	return z;
}

static void depth_length_and_expansion_are_bounded(void **state)
{
	static const char laughs[] =
		"_Z1fI1AIiiE1BIS1_S1_E1BIS3_S3_E1BIS5_S5_E1BIS7_S7_E1BIS9_S9_E1BISB_SB_E1BISD_SD_E"
		"1BISF_SF_E1BISH_SH_E1BISJ_SJ_E1BISL_SL_E1BISN_SN_E1BISP_SP_E1BISR_SR_E1BIST_ST_E"
		"1BISV_SV_E1BISX_SX_E1BISZ_SZ_EEvv";
	/* The same, searched for a pack: the return type is "DpS1F_". */
	static const char search[] =
		"_Z1fI1AIiiE1BIS1_S1_E1CIS3_S3_E1DIS5_S5_E1EIS7_S7_E1FIS9_S9_E1GISB_SB_E1HISD_SD_E"
		"1IISF_SF_E1JISH_SH_E1KISJ_SJ_E1LISL_SL_E1MISN_SN_E1NISP_SP_E1OISR_SR_E1PIST_ST_E"
		"1QISV_SV_E1BISX_SX_E1CISZ_SZ_E1DIS11_S11_E1EIS13_S13_E1FIS15_S15_E1GIS17_S17_E"
		"1HIS19_S19_E1IIS1B_S1B_E1JIS1D_S1D_E1KIS1F_S1F_EEDpS1F_v";
	static const char *const units[] = { "P", "Z", "1AI", "F", "N1AI", "DTcl", "M1A", "U1AI" };

	AUTO(freep) char *twice = repeated("_Z", "N1AcvT_I", 40, "i");

	(void)state;
	check_one(laughs, DEMANGLE_FULL, laughs);
	check_one(search, DEMANGLE_FULL, search);
	check_one(twice, DEMANGLE_FULL, twice);
	for (size_t i = 0; i < COUNT(units); i++) {
		AUTO(freep) char *deep = repeated("_Z1f", units[i], 8000 / strlen(units[i]), "i");
		AUTO(freep) char *huge = repeated("_Z1f", units[i], 40000, "i");

		check_one(deep, DEMANGLE_FULL, deep);
		check_one(huge, DEMANGLE_FULL, huge);
	}
}

static void long_names_of_real_programs_are_demangled(void **state)
{
	AUTO(freep) char *name = repeated("_Z1fI", "St6vectorIiSaIiEE", 200, "Evv");

	(void)state;
	check_one(name, DEMANGLE_DEFAULT, "f");
}

/* A profile with one function for each pair of names. */
static struct profile *make_profile(const char *const (*names)[2], uint32_t n)
{
	struct profile *p = profile_new(NULL);

	p->functions = arena_alloc(&p->arena, n, sizeof(*p->functions));
	assert_non_null(p->functions);
	p->nfunctions = n;
	for (uint32_t i = 0; i < n; i++) {
		p->functions[i].id = i + 1;
		p->functions[i].name = profile_intern_copy(p, str_of(names[i][0]));
		p->functions[i].system_name = profile_intern_copy(p, str_of(names[i][1]));
	}
	return p;
}

static void check_names(const struct profile *p, const char *const *expected)
{
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		struct str got = profile_str(p, p->functions[i].name);

		if (!str_is(got, expected[i]))
			fail_msg("function %u: expected '%s', got '%.*s'", i, expected[i],
				 STR_ARG(got));
	}
}

static const char *const functions[][2] = {
	{ "_Z3fooi", "_Z3fooi" },   /* not demangled */
	{ "foo it is", "_Z3fooi" }, /* demangled by someone else */
	{ "", "_Z3bari" },          /* no name at all */
	{ "main.main", "main.main" },
	{ "only a name", "" },
	{ "", "" },
};

static void a_name_of_its_own_is_kept(void **state)
{
	static const char *const expected[] = { "foo",       "foo it is",   "bar",
						"main.main", "only a name", "" };
	AUTO(profile_freep) struct profile *p = make_profile(functions, COUNT(functions));

	(void)state;
	profile_demangle(p, false, DEMANGLE_DEFAULT);
	check_names(p, expected);
}

/* What demangle_quickly() makes of 'mangled', or NULL where it is none of its own. */
static void check_quick(const char *mangled, const char *expected)
{
	AUTO(out_release) struct out o;

	out_init(&o, 0);
	if (!demangle_quickly(str_of(mangled), &o))
		assert_null(expected);
	else if (!expected || !str_is(out_view(&o), expected))
		fail_msg("%s: got %.*s", mangled, STR_ARG(out_view(&o)));
}

static void common_names_take_the_short_way(void **state)
{
	(void)state;
	check_quick("_Z3fooi", "foo");
	check_quick("_ZSt4sortIPiEvT_S1_", "std::sort");
	check_quick("_ZN1a1bC1Ev", "a::b::b");
	check_quick("_ZNSt3mapIN1a3keyESt6vectorIiSaIiEEED2Ev", "std::map::~map");
	check_quick("_ZNK1a1bILb1ELin5ELNS_1eE2EJEJidEEclEv", "a::b::operator()");
	check_quick("_ZN12_GLOBAL__N_13runEv.cold", "(anonymous namespace)::run");
	check_quick("_ZN1a1bIRKNS_1cEEaSEOS2_", "a::b::operator=");
}

static void substitutions_must_be_of_something(void **state)
{
	(void)state;
	check_quick("_ZN1a1bINS_1cEE1dEv", "a::b::d");
	check_quick("_ZN1a1bINS0_1cEE1dEv", "a::b::d");
	check_quick("_ZN1a1bINS1_1cEE1dEv", NULL);
	check_quick("_ZN1a1bIPKiS2_E1dEv", "a::b::d");
	check_quick("_ZN1a1bIPKiS3_E1dEv", NULL);
	check_quick("_ZN1a1bISaIiES1_E1dEv", "a::b::d");
	check_quick("_ZN1a1bISaIiES2_E1dEv", NULL);
	check_quick("_ZNS_1aE", NULL);
}

static void rare_and_broken_names_take_the_long_way(void **state)
{
	static const char *const names[] = {
		"_Z",
		"_Z4foo",
		"_ZN1a",
		"_ZNStE",
		"_ZN1aIE1bEv",
		"_ZN1aIiEIiE1bEv",
		"_ZN1aIiE1bB5cxx11Ev",
		"_ZN1aIXsr1bE1cE1dEv",
		"_ZN1aIFivEE1bEv",
		"_ZN1alsEi",
		"_ZN1acviEv",
		"_ZZ1avENKUlvE_clEv",
		"_ZTV1a",
		"_ZN3a<bE",
		"_ZN8operatorIiEE",
		"_ZN99999999999999999999999991aE",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		check_quick(names[i], NULL);
}

static void force_replaces_names(void **state)
{
	static const char *const expected[] = { "foo(int)",  "foo(int)",    "bar(int)",
						"main.main", "only a name", "" };
	AUTO(profile_freep) struct profile *p = make_profile(functions, COUNT(functions));

	(void)state;
	profile_demangle(p, true, DEMANGLE_FULL);
	check_names(p, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_lose_parameters_and_template_arguments),
		cmocka_unit_test(operators_keep_their_brackets),
		cmocka_unit_test(comparisons_and_empty_packs_do_not_confuse),
		cmocka_unit_test(suffixes_of_the_compiler_are_dropped),
		cmocka_unit_test(what_starts_programs_and_blocks_is_named),
		cmocka_unit_test(rust_is_shown_in_full),
		cmocka_unit_test(an_identifier_of_negative_length_is_refused),
		cmocka_unit_test(names_that_were_demangled_before_are_shortened),
		cmocka_unit_test(names_of_go_and_java_stay_as_they_are),
		cmocka_unit_test(nonsense_stays_as_it_is),
		cmocka_unit_test(depth_length_and_expansion_are_bounded),
		cmocka_unit_test(long_names_of_real_programs_are_demangled),
		cmocka_unit_test(common_names_take_the_short_way),
		cmocka_unit_test(substitutions_must_be_of_something),
		cmocka_unit_test(rare_and_broken_names_take_the_long_way),
		cmocka_unit_test(a_name_of_its_own_is_kept),
		cmocka_unit_test(force_replaces_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
