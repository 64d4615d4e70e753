/*
 * manifest.c - "sonde manifest": the Kubernetes objects that switch profiling on
 *
 * What the user says goes into double quotes, which YAML reads as JSON does; names are checked
 * first, since the server would refuse them later and elsewhere.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "render/json.h"
#include "store/place.h"
#include "ui/own-command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { LABEL_MAX = 63, NAME_MAX_BYTES = 253, PORT_MAX = 65535 };

enum {
	FLAG_NAMESPACE,
	FLAG_RELEASE,
	FLAG_CHART,
	FLAG_KIND,
	FLAG_NAME,
	FLAG_CONTAINER,
	FLAG_PRESET,
	FLAG_ENV,
	FLAG_PORT,
	FLAG_SELECTOR,
	FLAG_PREFIX,
	FLAG_IMAGE,
	FLAG_TAG,
	FLAG_ACCOUNT,
};

static const struct arg flags[] = {
	[FLAG_NAMESPACE] = { "namespace", "name", "Of all objects; the current one if not set",
			     ARG_TEXT },
	[FLAG_RELEASE] = { "release", "name", "Of Helm; \"app\" if not set", ARG_TEXT },
	[FLAG_CHART] = { "chart", "name",
			 "Of Helm; the Service is called RELEASE-CHART-profiler\n\"server\" if "
			 "not set",
			 ARG_TEXT },
	[FLAG_KIND] = { "kind", "kind",
			"What to switch on: Deployment, StatefulSet, DaemonSet, or Subscription\n"
			"(of OLM); Deployment if not set",
			ARG_TEXT },
	[FLAG_NAME] = { "name", "name", "Its name; RELEASE-CHART if not set", ARG_TEXT },
	[FLAG_CONTAINER] = { "container", "name",
			     "The container to switch on in it; CHART if not set", ARG_TEXT },
	[FLAG_PRESET] = { "preset", "name",
			  "enable-profiler, pprof-addr or build-profiled; see libsonde(3)\n"
			  "enable-profiler if neither this nor --env is given",
			  ARG_TEXT },
	[FLAG_ENV] = { "env", "name=value",
		       "A variable for the container, such as HCO_PPROF_ADDR=:8070\n"
		       "May be given more than once",
		       ARG_TEXT },
	[FLAG_PORT] = { "port", "n", "Where profiles are served; 6060, or the preset's, if not set",
			ARG_NUMBER },
	[FLAG_SELECTOR] = { "selector", "key=value",
			    "Which pods the Service finds; app=CHART and release=RELEASE if not "
			    "set\nMay be given more than once",
			    ARG_TEXT },
	[FLAG_PREFIX] = { "prefix", "name", "What dumps are called; CHART if not set", ARG_TEXT },
	[FLAG_IMAGE] = { "image", "name",
			 "Of sonded, or of the profiled build in the values; \"sonded\" if not set",
			 ARG_TEXT },
	[FLAG_TAG] = { "tag", "text", "Of the profiled build, in the values", ARG_TEXT },
	[FLAG_ACCOUNT] = { "service-account", "name", "Who may keep dumps; \"default\" if not set",
			   ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

/* Switches of libsonde(3), and where profiles are then. */
static const struct preset {
	const char *name, *variable, *value;
	uint64_t port;
} presets[] = {
	{ "enable-profiler", "ENABLE_PROFILER", "true", 8081 },
	{ "pprof-addr", "HCO_PPROF_ADDR", NULL, 8070 },
	{ "build-profiled", "SONDE_PRESET", "build-profiled", 6060 },
};

static const struct kind {
	const char *name, *version;
} kinds[] = {
	{ "Deployment", "apps/v1" },
	{ "StatefulSet", "apps/v1" },
	{ "DaemonSet", "apps/v1" },
	{ "Subscription", "operators.coreos.com/v1alpha1" },
};

struct manifest {
	const struct args *args;
	struct out o;
	size_t nobjects;
	const char *release, *chart, *container, *prefix, *account, *image;
	char *name;
	const struct kind *kind;
	const struct preset *preset; /* or NULL */
	uint64_t port;               /* 0: not said */
	bool env, sidecar, service, rbac, values;
};

/* --- what was asked for ------------------------------------------------------------------ */

/* A name as DNS and so Kubernetes has it. */
static int check_name(const char *name, const char *what, size_t most, struct err *err)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (n == 0 || name[n] || n > most || name[0] == '-' || name[n - 1] == '-')
		return err_set(err, -EINVAL,
			       "'%s' cannot be the %s: small letters, digits and dashes, at most "
			       "%zu",
			       name, what, most);
	return 0;
}

