/*
 * fuzz-regex.c - a pattern, a newline, and a subject to search
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/regex.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Goes through all matches, which must come in order and lie inside the subject. */
static void find_all(const struct regex *re, struct str subject)
{
	size_t from = 0, start, end;

	for (int i = 0; i < 100 && regex_find(re, subject, from, &start, &end); i++) {
		assert(from <= start && start <= end && end <= subject.n);
		from = end > from ? end : from + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(regex_freep) struct regex *re = NULL;
	struct str pattern, subject = { (const char *)data, size };
	struct err err = { "" };
	size_t start, end;
	int rc;

	str_split(&subject, '\n', &pattern);
	rc = regex_compile(pattern, &re, &err);
	assert(rc == 0 ||
	       (rc == -EINVAL && str_starts(str_of(err.msg), STR("error parsing regexp: "))));
	if (rc)
		return 0;
	assert(str_eq(regex_pattern(re), pattern));
	assert(regex_match(re, subject) == regex_find(re, subject, 0, &start, &end));
	find_all(re, subject);
	return 0;
}
