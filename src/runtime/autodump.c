/*
 * autodump.c - heap profiles that are taken and stored without being asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/autodump.h"

#include "runtime/memlog.h"
#include "runtime/memory-limit.h"
#include "runtime/os.h"
#include "runtime/profiles.h"
#include "runtime/ship.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

typedef unsigned long long number;

static const uint64_t ms = 1000000, second = 1000000000, minute = 60000000000;
enum {
	SHIP_MS = 50,   /* between two looks whether the dump is stored */
	STEEP_PART = 8, /* of 'above': less growth is never steep */
	NAMES_MB = 32,  /* below the limit: room for symbol tables */
	TEXT_BYTES = 400,
};

static struct {
	char to[256], prefix[64], run[20];
	uint64_t above, growth;
	const char *problem;
	uint64_t last;           /* HeapInuse of the last one that was stored; 0: there is none */
	uint64_t next, next_see; /* looks: the cheap one, and that of the period */
	uint64_t try_after;      /* early, after one that failed */
	uint64_t seen_anon;      /* when the rules were last looked at */
	struct sonde__memory_use before;
	uint64_t near_used, near_at; /* at the last dump near a limit; 0: none */
	enum { NOTHING, CHECK, STORE } under_way;
	uint64_t storing; /* HeapInuse of that one */
	uint64_t stored, failed;
	bool named; /* one had names */
} dump;

/* --- settings ------------------------------------------------------------------------------- */

/* What a name in Kubernetes may have: small letters, digits, and dashes between them. */
static void make_prefix(char *to, size_t cap, const char *name)
{
	size_t n = 0;

	for (; *name && n + 1 < cap; name++) {
		char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
		bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (plain || (n && to[n - 1] != '-'))
			to[n++] = plain ? c : '-';
	}
	while (n && to[n - 1] == '-')
		n--;
	to[n] = '\0';
	if (n == 0)
		sonde__format(to, cap, "program");
}

/* As it was called: its file may have another name. */
static void name_after_program(char *to, size_t cap)
{
	size_t n;
	const char *program = sonde__cmdline(&n), *slash = strrchr(program, '/');

	make_prefix(to, cap, slash ? slash + 1 : program);
}

/* Another one for every start, also of a program with the same number. */
static void name_run(void)
{
	uint64_t r = 0;

	if (sonde__syscall(SYS_getrandom, (long)&r, sizeof(r), 0, 0, 0, 0) != (long)sizeof(r))
		r = sonde__wall();
	sonde__format(dump.run, sizeof(dump.run), "%016llx", (number)r);
}

void sonde__autodump_set(const struct sonde__config *c)
{
	enum { PREFIX = 41 };

	memset(&dump, 0, sizeof(dump));
	if (!c->dump[0])
		return;
	memcpy(dump.to, c->dump, sizeof(dump.to));
	if (c->dump_prefix[0])
		memcpy(dump.prefix, c->dump_prefix, sizeof(dump.prefix));
	else
		name_after_program(dump.prefix, PREFIX);
	dump.above = c->dump_above;
	dump.growth = c->dump_growth;
	name_run();
	switch (sonde__ship_ready()) {
	case 0:
		break;
	case -ENOENT:
		dump.problem = "there are no automatic dumps: sonded was not found (SONDED, beside "
			       "libsonde.so, PATH)";
		break;
	default:
		dump.problem = "there are no automatic dumps: no memory";
	}
}

const char *sonde__autodump_problem(void)
{
	return dump.problem;
}

uint64_t sonde__autodump_stored(void)
{
	return dump.stored;
}

uint64_t sonde__autodump_failed(void)
{
	return dump.failed;
}

static uint64_t period(void)
{
	uint64_t ns = sonde__memlog_period();

	return ns ? ns : minute;
}

/* --- taking and storing --------------------------------------------------------------------- */

static void fail(const char *why)
{
	dump.failed++;
	dump.try_after = sonde__now() + period();
	dump.near_used = 0;
	sonde__log("cannot store a heap dump in %s: %s; trying again when the next one is due",
		   dump.to, why);
}

static int ship(const struct sonde__memstats *s)
{
	char inuse[24], alloc[24];
	const char *const args[] = { "store",     "--to",         dump.to,  "--prefix",
				     dump.prefix, "--run",        dump.run, "--heap-in-use",
				     inuse,       "--heap-alloc", alloc,    "-",
				     NULL };

	sonde__format(inuse, sizeof(inuse), "%llu", (number)s->heap_inuse);
	sonde__format(alloc, sizeof(alloc), "%llu", (number)s->heap_alloc);
	return sonde__ship_start(args);
}

/* What /debug/pprof/heap gives; without names if there is no memory for them. */
static int take_profile(bool names)
{
	int rc = sonde__ship_file();

	if (rc < 0)
		return rc;
	if (sonde__profile_stream(&sonde__kind_heap, names, sonde__ship_add)) {
		dump.named = dump.named || names;
		return 0;
	}
	return names ? take_profile(false) : -ENOMEM;
}

/*
 * Symbol tables may take more memory than is left, unless they are there already.  Where more is
 * only refused, we can try.
 */
static bool has_room(void)
{
	const struct sonde__memory_use *u = &dump.before;

	return dump.named || !u->kills || u->used + ((uint64_t)NAMES_MB << 20) < u->limit;
}

