/*
 * test-shorten.c - function names without what everybody knows
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "profile/profile.h"
#include "render/shorten.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct name {
	const char *full, *brief;
};

static void check(const struct name *names)
{
	struct arena a;

	arena_init(&a, PROFILE_BUDGET);
	for (; names->full; names++) {
		struct str got = shorten_name(&a, str_of(names->full));

		if (!str_is(got, names->brief))
			fail_msg("'%s' became '%.*s', not '%s'", names->full, STR_ARG(got),
				 names->brief);
	}
	arena_release(&a);
}

static void go_names_lose_their_import_path_and_version(void **state)
{
	static const struct name names[] = {
		{ "root", "root" },
		{ "syscall.Syscall", "syscall.Syscall" },
		{ "net/http.(*conn).serve", "http.(*conn).serve" },
		{ "github.com/blah/foo/bar.Foo", "bar.Foo" },
		{ "github.com/blah-blah/foo_bar/v3.(*F).G", "foo_bar.(*F).G" },
		{ "github.com/blah/foo/v10/bar.Foo", "bar.Foo" },
		{ "github.com/blah/foo/v1.Foo", "v1.Foo" },
		{ "a/b/", "b/" },
		{ NULL, NULL },
	};

	(void)state;
	check(names);
}

static void java_names_lose_packages_and_parameters(void **state)
{
	static const struct name names[] = {
		{ "java.bar.foo.FooBar.run(java.lang.Runnable)", "FooBar.run" },
		{ "java.util.concurrent.ThreadPoolExecutor$Worker.run",
		  "ThreadPoolExecutor$Worker.run" },
		{ "java.bar.foo.FooBar.<init>", "FooBar.<init>" },
		{ "Sub.method", "Sub.method" },
		{ NULL, NULL },
	};

	(void)state;
	check(names);
}

static void cpp_names_lose_namespaces_but_not_the_class(void **state)
{
	static const struct name names[] = {
		{ "(anonymous namespace)::Bar::Foo", "Bar::Foo" },
		{ "foo::bar::Baz::~Baz", "Baz::~Baz" },
		{ "foo::Bar::baz<int, std::string>", "Bar::baz<int, std::string>" },
		{ "foo::_Bar::baz(int)", "_Bar::baz" },
		{ "foo::bar", "foo::bar" },
		{ "operator new", "operator new" },
		{ "Foo::Bar::Baz", "Bar::Baz" },
		{ NULL, NULL },
	};

	(void)state;
	check(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(go_names_lose_their_import_path_and_version),
		cmocka_unit_test(java_names_lose_packages_and_parameters),
		cmocka_unit_test(cpp_names_lose_namespaces_but_not_the_class),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
