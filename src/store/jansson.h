/*
 * jansson.h - the parts of libjansson we use, loaded when they are first needed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_JANSSON_H
#define STORE_JANSSON_H

#include <jansson.h>

struct err;

struct jansson_calls {
	json_t *(*loadb)(const char *p, size_t n, size_t flags, json_error_t *error);
	char *(*dumps)(const json_t *json, size_t flags);
	json_t *(*object)(void);
	json_t *(*object_get)(const json_t *object, const char *key);
	int (*object_set_new)(json_t *object, const char *key, json_t *value);
	void *(*object_iter)(json_t *object);
	void *(*object_iter_next)(json_t *object, void *iter);
	const char *(*object_iter_key)(void *iter);
	json_t *(*object_iter_value)(void *iter);
	json_t *(*array_get)(const json_t *array, size_t i);
	size_t (*array_size)(const json_t *array);
	json_t *(*stringn)(const char *p, size_t n);
	const char *(*string_value)(const json_t *string);
	size_t (*string_length)(const json_t *string);
	json_int_t (*integer_value)(const json_t *integer);
	double (*number_value)(const json_t *number);
	void (*destroy)(json_t *json); /* jansson_free() calls it */
};

/* Loads libjansson, once; any thread may call it.  0, or -ENOENT and which package to install. */
int jansson_load(const struct jansson_calls **out, struct err *err);

/* json_decref(), which the header has as a function that calls the library; NULL is allowed. */
void jansson_free(const struct jansson_calls *j, json_t *json);

#endif /* STORE_JANSSON_H */
