/*
 * proto.c - a profile as profile.proto, gzipped
 *
 * In the order Go writes: samples first, which number the locations as they come; then modules,
 * locations, functions, and the texts at last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/os.h"
#include "runtime/output-private.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"
#include "runtime/thread-dump.h"
#include "runtime/unwind.h"
#include "wire/pbw.h"

#include <string.h>

/* Field numbers, from profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE,
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER, LABEL_UNIT };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_START };

enum {
	MESSAGE = 4096, /* more than any message needs, but those with texts */
	PLACES = 2048,
	STREAM = 128 << 10, /* bytes of a piece */
};

struct location {
	uint64_t address;  /* 0: samples that were lost */
	uint32_t name;     /* a text; 0: none */
	uint32_t module;   /* from 1 on, in the order they are written; 0: none */
	uint32_t function; /* when all samples are written */
	uint32_t line;     /* 0: not known */
};

/* Names and files are texts. */
struct function {
	uint32_t name, file, start_line;
};

/* Where 'out' has the locations of a stack; many samples differ only in their labels. */
struct packed {
	uint32_t at, n;
};

/* What was found out about an address; another one may take its place. */
struct place {
	uint64_t address;
	uint32_t number; /* of its location; 0: it has none yet */
	enum { UNKNOWN, ALLOCATES, OTHER } kind;
};

struct writer {
	struct sonde__output *o;
	const struct sonde__modules *modules;
	struct sonde__buf out;
	struct packed *stacks; /* by number */
	size_t nstacks;
	struct place *places;
	struct sonde__buf locations; /* struct location */
	struct sonde__buf functions; /* struct function */
	struct sonde__buf unloaded;  /* modules that are in no snapshot any more */
	struct sonde__index by_address, by_function;
};

static struct pbw begin_writing(struct writer *w, size_t room)
{
	if (!sonde__buf_room(&w->out, room))
		return (struct pbw){ NULL, 0, 0 };
	return (struct pbw){ (uint8_t *)w->out.p + w->out.n, 0, w->out.cap - w->out.n };
}

/* A piece of its own: gzip allows for one after the other. */
static void flush(struct writer *w)
{
	size_t n = 0, mapped = 0;
	uint8_t *bytes = sonde__gzip(w->out.p, w->out.n, &n, &mapped);

	if (!bytes || !w->o->head.sink(bytes, n))
		w->out.full = true;
	sonde__unmap(bytes, bytes ? mapped : 0);
	w->out.n = 0;
}

static void end_writing(struct writer *w, const struct pbw *p)
{
	if (w->out.full)
		return;
	if (p->n > p->cap)
		w->out.full = true;
	else
		w->out.n += p->n;
	if (w->o->head.sink && w->out.n >= STREAM)
		flush(w);
}

static bool is_loaded(const struct writer *w, const struct sonde__module *m)
{
	return m >= w->modules->at && m < w->modules->at + w->modules->n;
}

static const struct sonde__module *main_module(const struct writer *w)
{
	return w->modules && w->modules->n ? &w->modules->at[w->modules->main] : NULL;
}

/* Modules that samples were in and that are gone; numbered behind the others. */
static uint32_t unloaded_number(struct writer *w, const struct sonde__module *m)
{
	const struct sonde__module **all = (const struct sonde__module **)(void *)w->unloaded.p;
	size_t n = w->unloaded.n / sizeof(m);

	for (size_t i = 0; i < n; i++)
		if (all[i] == m)
			return (uint32_t)(w->modules->n + i + 1);
	sonde__buf_add(&w->unloaded, &m, sizeof(m));
	return w->unloaded.full ? 0 : (uint32_t)(w->modules->n + n + 1);
}

/* The number a module has in the profile: the program itself is 1, the others follow. */
static uint32_t module_number(struct writer *w, const struct sonde__module *m)
{
	size_t i;

	if (!is_loaded(w, m))
		return unloaded_number(w, m);
	i = (size_t)(m - w->modules->at);
	if (i == w->modules->main)
		return 1;
	return (uint32_t)i + (i < w->modules->main ? 2 : 1);
}

