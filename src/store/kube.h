/*
 * kube.h - requests to the API server of a Kubernetes cluster
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_KUBE_H
#define STORE_KUBE_H

#include "base/str.h"
#include "net/http.h"
#include "store/jansson.h"

#include <stdatomic.h>
#include <stdint.h>

struct arena;
struct err;

/*
 * Where the server is, and who we are there.  A token that is in a file is read again for every
 * request, since those of pods are replaced all the time.
 */
struct kube {
	char *server; /* "https://10.0.0.1:443", without a slash at the end */
	char *namespace;
	char *token, *token_file;
	char *ca, *cert, *key; /* files */
	bool insecure;
	const struct proxy_rules *proxy;
	const atomic_bool *stop;
	int64_t wait_ms;     /* for an answer; 0: ten seconds */
	int64_t patience_ms; /* with a server that is busy; 0: fifteen seconds */
};

/* In a pod: 'host' and 'port' from the environment, 'folder' of the service account. */
int kube_in_cluster(struct kube *k, const char *host, const char *port, const char *folder,
		    struct err *err);
void kube_release(struct kube *k);

/* What the server said.  'json' is NULL if it was not JSON. */
struct kube_answer {
	int status;
	json_t *json;
	char message[512]; /* of a failure, in the server's words; or "" */
	char reason[64];   /* "AlreadyExists" */
	int64_t wait_ms;   /* how long a busy server asks us to wait; 0: it does not say */
};
void kube_answer_release(struct kube_answer *a);

/*
 * How much of an object is to be in the answer.  Secrets are large, and a server sends back what it
 * was sent: of most only the metadata is of use.  One that does not know how to leave out the rest
 * sends all of it.
 */
enum kube_want { KUBE_WHOLE, KUBE_METADATA, KUBE_METADATA_LIST };

/*
 * One request to 'path' ("/api/v1/namespaces/x/secrets").  Any status is a success; 401 is one only
 * after the token was read again.  A negative errno if there was no answer: what the request did is
 * not known then.
 */
int kube_call(const struct kube *k, struct http_line *line, const char *method, struct str path,
	      struct str body, enum kube_want want, struct kube_answer *out, struct err *err);

/*
 * A request for anything else, whose method, body and limits 'rq' has: the answer as it came.  401
 * and failures are as above.
 */
int kube_send(const struct kube *k, struct str path, const struct http_request *rq,
	      struct http_response *rs, struct err *err);

/*
 * Says in 'err' that such an answer is not what was asked for.  -EACCES, -EHOSTUNREACH: in the
 * words of the cluster, whose refusal it is; -EREMOTEIO: in those of who answered through it.
 */
int kube_refusal(const struct kube *k, const struct http_response *rs, const char *what,
		 struct err *err);

/* Whether a second try may help: the server is busy, or its storage is. */
bool kube_is_passing(int status);
/* Says in 'err' what the answer means; 'verb' and 'name' are what was tried.  Negative errno. */
int kube_explain(const struct kube *k, const struct kube_answer *a, const char *verb,
		 struct str name, struct err *err);
/*
 * Waits after the 'n'th try, longer each time, and at least as long as the answer asks for; false
 * if there are to be no more.
 */
bool kube_wait(const struct kube *k, int n, const struct kube_answer *a);

/*
 * Asks the server which of our verbs on Secrets are denied; '*denied' is a list of words, "" if
 * none is, in 'a'.  0 also where the server does not tell.
 */
int kube_check_verbs(const struct kube *k, struct arena *a, struct str *denied, struct err *err);

/* A member of a JSON object as a string; "" if it is none. */
struct str kube_text(const json_t *object, const char *key);
json_t *kube_member(const json_t *object, const char *key);

#endif /* STORE_KUBE_H */
