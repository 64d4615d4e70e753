/*
 * curl.h - the parts of libcurl we use, loaded when they are first needed
 *
 * libcurl's own header is included for its types and constants; nothing links to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef NET_CURL_H
#define NET_CURL_H

#include <curl/curl.h>

struct err;

struct curl_calls {
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *h, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *h, CURLINFO info, ...);
	const char *(*easy_strerror)(CURLcode code);
	void (*easy_cleanup)(CURL *h);
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_add_handle)(CURLM *m, CURL *h);
	CURLMcode (*multi_perform)(CURLM *m, int *running);
	CURLMcode (*multi_poll)(CURLM *m, struct curl_waitfd *fds, unsigned nfds, int ms, int *n);
	CURLMsg *(*multi_info_read)(CURLM *m, int *left);
	CURLMcode (*multi_remove_handle)(CURLM *m, CURL *h);
	CURLMcode (*multi_cleanup)(CURLM *m);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

/* Loads libcurl, once; any thread may call it.  0, or -ENOENT and which package to install. */
int curl_load(const struct curl_calls **out, struct err *err);

#endif /* NET_CURL_H */
