/*
 * kubeconfig.c - where a cluster is, and who we are there, from the file that kubectl uses
 *
 * Certificates that are in the file itself go to files in memory, since that is what libcurl and
 * OpenSSL take everywhere; nothing secret touches a disk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "base/yaml.h"
#include "store/crypto.h"
#include "store/kube.h"
#include "store/place.h"

#include <errno.h>
#include <sys/mman.h>

enum { CONFIG_MAX = 4 << 20 };

struct config {
	const char *path;
	struct arena *a;
	const struct yaml *root;
	struct err *err;
};

/* The member 'what' of the entry called 'name' in one of the file's lists. */
static const struct yaml *find(const struct config *c, const char *list, struct str name,
			       const char *what)
{
	const struct yaml *l = yaml_get(c->root, list);

	for (size_t i = 0; l && l->kind == YAML_LIST && i < l->n; i++)
		if (str_eq(yaml_text(l->items[i], "name"), name))
			return yaml_get(l->items[i], what);
	return NULL;
}

/* Relative names are from where the file is. */
static char *beside(const struct config *c, struct str name)
{
	struct str folder = str_of(c->path);
	ptrdiff_t slash = str_rfind_char(folder, '/');

	if (name.n && name.p[0] == '/')
		return mem_str(name);
	folder.n = slash >= 0 ? (size_t)slash + 1 : 0;
	return mem_printf("%.*s%.*s", STR_ARG(folder), STR_ARG(name));
}

static int memory_file(const struct config *c, struct str text, char **path)
{
	struct str bytes;
	int rc = base64_decode(text, c->a, &bytes, c->err);
	int fd;

	if (rc < 0)
		return err_wrap(c->err, rc, c->path);
	fd = memfd_create("kubeconfig", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n)
		return err_set(c->err, -errno, "no memory for a certificate: %m");
	*path = mem_printf("/proc/self/fd/%d", fd);
	return 0;
}

/* A file that is named under 'key', or is there itself under 'key'-data. */
static int take_file(const struct config *c, const struct yaml *from, const char *key, char **path)
{
	AUTO(freep) char *data = mem_printf("%s-data", key);
	struct str text = yaml_text(from, data), name = yaml_text(from, key);

	if (text.n)
		return memory_file(c, text, path);
	if (name.n)
		*path = beside(c, name);
	return 0;
}

static int take_user(const struct config *c, const struct yaml *user, struct kube *k)
{
	struct str token = yaml_text(user, "token"), file = yaml_text(user, "tokenFile");
	int rc;

	if (yaml_get(user, "exec") || yaml_get(user, "auth-provider"))
		return err_set(c->err, -ENOTSUP,
			       "%s: this user is known through another program, which sonde does "
			       "not start; use a token or a certificate",
			       c->path);
	if (token.n)
		k->token = mem_str(token);
	else if (file.n)
		k->token_file = beside(c, file);
	rc = take_file(c, user, "client-certificate", &k->cert);
	return rc < 0 ? rc : take_file(c, user, "client-key", &k->key);
}

static int take_context(const struct config *c, struct kube *k)
{
	struct str current = yaml_text(c->root, "current-context");
	const struct yaml *context = find(c, "contexts", current, "context");
	const struct yaml *cluster = find(c, "clusters", yaml_text(context, "cluster"), "cluster");
	struct str server = yaml_text(cluster, "server");
	int rc;

	if (!context || !cluster || !server.n)
		return err_set(c->err, -EINVAL, "%s: the context '%.*s' leads to no server",
			       c->path, STR_ARG(current));
	while (server.n && server.p[server.n - 1] == '/')
		server.n--;
	k->server = mem_str(server);
	k->insecure = str_is(yaml_text(cluster, "insecure-skip-tls-verify"), "true");
	if (yaml_text(context, "namespace").n)
		k->namespace = mem_str(yaml_text(context, "namespace"));
	rc = take_file(c, cluster, "certificate-authority", &k->ca);
	if (rc < 0)
		return rc;
	return take_user(c, find(c, "users", yaml_text(context, "user"), "user"), k);
}

int kube_from_config(struct kube *k, const char *path, struct err *err)
{
	AUTO(arena_release) struct arena a;
	struct config c = { .path = path, .a = &a, .err = err };
	struct file_bytes b;
	struct yaml *root;
	int rc;

	*k = (struct kube){ 0 };
	arena_init(&a, 16 * CONFIG_MAX);
	rc = file_read(path, CONFIG_MAX, &b, err);
	if (rc < 0)
		return rc;
	rc = yaml_parse((struct str){ b.p, b.n }, path, &a, &root, err);
	file_bytes_release(&b);
	if (rc < 0)
		return rc;
	c.root = root;
	rc = take_context(&c, k);
	if (rc < 0)
		kube_release(k);
	return rc;
}
