/*
 * config.c - what the environment asks for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/fd.h"
#include "runtime/http.h"
#include "runtime/os.h"

#include <string.h>

#define MINUTE UINT64_C(60000000000)

/* In the order in which one may win over another: the first that has an address gives it. */
static const struct preset {
	const char *name, *addr;
	uint64_t memlog_ns;
	bool no_index, contention;
} presets[] = {
	[SONDE__ENABLE_PROFILER] = { "enable-profiler", .addr = "localhost:8081",
				     .memlog_ns = MINUTE },
	[SONDE__PPROF_ADDR] = { "pprof-addr", .addr = "localhost:8070" },
	[SONDE__PROFILING_CONFIG] = { "profiling-config", .addr = "", .no_index = true },
	[SONDE__BUILD_PROFILED] = { "build-profiled", .addr = "0.0.0.0:6060" },
	[SONDE__CONTENTION] = { "contention", .addr = "localhost:8080", .contention = true },
};

void sonde__config_init(struct sonde__config *c)
{
	*c = (struct sonde__config){ .heap_rate = SONDE__HEAP_RATE,
				     .cpu_hz = SONDE__CPU_HZ,
				     .dump_above = SONDE__DUMP_ABOVE,
				     .dump_growth = SONDE__DUMP_GROWTH,
				     .index = true };
}

/* The value of a variable, or NULL. */
static const char *value_of(char **environment, const char *name)
{
	size_t n = strlen(name);

	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
			return *environment + n + 1;
	return NULL;
}

/* The first variable that is not empty and whose name ends in _PPROF_ADDR. */
static const char *any_pprof_addr(char **environment)
{
	static const char ending[] = "_PPROF_ADDR";
	const size_t n = sizeof(ending) - 1;

	for (; environment && *environment; environment++) {
		const char *equals = strchr(*environment, '=');

		if (equals && equals[1] && (size_t)(equals - *environment) >= n &&
		    memcmp(equals - n, ending, n) == 0)
			return equals + 1;
	}
	return NULL;
}

static void apply(struct sonde__config *c, enum sonde__preset which)
{
	const struct preset *p = &presets[which];

	if (!c->addr[0])
		sonde__format(c->addr, sizeof(c->addr), "%s", p->addr);
	if (p->no_index)
		c->index = false;
	if (p->memlog_ns)
		c->memlog_ns = p->memlog_ns;
	if (p->contention) {
		c->mutex_fraction = 1;
		c->block_rate = 1;
	}
	c->presets |= 1U << which;
}

bool sonde__config_preset(struct sonde__config *c, const char *name)
{
	for (enum sonde__preset i = 0; i < SONDE__PRESETS; i++) {
		if (strcmp(presets[i].name, name) == 0) {
			apply(c, i);
			return true;
		}
	}
	return false;
}

static void complain(struct sonde__config *c, const char *name, const char *value)
{
	sonde__format(c->complaint, sizeof(c->complaint), "%s=%.64s is not understood, ignored",
		      name, value);
}

/* A number with a unit: K, M, G. */
static bool read_number(const char *text, const char *units, const uint64_t *factors, uint64_t *to)
{
	char digits[24];
	size_t n = strspn(text, "0123456789");
	const char *unit = text[n] ? strchr(units, text[n]) : NULL;
	int64_t v;

	if (n == 0 || n >= sizeof(digits) || (text[n] && (!unit || text[n + 1])))
		return false;
	memcpy(digits, text, n);
	digits[n] = '\0';
	if (!sonde__parse_int(digits, &v) || v > INT64_MAX >> 30)
		return false;
	*to = (uint64_t)v * (unit ? factors[unit - units] : 1);
	return true;
}

static void read_bytes(struct sonde__config *c, char **environment, const char *name, uint64_t *to)
{
	static const uint64_t factors[] = { 1 << 10, 1 << 20, 1 << 30, 1 << 10, 1 << 20, 1 << 30 };
	const char *value = value_of(environment, name);

	if (value && *value && !read_number(value, "KMGkmg", factors, to))
		complain(c, name, value);
}

static void read_plain(struct sonde__config *c, char **environment, const char *name, uint64_t *to)
{
	const char *value = value_of(environment, name);

	if (value && *value && !read_number(value, "", NULL, to))
		complain(c, name, value);
}

/* One part of a time: a number with "ms", "s", "m" or "h"; alone it may be without, in seconds. */
static const char *read_time_part(const char *text, bool alone, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ms", 1000000 },
		{ "s", 1000000000 },
		{ "m", 60000000000 },
		{ "h", 3600000000000 },
	};
	char digits[12];
	size_t n = strspn(text, "0123456789");
	int64_t v;

	if (n == 0 || n >= sizeof(digits))
		return NULL;
	memcpy(digits, text, n);
	digits[n] = '\0';
	sonde__parse_int(digits, &v);
	text += n;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(text, units[i].name, length) != 0)
			continue;
		return __builtin_mul_overflow((uint64_t)v, units[i].ns, ns) ? NULL : text + length;
	}
	if (*text || !alone || __builtin_mul_overflow((uint64_t)v, 1000000000u, ns))
		return NULL;
	return text;
}

bool sonde__parse_time(const char *text, uint64_t *ns)
{
	const char *start = text;
	uint64_t sum = 0, part;

	do {
		text = read_time_part(text, text == start, &part);
		if (!text || __builtin_add_overflow(sum, part, &sum) || sum > INT64_MAX)
			return false;
	} while (*text);
	*ns = sum;
	return true;
}