static const char *given(const struct args *args, int flag, const char *otherwise)
{
	return args->values[flag] ? args->values[flag] : otherwise;
}

static int check_names(const struct manifest *m, struct err *err)
{
	const struct {
		const char *name, *what;
		size_t most;
	} names[] = {
		{ given(m->args, FLAG_NAMESPACE, "default"), "namespace", LABEL_MAX },
		{ m->release, "release", LABEL_MAX },
		{ m->chart, "chart", LABEL_MAX },
		{ m->name, "name of the workload", NAME_MAX_BYTES },
		{ m->values ? "image" : m->container, "container", LABEL_MAX },
		{ m->prefix, "prefix of dumps", LABEL_MAX },
		{ m->account, "service account", NAME_MAX_BYTES },
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && rc == 0; i++)
		rc = check_name(names[i].name, names[i].what, names[i].most, err);
	return rc;
}

/* "NAME=value" with a name that a variable, or the key of a label, can have. */
static int check_pair(const char *text, const char *what, struct err *err)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				"_-./");

	if (n == 0 || text[n] != '=')
		return err_set(err, -EINVAL, "--%s takes name=value, not '%s'", what, text);
	return 0;
}

static int check_pairs(const struct args *args, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < args->nall && rc == 0; i++)
		if (args->all[i].option == FLAG_ENV || args->all[i].option == FLAG_SELECTOR)
			rc = check_pair(args->all[i].value, flags[args->all[i].option].name, err);
	return rc;
}

static int find_preset(struct manifest *m, struct err *err)
{
	const char *name =
		given(m->args, FLAG_PRESET, m->args->values[FLAG_ENV] ? NULL : "enable-profiler");

	for (size_t i = 0; name && i < sizeof(presets) / sizeof(presets[0]); i++)
		if (strcmp(name, presets[i].name) == 0)
			m->preset = &presets[i];
	if (name && !m->preset)
		return err_set(err, -EINVAL,
			       "there is no preset '%s': enable-profiler, pprof-addr or "
			       "build-profiled",
			       name);
	return 0;
}

static int find_kind(struct manifest *m, struct err *err)
{
	const char *name = given(m->args, FLAG_KIND, "Deployment");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(name, kinds[i].name) == 0)
			m->kind = &kinds[i];
	if (!m->kind)
		return err_set(err, -EINVAL,
			       "'%s' is not a kind we know: Deployment, StatefulSet, DaemonSet or "
			       "Subscription",
			       name);
	return 0;
}

static int read_words(struct manifest *m, struct err *err)
{
	const struct {
		const char *word;
		bool *on;
	} parts[] = { { "env", &m->env },
		      { "service", &m->service },
		      { "rbac", &m->rbac },
		      { "sidecar", &m->sidecar },
		      { "values", &m->values } };
	bool olm = strcmp(m->kind->name, "Subscription") == 0;

	if (!m->args->rest[0]) {
		m->env = m->service = m->rbac = true;
		m->sidecar = !olm;
	}
	for (char **word = m->args->rest; *word; word++) {
		size_t i = 0;

		while (i < 5 && strcmp(*word, parts[i].word) != 0)
			i++;
		if (i == 5)
			return err_set(err, -EINVAL,
				       "'%s' is none of env, service, rbac, sidecar and values",
				       *word);
		*parts[i].on = true;
	}
	if (m->values && (m->env || m->service || m->rbac || m->sidecar))
		return err_set(err, -EINVAL, "values are for Helm: ask for them alone");
	if (olm && m->sidecar)
		return err_set(err, -EINVAL, "a Subscription takes no sidecar");
	return 0;
}

static int read_request(struct manifest *m, const struct args *args, struct err *err)
{
	int rc;

	m->args = args;
	m->release = given(args, FLAG_RELEASE, "app");
	m->chart = given(args, FLAG_CHART, "server");
	m->container = given(args, FLAG_CONTAINER, m->chart);
	m->prefix = given(args, FLAG_PREFIX, m->chart);
	m->account = given(args, FLAG_ACCOUNT, "default");
	m->image = given(args, FLAG_IMAGE, "sonded");
	m->name = args->values[FLAG_NAME] ? mem_str(str_of(args->values[FLAG_NAME]))
					  : mem_printf("%s-%s", m->release, m->chart);
	m->port = args->values[FLAG_PORT] ? args_number(args->values[FLAG_PORT]) : 0;
	if (args->values[FLAG_PORT] && (m->port == 0 || m->port > PORT_MAX))
		return err_set(err, -EINVAL, "there is no port %s", args->values[FLAG_PORT]);
	rc = find_kind(m, err);
	if (rc == 0)
		rc = read_words(m, err);
	if (rc == 0)
		rc = find_preset(m, err);
	if (rc == 0)
		rc = check_names(m, err);
	return rc == 0 ? check_pairs(args, err) : rc;
}

