/*
 * record.c - what is written about the dumps of a prefix
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/record.h"

#include "base/err.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

enum { MOST_OLDER = 1000, MOST_CHUNKS = 1000000 };

struct str store_record_name(struct arena *a, struct str prefix)
{
	return xarena_printf(a, "%.*s-heap", STR_ARG(prefix));
}

struct str date_text(struct arena *a, int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;
	char text[64];

	if (!gmtime_r(&t, &tm))
		return STR("");
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return xarena_str(a, str_of(text));
}

/* "+02:00" or "Z" behind a date; seconds east of Greenwich. */
static bool parse_zone(struct str s, int64_t *east)
{
	static const int tens[] = { 0, 36000, 3600, 0, 600, 60 };
	int64_t sum = 0;

	*east = 0;
	if (str_is(s, "Z"))
		return true;
	if (s.n != 6 || (s.p[0] != '+' && s.p[0] != '-') || s.p[3] != ':')
		return false;
	for (size_t i = 1; i < 6; i++) {
		if (i != 3 && (s.p[i] < '0' || s.p[i] > '9'))
			return false;
		sum += tens[i] * (s.p[i] - '0');
	}
	*east = s.p[0] == '-' ? -sum : sum;
	return true;
}

bool date_parse(struct str s, int64_t *seconds)
{
	char text[40];
	struct tm tm = { 0 };
	struct str rest;
	const char *end;
	int64_t east;

	if (s.n < 20 || s.n >= sizeof(text))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end)
		return false;
	rest = str_skip(s, (size_t)(end - text));
	if (rest.n && rest.p[0] == '.') {
		rest = str_skip(rest, 1);
		while (rest.n && rest.p[0] >= '0' && rest.p[0] <= '9')
			rest = str_skip(rest, 1);
	}
	if (!parse_zone(rest, &east))
		return false;
	*seconds = (int64_t)timegm(&tm) - east;
	return true;
}

static struct str value_of(const struct store_record *r, const char *key)
{
	for (size_t i = 0; i < r->npairs; i++)
		if (str_is(r->pairs[i].key, key))
			return r->pairs[i].value;
	return STR("");
}

static int bad(struct err *err, struct str prefix, const char *key, struct str value)
{
	char quoted[80];

	return err_set(err, -EINVAL, "the record %.*s-heap has a %s that cannot be: %s",
		       STR_ARG(prefix), key, go_quoted(value, quoted, sizeof(quoted)));
}

static bool to_number(struct str s, uint64_t *v)
{
	*v = 0;
	return go_parse_uint(s, 10, 64, v, NULL) == 0;
}

/* Names of chunks must be of this prefix: a record must not lead to other people's secrets. */
static bool own_names(struct arena *a, struct str prefix, struct str names)
{
	return str_starts(names, xarena_printf(a, "%.*s-heap-", STR_ARG(prefix)));
}

/* One older dump: fields separated by tabs. */
static bool parse_older(struct str line, struct dump *d)
{
	struct str field[10];
	uint64_t chunks, stored;
	size_t n = 0;

	while (n < 10 && str_split(&line, '\t', &field[n]))
		n++;
	if (n != 10 || !to_number(field[0], &d->generation) ||
	    !to_number(field[1], &d->heap_inuse) || !to_number(field[2], &d->heap_alloc) ||
	    !to_number(field[3], &d->length) || !to_number(field[4], &chunks) ||
	    chunks > MOST_CHUNKS || !to_number(field[5], &stored))
		return false;
	d->chunks = (size_t)chunks;
	d->counted = true;
	d->stored = (int64_t)stored;
	d->sha256 = field[6];
	d->names = field[7];
	d->run = field[8];
	d->pod = field[9];
	return true;
}

static void put_older(struct out *o, const struct dump *d)
{
	out_printf(o,
		   "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%zu\t%" PRId64
		   "\t%.*s\t%.*s\t%.*s\t%.*s\n",
		   d->generation, d->heap_inuse, d->heap_alloc, d->length, d->chunks, d->stored,
		   STR_ARG(d->sha256), STR_ARG(d->names), STR_ARG(d->run), STR_ARG(d->pod));
}

static int read_older(struct record *r, struct str text, struct arena *a, struct err *err)
{
	size_t lines = 0;
	struct str line;

	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	if (lines > MOST_OLDER)
		return bad(err, r->prefix, "keyOlder", STR("too many lines"));
	r->older = xarena(a, lines + 1, sizeof(*r->older));
	while (r->nolder < lines && str_split(&text, '\n', &line)) {
		struct dump *d = &r->older[r->nolder++];

		if (!parse_older(line, d) || !own_names(a, r->prefix, d->names))
			return bad(err, r->prefix, "keyOlder", line);
	}
	return 0;
}