static void take(const struct sonde__memstats *s, const char *why)
{
	int rc;

	sonde__log("HeapInuse is %llu, %s: storing a heap dump in %s", (number)s->heap_inuse, why,
		   dump.to);
	rc = take_profile(has_room());
	if (rc == 0)
		rc = ship(s);
	if (rc < 0) {
		fail(rc == -EPERM ? "the program has put itself behind a seccomp filter"
				  : sonde__error_text(-rc));
		return;
	}
	dump.storing = s->heap_inuse;
	dump.under_way = STORE;
}

static void finish_store(int status, const char *text)
{
	if (status != 0) {
		fail(*text ? text : "sonded did not say why");
		return;
	}
	dump.stored++;
	dump.last = dump.storing;
	sonde__log("stored a heap dump in %s as %s-heap%s%s", dump.to, dump.prefix,
		   *text ? ": " : "", text);
}

static void look_after(void)
{
	char text[TEXT_BYTES];
	int status, was = dump.under_way;

	if (dump.under_way == NOTHING || !sonde__ship_ended(&status, text, sizeof(text)))
		return;
	dump.under_way = NOTHING;
	if (was == STORE)
		finish_store(status, text);
	else if (status != 0)
		sonde__log("heap dumps could not be stored in %s: %s", dump.to, text);
}

/* --- looking -------------------------------------------------------------------------------- */

static void apply_rules(const struct sonde__memstats *s)
{
	char why[64];

	if (dump.under_way != NOTHING || dump.problem ||
	    !sonde__heap_is_above(s->heap_inuse, dump.above, dump.last, dump.growth))
		return;
	if (dump.last)
		sonde__format(why, sizeof(why), "%llu at the last dump", (number)dump.last);
	else
		sonde__format(why, sizeof(why), "above %llu", (number)dump.above);
	take(s, why);
}

void sonde__autodump_see(const struct sonde__memstats *s)
{
	if (!dump.to[0])
		return;
	if (s->process.statm_error == 0 && s->process.rss > s->process.shared)
		dump.seen_anon = s->process.rss - s->process.shared;
	apply_rules(s);
}

static void see_now(void)
{
	struct sonde__memstats s;

	sonde__memstats(&s);
	sonde__autodump_see(&s);
}

/* Whether so much has come that the rules need not wait for the end of the period. */
static bool is_steep(const struct sonde__memory_use *u)
{
	uint64_t least = dump.above / STEEP_PART,
		 step = sonde__percent(dump.seen_anon, dump.growth);

	return u->anon > dump.seen_anon + (step > least ? step : least);
}

/* Once on the way to the limit, and again only if there is more, or was less for some time. */
static bool is_news(const struct sonde__memory_use *u, uint64_t now)
{
	if (dump.near_used && now - dump.near_at >= period() &&
	    u->used < dump.near_used - dump.near_used / 6)
		dump.near_used = 0;
	return dump.near_used == 0 ||
	       u->used > dump.near_used + sonde__percent(dump.near_used, dump.growth);
}

static void take_near(const struct sonde__memory_use *u, uint64_t now)
{
	struct sonde__memstats s;
	char why[128];

	dump.near_used = u->used;
	dump.near_at = now;
	sonde__memstats(&s);
	sonde__format(why, sizeof(why), "and %llu of %llu bytes (%s) are in use", (number)u->used,
		      (number)u->limit, u->what);
	take(&s, why);
}

static void look_quickly(uint64_t now)
{
	struct sonde__memory_use u;
	bool near;

	if (!sonde__memory_use(&u, now))
		return;
	near = sonde__memory_is_near(&u, &dump.before);
	dump.before = u;
	if (dump.under_way != NOTHING || dump.problem || now < dump.try_after)
		return;
	if (near && is_news(&u, now))
		take_near(&u, now);
	else if (is_steep(&u))
		see_now();
}

/* In a cluster what we may do is known beforehand, and better said before it is needed. */
static void begin(void)
{
	const char *const args[] = { "verbs", "--check", dump.to, NULL };

	if (dump.problem)
		sonde__log("%s", dump.problem);
	else if (strncmp(dump.to, "kube:", 5) == 0 && sonde__ship_start(args) == 0)
		dump.under_way = CHECK;
}

uint64_t sonde__autodump_next(void)
{
	uint64_t soon;

	if (!dump.to[0])
		return UINT64_MAX;
	soon = dump.under_way != NOTHING ? sonde__now() + SHIP_MS * ms : UINT64_MAX;
	return dump.next < soon ? dump.next : soon;
}

void sonde__autodump_work(uint64_t now)
{
	bool first = dump.next == 0;

	if (!dump.to[0])
		return;
	look_after();
	if (now < dump.next)
		return;
	dump.next = now + second;
	if (first)
		begin();
	if (sonde__memlog_period() == 0 && now >= dump.next_see) {
		dump.next_see = now + minute;
		see_now();
	}
	look_quickly(now);
}

void sonde__autodump_end(void)
{
	if (dump.under_way != NOTHING)
		sonde__ship_leave();
	memset(&dump, 0, sizeof(dump));
}

void sonde__autodump_forget(void)
{
	sonde__ship_forget();
	memset(&dump, 0, sizeof(dump));
}
