/*
 * kube.c - requests to the API server of a Kubernetes cluster
 *
 * What it answers is JSON, but for proxies and timeouts; which of the two 409 it means, and whose
 * limit a 422 is, only the "reason" tells.  A 5xx or a cut connection leaves open what happened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/kube.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "store/place.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum {
	ANSWER_MAX = 64 << 20,
	NAMESPACE_MAX = 4 << 10,
	WAIT_MS = 10000,
	PAUSE_MS = 50,
	PAUSE_MAX_MS = 3200,
	PATIENCE_MS = 15000,
	RETRY_MAX_S = 60, /* what a server may ask for */
};

#define PARTLY(kind) "Accept: application/json;as=" kind ";g=meta.k8s.io;v=v1, application/json"
static const char *const accepts[] = {
	[KUBE_WHOLE] = "Accept: application/json",
	[KUBE_METADATA] = PARTLY("PartialObjectMetadata"),
	[KUBE_METADATA_LIST] = PARTLY("PartialObjectMetadataList"),
};

const char kube_verbs[] = "create, get, list, update, delete";

int kube_in_cluster(struct kube *k, const char *host, const char *port, const char *folder,
		    struct err *err)
{
	bool v6 = host && strchr(host, ':');
	char *path = mem_printf("%s/namespace", folder);
	struct file_bytes b;
	int rc;

	*k = (struct kube){ 0 };
	if (!host || !*host || !port || !*port) {
		free(path);
		return err_set(err, -ENOENT,
			       "this is no pod: KUBERNETES_SERVICE_HOST is not set; name a "
			       "kubeconfig");
	}
	k->server = mem_printf("https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
	k->token_file = mem_printf("%s/token", folder);
	k->ca = mem_printf("%s/ca.crt", folder);
	rc = file_read(path, NAMESPACE_MAX, &b, err);
	if (rc == 0) {
		k->namespace = mem_str(str_trim((struct str){ b.p, b.n }));
		file_bytes_release(&b);
	}
	free(path);
	return rc == -ENOENT ? 0 : rc;
}

void kube_release(struct kube *k)
{
	free(k->server);
	free(k->namespace);
	free(k->token);
	free(k->token_file);
	free(k->ca);
	free(k->cert);
	free(k->key);
	*k = (struct kube){ 0 };
}

json_t *kube_member(const json_t *object, const char *key)
{
	const struct jansson_calls *j;

	if (!object || !json_is_object(object) || jansson_load(&j, NULL) < 0)
		return NULL;
	return j->object_get(object, key);
}

struct str kube_text(const json_t *object, const char *key)
{
	const struct jansson_calls *j;
	json_t *v = kube_member(object, key);

	if (!v || !json_is_string(v) || jansson_load(&j, NULL) < 0)
		return STR("");
	return (struct str){ j->string_value(v), j->string_length(v) };
}

void kube_answer_release(struct kube_answer *a)
{
	const struct jansson_calls *j;

	if (a->json && jansson_load(&j, NULL) == 0)
		jansson_free(j, a->json);
	*a = (struct kube_answer){ 0 };
}

/* Who we are, if that is needed. */
static int authorization(const struct kube *k, char **header, struct err *err)
{
	if (k->token && *k->token)
		*header = mem_printf("Authorization: Bearer %s", k->token);
	else if (k->token_file)
		return http_token(k->token_file, header, err);
	return 0;
}

/* A server's words end up in a log. */
static void keep_harmless(char *to, size_t size, struct str s)
{
	size_t n = s.n < size - 1 ? s.n : size - 1;

	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)s.p[i] >= ' ' && s.p[i] != 0x7f ? s.p[i] : '?';
	to[n] = '\0';
}

static void read_answer(const struct jansson_calls *j, const struct http_response *rs,
			struct kube_answer *out)
{
	struct str after = http_header(rs, "Retry-After");
	json_error_t wrong;
	uint64_t s;

	*out = (struct kube_answer){ .status = rs->status };
	if (go_parse_uint(after, 10, 32, &s, NULL) == 0)
		out->wait_ms = (int64_t)(s < RETRY_MAX_S ? s : RETRY_MAX_S) * 1000;
	if (rs->nbody)
		out->json = j->loadb(rs->body, rs->nbody, JSON_REJECT_DUPLICATES, &wrong);
	if (rs->status < 300)
		return;
	keep_harmless(out->message, sizeof(out->message), kube_text(out->json, "message"));
	keep_harmless(out->reason, sizeof(out->reason), kube_text(out->json, "reason"));
}

/* 'what' is asked for; where, and who we are, is added. */
static int send_request(const struct kube *k, struct str path, const struct http_request *what,
			struct http_response *rs, struct err *err)
{
	AUTO(freep) char *url = mem_printf("%s%.*s", k->server, STR_ARG(path));
	AUTO(freep) char *auth = NULL;
	struct http_request rq = *what;
	const char *headers[4] = { NULL };
	size_t n = 0;
	int rc;

	rc = authorization(k, &auth, err);
	if (rc < 0)
		return rc;
	if (what->headers)
		headers[n++] = what->headers[0];
	if (auth)
		headers[n++] = auth;
	if (rq.body.n)
		headers[n] = "Content-Type: application/json";
	rq.url = url;
	rq.headers = headers;
	rq.tls = (struct http_tls){ k->cert, k->key, k->ca, k->insecure };
	rq.proxy = k->proxy;
	rq.stop = k->stop;
	return http_fetch(&rq, rs, err);
}