static uint32_t function_number(struct writer *w, const struct function *f)
{
	const struct function *all = (const struct function *)(void *)w->functions.p;
	uint32_t hash = sonde__hash(f, sizeof(*f)), id;
	struct function *more;

	for (size_t at = hash; (id = sonde__index_next(&w->by_function, hash, &at)) != 0;)
		if (memcmp(&all[id - 1], f, sizeof(*f)) == 0)
			return id;
	more = sonde__buf_more(&w->functions, sizeof(*more));
	if (!more)
		return 0;
	*more = *f;
	id = (uint32_t)(w->functions.n / sizeof(*more));
	return sonde__index_put(&w->by_function, hash, id) ? id : 0;
}

static void name_location(struct writer *w, struct location *l)
{
	const struct sonde__module *m = w->modules ? sonde__module_at(l->address) : NULL;
	const char *name;

	if (m)
		l->module = module_number(w, m);
	name = l->address ? sonde__pseudo_name(l->address) : "lost_samples";
	if (!name && w->o->head.symbolize)
		name = sonde__name(l->address, NULL);
	if (name)
		l->name = sonde__output_string(w->o, name);
}

static uint64_t hash_address(uint64_t address)
{
	return (address + 1) * 0x9e3779b97f4a7c15u;
}

/* Most frames of most stacks were in the stacks before. */
static struct place *place_of(struct writer *w, uint64_t address)
{
	struct place *p = &w->places[(hash_address(address) >> 32) % PLACES];

	if (p->address != address)
		*p = (struct place){ .address = address };
	return p;
}

static uint32_t find_location(struct writer *w, uint64_t address)
{
	uint32_t hash = (uint32_t)(hash_address(address) >> 32), id;
	const struct location *all = (const struct location *)(void *)w->locations.p;
	struct location l = { .address = address }, *more;

	for (size_t at = hash; (id = sonde__index_next(&w->by_address, hash, &at)) != 0;)
		if (all[id - 1].address == address)
			return id;
	name_location(w, &l);
	more = sonde__buf_more(&w->locations, sizeof(*more));
	if (!more)
		return 0;
	*more = l;
	id = (uint32_t)(w->locations.n / sizeof(*more));
	return sonde__index_put(&w->by_address, hash, id) ? id : 0;
}

static uint32_t location_number(struct writer *w, uint64_t address)
{
	struct place *p = place_of(w, address);

	if (!p->number)
		p->number = find_location(w, address);
	return p->number;
}