/* --- writing ----------------------------------------------------------------------------- */

static void quote(struct out *o, struct str s)
{
	struct json j = { .o = o };

	json_string(&j, NULL, s);
}

static void begin(struct manifest *m, const char *version, const char *kind, const char *name)
{
	const char *namespace = m->args->values[FLAG_NAMESPACE];
	struct out *o = &m->o;

	if (m->nobjects++)
		out_text(o, "---\n");
	out_printf(o, "apiVersion: %s\nkind: %s\nmetadata:\n  name: \"%s\"\n", version, kind, name);
	if (namespace)
		out_printf(o, "  namespace: \"%s\"\n", namespace);
}

static void write_variable(struct manifest *m, const char *indent, struct str name,
			   struct str value)
{
	out_printf(&m->o, "%s- name: ", indent);
	quote(&m->o, name);
	out_printf(&m->o, "\n%s  value: ", indent);
	quote(&m->o, value);
	out_char(&m->o, '\n');
}

static void write_field(struct manifest *m, const char *indent, const char *name, const char *path)
{
	out_printf(&m->o, "%s- name: %s\n%s  valueFrom: {fieldRef: {fieldPath: %s}}\n", indent,
		   name, indent, path);
}

/* Whose dumps they are. */
static void write_pod(struct manifest *m, const char *indent)
{
	write_field(m, indent, "MY_POD_NAME", "metadata.name");
	write_field(m, indent, "MY_POD_NAMESPACE", "metadata.namespace");
}

static uint64_t served_at(const struct manifest *m)
{
	return m->port ? m->port : m->preset ? m->preset->port : 6060;
}

static void write_env(struct manifest *m, const char *indent)
{
	const struct preset *p = m->preset;

	if (p && p->value) {
		write_variable(m, indent, str_of(p->variable), str_of(p->value));
	} else if (p) {
		char *value = mem_printf(":%" PRIu64, served_at(m));

		write_variable(m, indent, str_of(p->variable), str_of(value));
		free(value);
	}
	for (size_t i = 0; i < m->args->nall; i++) {
		struct str rest = str_of(m->args->all[i].value), name;

		if (m->args->all[i].option != FLAG_ENV)
			continue;
		str_split(&rest, '=', &name);
		write_variable(m, indent, name, rest);
	}
	if (strcmp(m->kind->name, "Subscription") != 0)
		write_pod(m, indent);
}

static void write_sidecar(struct manifest *m)
{
	out_text(&m->o, "      - name: sonded\n        image: ");
	quote(&m->o, str_of(m->image));
	out_printf(&m->o,
		   "\n        args: [\"watch\", \"--to\", \"kube:\", \"--prefix\", \"%s\", "
		   "\"http://localhost:%" PRIu64 "\"]\n"
		   "        env:\n",
		   m->prefix, served_at(m));
	write_pod(m, "        ");
	out_text(&m->o, "        resources: {limits: {memory: 256Mi}}\n"
			"        securityContext:\n"
			"          allowPrivilegeEscalation: false\n"
			"          readOnlyRootFilesystem: true\n"
			"          capabilities: {drop: [ALL]}\n");
}

/* Only what is to change, for the server to merge into what is there. */
static void write_workload(struct manifest *m)
{
	out_text(&m->o, "# Merge this into what is there:\n"
			"#   ... | kubectl apply --server-side --field-manager=sonde -f -\n");
	begin(m, m->kind->version, m->kind->name, m->name);
	if (strcmp(m->kind->name, "Subscription") == 0) {
		out_text(&m->o, "spec:\n  config:\n    env:\n");
		write_env(m, "    ");
		return;
	}
	out_text(&m->o, "spec:\n  template:\n    spec:\n      containers:\n");
	if (m->env) {
		out_printf(&m->o, "      - name: \"%s\"\n        env:\n", m->container);
		write_env(m, "        ");
	}
	if (m->sidecar)
		write_sidecar(m);
}

