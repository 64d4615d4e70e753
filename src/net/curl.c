/*
 * curl.c - the parts of libcurl we use, loaded when they are first needed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/curl.h"

#include "base/err.h"
#include "base/lazy.h"

#include <errno.h>

static struct curl_calls calls;

#define FIND(name) calls.name = (__typeof__(calls.name))lazy_sym(lib, "curl_" #name)

static void find_all(struct lazy_lib *lib)
{
	FIND(easy_init);
	FIND(easy_setopt);
	FIND(easy_getinfo);
	FIND(easy_strerror);
	FIND(easy_cleanup);
	FIND(multi_init);
	FIND(multi_add_handle);
	FIND(multi_perform);
	FIND(multi_poll);
	FIND(multi_info_read);
	FIND(multi_remove_handle);
	FIND(multi_cleanup);
	FIND(slist_append);
	FIND(slist_free_all);
}

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	CURLcode (*init)(long flags) = (__typeof__(init))lazy_sym(lib, "curl_global_init");

	if (init(CURL_GLOBAL_ALL) != CURLE_OK)
		return err_set(err, -ENOMEM, "libcurl cannot be initialised");
	find_all(lib);
	return 0;
}

int curl_load(const struct curl_calls **out, struct err *err)
{
	static struct lazy_lib lib = { .soname = "libcurl.so.4",
				       .package = "libcurl4",
				       .bind = bind_calls };

	*out = &calls;
	return lazy_open(&lib, err);
}