static bool is_allocator_name(const char *name)
{
	static const char *const names[] = { "malloc",   "calloc",         "realloc",
					     "memalign", "posix_memalign", "aligned_alloc",
					     "valloc",   "pvalloc",        "reallocarray" };

	/* operator new and new[], in all their forms */
	if (strncmp(name, "_Znw", 4) == 0 || strncmp(name, "_Zna", 4) == 0)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool is_allocator(const struct writer *w, uint64_t address)
{
	const struct sonde__module *m = sonde__module_at(address);
	uintptr_t own = (uintptr_t)&sonde__output_finish;
	const char *name;

	/* Linked into the program, we have the module in common with all of it. */
	if (m && m != main_module(w) && own >= m->start && own < m->end)
		return true;
	name = sonde__name(address, NULL);
	return name && is_allocator_name(name);
}

static bool allocates(struct writer *w, uint64_t address)
{
	struct place *p = place_of(w, address);

	if (p->kind == UNKNOWN)
		p->kind = is_allocator(w, address) ? ALLOCATES : OTHER;
	return p->kind == ALLOCATES;
}

/* Where a frame is: a return address may be behind the last instruction of its function. */
static uint64_t frame_address(const struct sonde__stack *st, size_t i)
{
	bool exact = i == 0 && st->leaf_is_pc;

	return st->pcs[i] && !exact ? st->pcs[i] - 1 : st->pcs[i];
}

static size_t hidden_frames(struct writer *w, const struct sonde__stack *st)
{
	size_t i = 0;

	if (!w->o->head.hide_allocator)
		return 0;
	while (i < st->n && allocates(w, frame_address(st, i)))
		i++;
	return i == st->n ? 0 : i;
}

static void pack_locations(struct writer *w, struct pbw *p, uint32_t id)
{
	const struct sonde__stack *st = id ? sonde__stack(id) : NULL;

	if (id == 0)
		pbw_varint(p, location_number(w, 0));
	for (size_t i = st ? hidden_frames(w, st) : 0; st && i < st->n; i++) {
		uint32_t number = location_number(w, frame_address(st, i));

		if (number)
			pbw_varint(p, number);
	}
}

/* A stack that was written before is copied from there; returns the note of one that was not. */
static struct packed *write_stack(struct writer *w, struct pbw *p, uint32_t stack)
{
	struct packed *known = stack < w->nstacks ? &w->stacks[stack] : NULL;
	uint8_t bytes[SONDE__DEPTH * 5];
	struct pbw fresh = { bytes, 0, sizeof(bytes) };

	if (known && known->n) {
		pbw_bytes(p, SAMPLE_LOCATION, w->out.p + known->at, known->n);
		return NULL;
	}
	pack_locations(w, &fresh, stack);
	if (fresh.n > fresh.cap)
		fresh.n = 0;
	pbw_bytes(p, SAMPLE_LOCATION, bytes, fresh.n);
	if (known)
		*known =
			(struct packed){ (uint32_t)(w->out.n + p->n - fresh.n), (uint32_t)fresh.n };
	return known;
}

static void write_labels(struct writer *w, struct pbw *p, const struct sample *s)
{
	for (size_t i = 0; i < s->nlabels; i++) {
		const struct label *l = sonde__output_label(w->o, s->labels + i);
		size_t mark = pbw_begin(p, SAMPLE_LABEL);

		pbw_opt(p, LABEL_KEY, l->key);
		pbw_opt(p, LABEL_TEXT, l->text);
		pbw_opt(p, LABEL_NUMBER, (uint64_t)l->number);
		pbw_opt(p, LABEL_UNIT, l->unit);
		pbw_end(p, mark);
	}
}

static bool is_zero(const struct sonde__output *o, const struct sample *s)
{
	for (size_t i = 0; i < o->head.ntypes; i++)
		if (s->values[i])
			return false;
	return true;
}

static void write_sample(struct writer *w, const struct sample *s)
{
	struct pbw p = begin_writing(w, MESSAGE);
	struct packed *fresh;
	size_t mark, values, n;

	if (is_zero(w->o, s) || w->out.full)
		return;
	mark = pbw_begin(&p, PROFILE_SAMPLE);
	fresh = write_stack(w, &p, s->stack);
	values = pbw_begin(&p, SAMPLE_VALUE);
	for (size_t i = 0; i < w->o->head.ntypes; i++)
		pbw_varint(&p, (uint64_t)s->values[i]);
	pbw_end(&p, values);
	write_labels(w, &p, s);
	n = p.n;
	pbw_end(&p, mark);
	if (fresh)
		fresh->at += (uint32_t)(p.n - n); /* by which the length has moved it */
	end_writing(w, &p);
}

static void write_type(struct writer *w, uint32_t field, const struct sonde__value_type *t)
{
	struct pbw p = begin_writing(w, MESSAGE);
	size_t mark = pbw_begin(&p, field);

	pbw_opt(&p, TYPE_TYPE, sonde__output_string(w->o, t->type));
	pbw_opt(&p, TYPE_UNIT, sonde__output_string(w->o, t->unit));
	pbw_end(&p, mark);
	end_writing(w, &p);
}

/* Where the named places are in the sources; all at once, as that is what takes time. */
static void find_lines(struct writer *w)
{
	struct location *l = (struct location *)(void *)w->locations.p;
	size_t n = w->locations.n / sizeof(*l);
	struct sonde__buf pcs = { 0 };

	for (size_t i = 0; i < n; i++)
		if (l[i].name && l[i].module)
			sonde__buf_add(&pcs, &l[i].address, sizeof(l[i].address));
	sonde__lines_find((const uint64_t *)(void *)pcs.p, pcs.n / sizeof(uint64_t));
	sonde__buf_release(&pcs);
	for (size_t i = 0; i < n; i++) {
		struct function f = { .name = l[i].name };
		struct sonde__line at;

		if (!f.name)
			continue;
		if (l[i].module && sonde__line(l[i].address, &at)) {
			f.file = sonde__output_string(w->o, at.file);
			f.start_line = at.start_line;
			l[i].line = at.line;
		}
		l[i].function = function_number(w, &f);
	}
}

/* As Go: only if every place of the module that is in the profile has a name, or a line. */
static bool all_have(const struct writer *w, uint32_t module, bool lines)
{
	const struct location *l = (const struct location *)(void *)w->locations.p;
	size_t n = w->locations.n / sizeof(*l), used = 0;

	for (size_t i = 0; i < n; i++) {
		if (l[i].module != module)
			continue;
		used++;
		if (!l[i].function || (lines && !l[i].line))
			return false;
	}
	return used > 0;
}

static uint32_t build_id_text(struct writer *w, const struct sonde__module *m)
{
	char text[130];
	size_t n = m->nbuild_id < 64 ? m->nbuild_id : 64;

	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		sonde__format(text + 2 * i, 3, "%02x", (unsigned)m->build_id[i]);
	return sonde__output_string(w->o, text);
}

static void write_mapping(struct writer *w, const struct sonde__module *m)
{
	uint32_t number = module_number(w, m);
	const char *path = m->path && m->path[0] ? m->path : "[vdso]";
	struct pbw p = begin_writing(w, MESSAGE);
	size_t mark = pbw_begin(&p, PROFILE_MAPPING);

	pbw_opt(&p, MAPPING_ID, number);
	pbw_opt(&p, MAPPING_START, m->start);
	pbw_opt(&p, MAPPING_LIMIT, m->end);
	pbw_opt(&p, MAPPING_OFFSET, m->offset);
	pbw_opt(&p, MAPPING_FILE, sonde__output_string(w->o, path));
	pbw_opt(&p, MAPPING_BUILD_ID, build_id_text(w, m));
	pbw_opt(&p, MAPPING_HAS_FUNCTIONS, all_have(w, number, false));
	pbw_opt(&p, MAPPING_HAS_FILES, all_have(w, number, true));
	pbw_opt(&p, MAPPING_HAS_LINES, all_have(w, number, true));
	pbw_end(&p, mark);
	end_writing(w, &p);
}

static void write_mappings(struct writer *w)
{
	const struct sonde__module **gone = (const struct sonde__module **)(void *)w->unloaded.p;

	if (!main_module(w))
		return;
	write_mapping(w, main_module(w));
	for (size_t i = 0; i < w->modules->n; i++)
		if (i != w->modules->main)
			write_mapping(w, &w->modules->at[i]);
	for (size_t i = 0; gone && i < w->unloaded.n / sizeof(*gone); i++)
		write_mapping(w, gone[i]);
}

static void write_location(struct writer *w, uint32_t id, const struct location *l)
{
	struct pbw p = begin_writing(w, MESSAGE);
	size_t mark = pbw_begin(&p, PROFILE_LOCATION), line;

	pbw_opt(&p, LOCATION_ID, id);
	pbw_opt(&p, LOCATION_MAPPING, l->module);
	pbw_opt(&p, LOCATION_ADDRESS, l->address);
	if (l->function) {
		line = pbw_begin(&p, LOCATION_LINE);
		pbw_opt(&p, LINE_FUNCTION, l->function);
		pbw_opt(&p, LINE_LINE, l->line);
		pbw_end(&p, line);
	}
	pbw_end(&p, mark);
	end_writing(w, &p);
}

static void write_function(struct writer *w, uint32_t id, const struct function *f)
{
	struct pbw p = begin_writing(w, MESSAGE);
	size_t mark = pbw_begin(&p, PROFILE_FUNCTION);

	/* Equal names tell the reader to demangle. */
	pbw_opt(&p, FUNCTION_ID, id);
	pbw_opt(&p, FUNCTION_NAME, f->name);
	pbw_opt(&p, FUNCTION_SYSTEM_NAME, f->name);
	pbw_opt(&p, FUNCTION_FILE, f->file);
	pbw_opt(&p, FUNCTION_START, f->start_line);
	pbw_end(&p, mark);
	end_writing(w, &p);
}

static void write_places(struct writer *w)
{
	const struct location *l = (const struct location *)(void *)w->locations.p;
	const struct function *f = (const struct function *)(void *)w->functions.p;

	for (size_t i = 0; i < w->locations.n / sizeof(*l); i++)
		write_location(w, (uint32_t)i + 1, &l[i]);
	for (size_t i = 0; i < w->functions.n / sizeof(*f); i++)
		write_function(w, (uint32_t)i + 1, &f[i]);
}

static void write_number(struct writer *w, uint32_t field, uint64_t v)
{
	struct pbw p = begin_writing(w, PBW_NUMBER_MAX);

	pbw_opt(&p, field, v);
	end_writing(w, &p);
}

static void write_head(struct writer *w)
{
	const struct sonde__output_head *h = &w->o->head;
	const uint32_t *comments = (const uint32_t *)(void *)w->o->comments.p;

	write_number(w, PROFILE_TIME, h->time);
	write_number(w, PROFILE_DURATION, h->duration);
	if (h->period) {
		write_type(w, PROFILE_PERIOD_TYPE, &h->period_type);
		write_number(w, PROFILE_PERIOD, (uint64_t)h->period);
	}
	for (size_t i = 0; i < w->o->comments.n / sizeof(*comments); i++)
		write_number(w, PROFILE_COMMENT, comments[i]);
	if (h->default_type)
		write_number(w, PROFILE_DEFAULT_TYPE, sonde__output_string(w->o, h->default_type));
}

static void write_strings(struct writer *w)
{
	size_t n = w->o->strings.n / sizeof(struct text);

	for (size_t i = 0; i < n; i++) {
		const struct text *t = sonde__output_text(w->o, (uint32_t)i);
		struct pbw p = begin_writing(w, t->n + PBW_NUMBER_MAX);

		pbw_bytes(&p, PROFILE_STRING, w->o->bytes.p + t->at, t->n);
		end_writing(w, &p);
	}
}

static bool open_writer(struct writer *w, struct sonde__output *o, size_t nstacks)
{
	*w = (struct writer){ .o = o, .modules = sonde__modules() };
	w->places = sonde__map(PLACES * sizeof(*w->places));
	w->stacks = nstacks ? sonde__map(nstacks * sizeof(*w->stacks)) : NULL;
	w->nstacks = w->stacks ? nstacks : 0;
	return w->places != NULL;
}

static void close_writer(struct writer *w)
{
	sonde__buf_release(&w->out);
	sonde__unmap(w->places, PLACES * sizeof(*w->places));
	sonde__unmap(w->stacks, w->nstacks * sizeof(*w->stacks));
	sonde__buf_release(&w->locations);
	sonde__buf_release(&w->functions);
	sonde__buf_release(&w->unloaded);
	sonde__index_release(&w->by_address);
	sonde__index_release(&w->by_function);
	sonde__names_close();
}

static bool is_complete(const struct writer *w)
{
	return !w->out.full && !w->locations.full && !w->functions.full;
}

static void write_types(struct writer *w)
{
	for (size_t i = 0; i < w->o->head.ntypes; i++)
		write_type(w, PROFILE_SAMPLE_TYPE, &w->o->head.types[i]);
}

/* What comes behind the samples. */
static void write_rest(struct writer *w)
{
	char line[80];

	if (w->o->left_out) {
		sonde__format(line, sizeof(line), "sonde: no memory for %llu samples",
			      (unsigned long long)w->o->left_out);
		sonde__output_comment(w->o, line);
	}
	find_lines(w);
	write_mappings(w);
	write_places(w);
	write_head(w);
	write_strings(w);
}

bool sonde__stream_open(struct sonde__output *o)
{
	struct writer *w = sonde__map(sizeof(*w));

	o->stream = w;
	/* Pieces that were given away cannot be copied from: stacks are written anew. */
	if (!w || !open_writer(w, o, 0))
		return false;
	write_types(w);
	return true;
}

void sonde__stream_sample(struct sonde__output *o, const struct sample *s)
{
	write_sample(o->stream, s);
}

void sonde__stream_close(struct sonde__output *o)
{
	if (!o->stream)
		return;
	close_writer(o->stream);
	sonde__unmap(o->stream, sizeof(*o->stream));
	o->stream = NULL;
}

bool sonde__output_drain(struct sonde__output *o)
{
	struct writer *w = o->stream;

	write_rest(w);
	if (!w->out.full)
		flush(w);
	return is_complete(w);
}

uint8_t *sonde__output_finish(struct sonde__output *o, size_t *n, size_t *mapped)
{
	struct writer w;
	uint8_t *bytes = NULL;
	bool open = open_writer(&w, o, sonde__stack_count() + 1);

	if (open) {
		write_types(&w);
		for (size_t i = 0; i < o->samples.n / sizeof(struct sample); i++)
			write_sample(&w, sonde__output_sample(o, i));
		write_rest(&w);
	}
	if (open && is_complete(&w))
		bytes = sonde__gzip(w.out.p, w.out.n, n, mapped);
	/* Go compresses differences with another level, and says so in the header. */
	if (bytes && o->difference && *n > 8)
		bytes[8] = 0;
	close_writer(&w);
	return bytes;
}