int kube_send(const struct kube *k, struct str path, const struct http_request *rq,
	      struct http_response *rs, struct err *err)
{
	int rc = send_request(k, path, rq, rs, err);

	if (rc == 0 && rs->status == 401) {
		/* It may have been replaced between our reading and its. */
		http_response_release(rs);
		rc = send_request(k, path, rq, rs, err);
	}
	return rc;
}

int kube_call(const struct kube *k, struct http_line *line, const char *method, struct str path,
	      struct str body, enum kube_want want, struct kube_answer *out, struct err *err)
{
	struct http_request rq = {
		.method = method,
		.body = body,
		.headers = &accepts[want],
		.wait_ms = k->wait_ms ? k->wait_ms : WAIT_MS,
		.stall_ms = k->wait_ms ? k->wait_ms : WAIT_MS,
		.max_body = ANSWER_MAX,
		.line = line,
	};
	struct http_response rs = { 0 };
	const struct jansson_calls *j;
	int rc = jansson_load(&j, err);

	*out = (struct kube_answer){ 0 };
	if (rc == 0)
		rc = kube_send(k, path, &rq, &rs, err);
	if (rc < 0)
		return rc;
	read_answer(j, &rs, out);
	http_response_release(&rs);
	return 0;
}

int kube_refusal(const struct kube *k, const struct http_response *rs, const char *what,
		 struct err *err)
{
	const struct jansson_calls *j;
	struct kube_answer a = { 0 };
	int rc;

	if (jansson_load(&j, NULL) == 0)
		read_answer(j, rs, &a);
	if (!str_is(kube_text(a.json, "kind"), "Status") || !*a.message)
		rc = http_refusal(rs, err);
	else if (a.status == 401)
		rc = err_set(err, -EACCES, "%s does not know who we are: 401 %s", k->server,
			     a.message);
	else
		rc = err_set(err, a.status == 403 ? -EACCES : -EHOSTUNREACH, "%s: %d %s", what,
			     a.status, a.message);
	kube_answer_release(&a);
	return rc;
}

bool kube_is_passing(int status)
{
	return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

int kube_explain(const struct kube *k, const struct kube_answer *a, const char *verb,
		 struct str name, struct err *err)
{
	int code = a->status == 404   ? -ENOENT
		   : a->status == 409 ? -ESTALE
		   : a->status == 413 ? -EFBIG
		   : a->status == 422 ? -EINVAL
				      : -EREMOTEIO;

	if (a->status == 401)
		return err_set(err, -EACCES, "%s does not know who we are: 401 %s", k->server,
			       a->message);
	if (a->status == 403)
		return err_set(err, -EACCES,
			       "not allowed to %s secrets in the namespace %s: %s (needed: %s)",
			       verb, k->namespace, a->message, kube_verbs);
	return err_set(err, code, "%s secret %.*s: %d %s", verb, STR_ARG(name), a->status,
		       *a->message ? a->message : "without a word");
}

bool kube_wait(const struct kube *k, int n, const struct kube_answer *a)
{
	int64_t patience = k->patience_ms ? k->patience_ms : PATIENCE_MS;
	int64_t ms = PAUSE_MS, waited = 0;
	struct timespec t;

	for (int i = 1; i < n; i++) {
		waited += ms;
		ms = ms < PAUSE_MAX_MS ? ms * 2 : ms;
	}
	if (waited + ms > patience || (k->stop && *k->stop))
		return false;
	if (a && a->wait_ms > ms)
		ms = a->wait_ms < patience - waited ? a->wait_ms : patience - waited;
	t = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&t, NULL);
	return true;
}

/* --- verbs ------------------------------------------------------------------------------- */

static int ask_verb(const struct kube *k, struct http_line *line, struct str verb, bool *allowed,
		    struct err *err)
{
	AUTO(freep)
	char *body = mem_printf(
		"{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
		"\"spec\":{\"resourceAttributes\":{\"namespace\":\"%s\",\"verb\":\"%.*s\","
		"\"resource\":\"secrets\"}}}",
		k->namespace, STR_ARG(verb));
	struct kube_answer a;
	json_t *status;
	int rc = kube_call(k, line, "POST",
			   STR("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
			   str_of(body), KUBE_WHOLE, &a, err);

	*allowed = true;
	if (rc < 0)
		return rc;
	status = kube_member(a.json, "status");
	if (a.status == 401)
		rc = kube_explain(k, &a, "review", STR(""), err);
	else if (a.status == 201 && status)
		*allowed = json_is_true(kube_member(status, "allowed"));
	kube_answer_release(&a);
	return rc;
}

int kube_check_verbs(const struct kube *k, struct arena *a, struct str *denied, struct err *err)
{
	struct http_line *line = http_line_open(err);
	struct str rest = str_of(kube_verbs), verb;
	int rc = line ? 0 : -ENOMEM;

	*denied = STR("");
	while (rc == 0 && str_split(&rest, ',', &verb)) {
		bool allowed;

		verb = str_trim(verb);
		rc = ask_verb(k, line, verb, &allowed, err);
		if (rc == 0 && !allowed)
			*denied = xarena_printf(a, "%.*s%s%.*s", STR_ARG(*denied),
						denied->n ? ", " : "", STR_ARG(verb));
	}
	http_line_close(line);
	return rc;
}
