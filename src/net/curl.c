/*
 * curl.c - the parts of libcurl we use, loaded when they are first needed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/curl.h"

#include "base/err.h"
#include "base/lazy.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static struct lazy_lib lib = { .soname = "libcurl.so.4", .package = "libcurl4" };
static struct curl_calls calls;
static bool loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define FIND(name) calls.name = (__typeof__(calls.name))lazy_sym(&lib, "curl_" #name)

static void find_all(void)
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

static int load(struct err *err)
{
	CURLcode (*init)(long flags);
	int rc = lazy_open(&lib, err);

	if (rc)
		return rc;
	init = (__typeof__(init))lazy_sym(&lib, "curl_global_init");
	if (init(CURL_GLOBAL_ALL) != CURLE_OK)
		return err_set(err, -ENOMEM, "libcurl cannot be initialised");
	find_all();
	loaded = true;
	return 0;
}

int curl_load(const struct curl_calls **out, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (!loaded)
		rc = load(err);
	pthread_mutex_unlock(&lock);
	*out = &calls;
	return rc;
}