static void read_time(struct sonde__config *c, char **environment, const char *name, uint64_t *ns)
{
	const char *value = value_of(environment, name);

	if (value && *value && !sonde__parse_time(value, ns))
		complain(c, name, value);
}

static void read_memlog(struct sonde__config *c, char **environment)
{
	static const char name[] = "SONDE_MEMLOG";
	uint64_t ns = c->memlog_ns;

	read_time(c, environment, name, &ns);
	if (ns == 0 || ns >= SONDE__MEMLOG_NS_MIN)
		c->memlog_ns = ns;
	else
		complain(c, name, value_of(environment, name));
}

static void read_hz(struct sonde__config *c, char **environment)
{
	uint64_t hz = c->cpu_hz;

	read_bytes(c, environment, "SONDE_CPU_HZ", &hz);
	if (hz >= 1 && hz <= SONDE__CPU_HZ_MAX)
		c->cpu_hz = (unsigned)hz;
	else
		complain(c, "SONDE_CPU_HZ", value_of(environment, "SONDE_CPU_HZ"));
}

static void read_text(struct sonde__config *c, char **environment, const char *name, char *to,
		      size_t cap)
{
	const char *value = value_of(environment, name);

	if (!value)
		return;
	/* Half a token, or half a path, is another one. */
	if (strlen(value) < cap)
		memcpy(to, value, strlen(value) + 1);
	else
		complain(c, name, value);
}

/* SONDE_PID: the process that was meant, and no other that inherited its environment. */
static bool is_for_us(char **environment)
{
	const char *pid = value_of(environment, "SONDE_PID");
	int64_t v;

	return !pid || !sonde__parse_int(pid, &v) || v == sonde__sys_getpid();
}

/* Whatever switches us on, and where to listen. */
static bool read_switches(struct sonde__config *c, char **environment)
{
	const char *addr = value_of(environment, "SONDE_ADDR");
	const char *named = any_pprof_addr(environment);
	const char *preset = value_of(environment, "SONDE_PRESET");
	const char *enable = value_of(environment, "ENABLE_PROFILER");
	const char *profiling = value_of(environment, "HEKETI_PROFILING");

	if ((addr && *addr) || named)
		sonde__format(c->addr, sizeof(c->addr), "%s", addr && *addr ? addr : named);
	if (preset && *preset && !sonde__config_preset(c, preset))
		complain(c, "SONDE_PRESET", preset);
	if (enable && strcmp(enable, "true") == 0)
		apply(c, SONDE__ENABLE_PROFILER);
	if (named)
		apply(c, SONDE__PPROF_ADDR);
	if (profiling && *profiling)
		apply(c, SONDE__PROFILING_CONFIG);
	return c->addr[0] || c->presets;
}

void sonde__config_imply_dump(struct sonde__config *c, char **environment)
{
	const char *cluster = value_of(environment, "KUBERNETES_SERVICE_HOST");

	if ((c->presets & 1U << SONDE__ENABLE_PROFILER) && cluster && *cluster && !c->dump[0])
		sonde__format(c->dump, sizeof(c->dump), "kube:");
}

/* Set to nothing, it is off also where a preset implies it. */
static void read_dump(struct sonde__config *c, char **environment)
{
	if (value_of(environment, "SONDE_DUMP"))
		read_text(c, environment, "SONDE_DUMP", c->dump, sizeof(c->dump));
	else
		sonde__config_imply_dump(c, environment);
	read_text(c, environment, "SONDE_DUMP_PREFIX", c->dump_prefix, sizeof(c->dump_prefix));
	read_bytes(c, environment, "SONDE_DUMP_ABOVE", &c->dump_above);
	read_plain(c, environment, "SONDE_DUMP_GROWTH", &c->dump_growth);
}

bool sonde__config_from_env(struct sonde__config *c, char **environment)
{
	const char *token = value_of(environment, "SONDE_TOKEN");
	const char *index = value_of(environment, "SONDE_INDEX");
	const char *age = value_of(environment, "SONDE_LABEL_AGE");
	uint64_t off_after = 0;

	sonde__config_init(c);
	if (!is_for_us(environment))
		return false;
	c->on = read_switches(c, environment);
	read_memlog(c, environment);
	read_dump(c, environment);
	c->on = c->on || c->memlog_ns || c->dump[0];
	c->inherited = !value_of(environment, "SONDE_PID");
	read_text(c, environment, "SONDE_LOG", c->log, sizeof(c->log));
	if (!c->on)
		return false;
	read_text(c, environment, "SONDE_TOKEN", c->token, sizeof(c->token));
	read_bytes(c, environment, "SONDE_HEAP_RATE", &c->heap_rate);
	read_plain(c, environment, "SONDE_MUTEX_FRACTION", &c->mutex_fraction);
	read_plain(c, environment, "SONDE_BLOCK_RATE", &c->block_rate);
	read_hz(c, environment);
	read_time(c, environment, "SONDE_OFF_AFTER", &off_after);
	c->off_after_s = (off_after + 999999999) / 1000000000;
	c->label_age = age && strcmp(age, "1") == 0;
	if (index)
		c->index = strcmp(index, "0") != 0;
	/* Without the protection that was asked for, nothing is shown. */
	if (token && strlen(token) >= sizeof(c->token))
		c->addr[0] = '\0';
	return true;
}