static int read_newest(struct record *r, const struct store_record *raw, struct arena *a,
		       struct err *err)
{
	struct dump *d = &r->newest;
	struct str chunks = value_of(raw, "keyNumberOfDataSecrets");
	uint64_t n;

	d->pod = value_of(raw, "keyPodname");
	d->run = value_of(raw, "keyRun");
	d->sha256 = value_of(raw, "keySha256");
	d->names = value_of(raw, "keyDataSecrets");
	(void)to_number(value_of(raw, "keyHeapInUse"), &d->heap_inuse);
	(void)to_number(value_of(raw, "keyHeapAlloc"), &d->heap_alloc);
	(void)to_number(value_of(raw, "keyLength"), &d->length);
	(void)to_number(value_of(raw, "keyGeneration"), &d->generation);
	(void)to_number(value_of(raw, "keyCopied"), &r->copied);
	(void)date_parse(value_of(raw, "keyStorageDate"), &d->stored);
	d->counted = to_number(chunks, &n);
	if (d->counted && n > MOST_CHUNKS)
		return bad(err, r->prefix, "keyNumberOfDataSecrets", chunks);
	d->chunks = (size_t)n;
	if (d->names.n && !own_names(a, r->prefix, d->names))
		return bad(err, r->prefix, "keyDataSecrets", d->names);
	/* Another program's: the plain names are all there is. */
	if (!d->generation && (value_of(raw, "keyHeapInUse").n || d->counted))
		d->names = xarena_printf(a, "%.*s-heap-", STR_ARG(r->prefix));
	return 0;
}

int record_read(struct store *s, struct str prefix, struct arena *a, struct record *out,
		struct err *err)
{
	struct store_record raw = { 0 };
	int rc = s->calls->read(s, prefix, a, &raw, err);

	if (rc < 0)
		return rc;
	*out = (struct record){
		.prefix = prefix,
		.version = raw.version,
		.lock_owner = value_of(&raw, "keyLockOwner"),
		.lock_time = value_of(&raw, "keyLockTime"),
	};
	(void)to_number(value_of(&raw, "keyLockSeconds"), &out->lock_s);
	rc = read_newest(out, &raw, a, err);
	if (rc < 0)
		return rc;
	return read_older(out, value_of(&raw, "keyOlder"), a, err);
}

struct pairs {
	struct store_pair list[16];
	size_t n;
};

static void add(struct pairs *p, const char *key, struct str value)
{
	p->list[p->n++] = (struct store_pair){ str_of(key), value };
}

static void add_number(struct pairs *p, struct arena *a, const char *key, uint64_t value)
{
	add(p, key, xarena_printf(a, "%" PRIu64, value));
}

static void add_newest(struct pairs *p, struct arena *a, const struct dump *d)
{
	add_number(p, a, "keyNumberOfDataSecrets", d->chunks);
	add_number(p, a, "keyHeapInUse", d->heap_inuse);
	add_number(p, a, "keyHeapAlloc", d->heap_alloc);
	add(p, "keyPodname", d->pod);
	add(p, "keyStorageDate", date_text(a, d->stored));
	add_number(p, a, "keyLength", d->length);
	add(p, "keySha256", d->sha256);
	add_number(p, a, "keyGeneration", d->generation);
	add(p, "keyRun", d->run);
	add(p, "keyDataSecrets", d->names);
}

int record_write(struct store *s, struct arena *a, struct record *r, struct err *err)
{
	struct store_record raw = { .version = r->version };
	struct pairs p = { .n = 0 };
	struct out older;
	int rc;

	if (r->newest.names.n)
		add_newest(&p, a, &r->newest);
	if (r->copied)
		add_number(&p, a, "keyCopied", r->copied);
	if (r->lock_owner.n) {
		add(&p, "keyLockTime", r->lock_time);
		add(&p, "keyLockOwner", r->lock_owner);
		add_number(&p, a, "keyLockSeconds", r->lock_s);
	}
	out_init(&older, 0);
	for (size_t i = 0; i < r->nolder; i++)
		put_older(&older, &r->older[i]);
	if (older.n)
		add(&p, "keyOlder", out_view(&older));
	raw.pairs = p.list;
	raw.npairs = p.n;
	rc = s->calls->write(s, r->prefix, &raw, a, err);
	out_release(&older);
	if (rc == 0)
		r->version = raw.version;
	return rc;
}