/* As Helm's charts have it: cut at 63, and no dash at the end. */
static char *service_name(const struct manifest *m)
{
	char *name = mem_printf("%s-%s-profiler", m->release, m->chart);
	size_t n = strlen(name) < LABEL_MAX ? strlen(name) : LABEL_MAX;

	while (n && name[n - 1] == '-')
		n--;
	name[n] = '\0';
	return name;
}

static void write_selector(struct manifest *m)
{
	bool any = false;

	out_text(&m->o, "  selector:\n");
	for (size_t i = 0; i < m->args->nall; i++) {
		struct str rest = str_of(m->args->all[i].value), key;

		if (m->args->all[i].option != FLAG_SELECTOR)
			continue;
		str_split(&rest, '=', &key);
		out_text(&m->o, "    ");
		quote(&m->o, key);
		out_text(&m->o, ": ");
		quote(&m->o, rest);
		out_char(&m->o, '\n');
		any = true;
	}
	if (!any)
		out_printf(&m->o, "    app: \"%s\"\n    release: \"%s\"\n", m->chart, m->release);
}

static void write_service(struct manifest *m)
{
	char *name = service_name(m);
	uint64_t port = m->port ? m->port : 6060;

	begin(m, "v1", "Service", name);
	out_printf(&m->o,
		   "spec:\n"
		   "  clusterIP: None\n"
		   "  ports:\n"
		   "  - {name: profiler, port: %" PRIu64 ", targetPort: %" PRIu64
		   ", protocol: TCP}\n",
		   port, port);
	write_selector(m);
	free(name);
}

static void write_rbac(struct manifest *m)
{
	const char *namespace = given(m->args, FLAG_NAMESPACE, "default");
	char *name = mem_printf("%s-dumps", m->prefix);

	begin(m, "rbac.authorization.k8s.io/v1", "Role", name);
	out_printf(&m->o,
		   "rules:\n- apiGroups: [\"\"]\n  resources: [\"secrets\"]\n  verbs: [%s]\n",
		   kube_verbs);
	begin(m, "rbac.authorization.k8s.io/v1", "RoleBinding", name);
	out_printf(&m->o,
		   "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: \"%s\"}\n"
		   "subjects:\n"
		   "- {kind: ServiceAccount, name: \"%s\", namespace: \"%s\"}\n",
		   name, m->account, namespace);
	free(name);
}

/* For a chart whose profiled build is another image. */
static void write_values(struct manifest *m)
{
	out_printf(&m->o, "\"%s\":\n  images:\n    ", m->chart);
	quote(&m->o, str_of(m->container));
	out_text(&m->o, ":\n      repository: ");
	quote(&m->o, str_of(m->image));
	out_text(&m->o, "\n      tag: ");
	quote(&m->o, str_of(given(m->args, FLAG_TAG, "latest-profile")));
	out_text(&m->o, "\n      pullPolicy: \"Never\"\n  profiler:\n    enabled: true\n");
}

static int run_manifest(const struct args *args)
{
	struct manifest m = { .args = args };
	struct err err = { "" };

	if (read_request(&m, args, &err) < 0) {
		free(m.name);
		return own_complain("manifest", &err, OWN_WRONG_USE);
	}
	out_init_fd(&m.o, STDOUT_FILENO);
	if (m.env || m.sidecar)
		write_workload(&m);
	if (m.service)
		write_service(&m);
	if (m.rbac)
		write_rbac(&m);
	if (m.values)
		write_values(&m);
	free(m.name);
	return own_print("manifest", &m.o);
}

const struct own_command own_manifest = {
	.name = "manifest",
	.what = "Print the Kubernetes objects that switch profiling on",
	.usage =
		"usage: sonde manifest [options] [env] [service] [rbac] [sidecar]\n"
		"       sonde manifest [options] values\n"
		"\n"
		"Prints objects for kubectl: variables that switch profiling on (env), a headless\n"
		"Service for its port (service), the right to keep dumps as Secrets (rbac), and a\n"
		"container that watches the memory (sidecar); all of them if none is named.\n"
		"\"values\" are those of a Helm chart with a profiled build.\n"
		"\n"
		"  sonde manifest --namespace shop --name main-landscaper --container main env |\n"
		"    kubectl apply --server-side --field-manager=sonde -f -\n",
	.flags = flags,
	.next = "env service rbac sidecar values",
	.run = run_manifest,
};
