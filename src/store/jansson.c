/*
 * jansson.c - the parts of libjansson we use, loaded when they are first needed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/jansson.h"

#include "base/lazy.h"

#include <stddef.h>

static struct jansson_calls calls;

/* In the order of struct jansson_calls. */
static const char *const names[] = {
	"json_loadb",
	"json_dumps",
	"json_object",
	"json_object_get",
	"json_object_set_new",
	"json_object_iter",
	"json_object_iter_next",
	"json_object_iter_key",
	"json_object_iter_value",
	"json_array_get",
	"json_array_size",
	"json_stringn",
	"json_string_value",
	"json_string_length",
	"json_integer_value",
	"json_number_value",
	"json_delete",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == sizeof(calls) / sizeof(void *),
	       "a name for every call");

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	void **call = (void **)&calls;

	(void)err;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		call[i] = lazy_sym(lib, names[i]);
	return 0;
}

static struct lazy_lib library = { "libjansson.so.4", "libjansson4", .bind = bind_calls };

int jansson_load(const struct jansson_calls **out, struct err *err)
{
	int rc = lazy_open(&library, err);

	*out = &calls;
	return rc;
}

void jansson_free(const struct jansson_calls *j, json_t *json)
{
	if (json && json->refcount != (size_t)-1 && --json->refcount == 0)
		j->destroy(json);
}
