/*
 * modules.c - which binaries are in the host's memory, and their unwind tables
 *
 * Readers may be signal handlers in any thread and cannot be waited for, so what they may be
 * reading is never unmapped.  It is bounded all the same: tables belong to files and are kept once
 * for each; snapshots that were replaced a while ago are used again, for another snapshot, so that
 * a reader that slept for that long may see a mix of the two but nothing that is not a module.
 *
 * The dynamic linker's lock is held only while its list is read.  For new files that means copying
 * .eh_frame; its programs run afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/eh-frame.h"
#include "runtime/eh-section.h"
#include "runtime/fork.h"
#include "runtime/os.h"
#include "runtime/rule-cache.h"
#include "runtime/runtime.h"
#include "runtime/unwind.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

enum {
	PAGE = 4096,
	PATH_ROOM = 4096,
	BUILD_ID_MAX = 64,
	CHUNK = 64 << 10,
	FILES_MAX = 8192,
	SNAPSHOTS_MAX = 256,
	UNLOADED_MAX = 1024,
	ROWS_MAX = 16 << 20, /* of all tables: 128 MB */
	TEXTS_MAX = 8 << 20, /* bytes of paths and records */
};
#define EH_FRAME_MAX  (256ull << 20)
#define RECYCLE_AFTER 10000000000ull /* ns */

/* A file, once: loading it again, at another place too, finds its table. */
struct binary {
	struct binary *next;
	const char *path;
	const uint8_t *build_id;
	size_t nbuild_id;
	uint64_t sum; /* of .eh_frame, where there is no build id */
	struct sonde__table table;
	/* until the table is made: */
	struct sonde__eh_frame frame;
	uint64_t bias;
	uint8_t *copy;
	size_t copied;
	bool in_file; /* .eh_frame is to be read from there */
};

struct snapshot {
	struct sonde__modules m; /* first: readers have a pointer to this */
	struct sonde__module *at;
	size_t room;
	uint64_t retired; /* when it was replaced */
};

/* Where things are in one binary, while it is looked at. */
struct seen {
	const struct dl_phdr_info *info;
	uint64_t bias;
	const ElfW(Phdr) * header; /* PT_GNU_EH_FRAME */
	uint64_t low, high;        /* of all executable segments, without bias */
	const uint8_t *build_id;
	size_t nbuild_id;
	const uint8_t *eh_frame;
	size_t neh_frame;
};

struct gathering {
	struct snapshot *to;
	uint64_t main; /* where the program itself starts */
	bool has_vdso, failed;
};

_Atomic(uint64_t) sonde__rule_cache[CACHE_SIZE];

static _Atomic(struct snapshot *) current;
static struct sonde__lock refreshing; /* all of the below but 'unloaded' */
static struct sonde__lock iterating;  /* the dynamic linker's lock is ours */
static struct snapshot snapshots[SNAPSHOTS_MAX];
static struct binary *binaries;
static size_t nbinaries, nrows, ntext;
static char *chunk;
static size_t chunk_left;
static unsigned long long seen_adds, seen_subs;
static uint64_t generation;
static struct sonde__module unloaded[UNLOADED_MAX];
static atomic_size_t nunloaded; /* all that ever were */

/* Small things that are kept for ever; NULL when there are too many. */
static void *keep(size_t n)
{
	void *p;

	n = (n + 15) & ~(size_t)15;
	if (n > CHUNK || ntext + n > TEXTS_MAX)
		return NULL;
	if (n > chunk_left) {
		p = sonde__map(CHUNK);
		if (p == NULL)
			return NULL;
		chunk = p;
		chunk_left = CHUNK;
	}
	p = chunk;
	chunk += n;
	chunk_left -= n;
	ntext += n;
	return p;
}

static const void *keep_copy(const void *from, size_t n)
{
	void *p = keep(n);

	return p == NULL ? NULL : memcpy(p, from, n);
}

/* FNV-1a, eight bytes at a time. */
static uint64_t checksum(const uint8_t *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u ^ n;

	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t v;

		memcpy(&v, p + i, 8);
		h = (h ^ v) * 0x100000001b3u;
		h ^= h >> 29;
	}
	return h;
}

/*
 * The bytes at 'vaddr' that are loaded from one readable segment: '*n' of them at least on entry,
 * all up to the end of the segment on return.
 */
static const uint8_t *loaded_bytes(const struct seen *s, uint64_t vaddr, uint64_t *n)
{
	for (size_t i = 0; i < s->info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &s->info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || (p->p_flags & PF_R) == 0 || vaddr < p->p_vaddr ||
		    vaddr - p->p_vaddr > p->p_filesz)
			continue;
		if (p->p_filesz - (vaddr - p->p_vaddr) < *n)
			continue;
		*n = p->p_filesz - (vaddr - p->p_vaddr);
		return (const uint8_t *)(uintptr_t)(s->bias + vaddr); /* NOLINT */
	}
	return NULL;
}

static uint64_t align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

static void find_build_id(struct seen *s, const ElfW(Phdr) * note)
{
	uint64_t n = note->p_filesz, at = 0, align = note->p_align == 8 ? 8 : 4;
	const uint8_t *p = loaded_bytes(s, note->p_vaddr, &n);
	ElfW(Nhdr) h;

	if (p == NULL)
		return;
	n = note->p_filesz;
	while (s->nbuild_id == 0 && at + sizeof(h) <= n) {
		uint64_t name = at + sizeof(h), desc;

		memcpy(&h, p + at, sizeof(h));
		desc = name + align_up(h.n_namesz, align);
		if (desc > n || h.n_descsz > n - desc)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && h.n_descsz > 0 &&
		    memcmp(p + name, "GNU", 4) == 0) {
			s->build_id = p + desc;
			s->nbuild_id = h.n_descsz < BUILD_ID_MAX ? h.n_descsz : BUILD_ID_MAX;
		}
		at = desc + align_up(h.n_descsz, align);
	}
}

static void find_eh_frame(struct seen *s)
{
	uint64_t n, address;
	const uint8_t *hdr;

	if (s->header == NULL)
		return;
	n = s->header->p_filesz;
	hdr = loaded_bytes(s, s->header->p_vaddr, &n);
	if (hdr == NULL || !sonde__eh_frame_find(hdr, n, (uintptr_t)hdr, &address))
		return;
	n = 4;
	s->eh_frame = loaded_bytes(s, address - s->bias, &n);
	if (s->eh_frame != NULL && n <= EH_FRAME_MAX)
		s->neh_frame = sonde__eh_frame_length(s->eh_frame, n);
}

static void look_at(struct seen *s, const struct dl_phdr_info *info)
{
	*s = (struct seen){ .info = info, .bias = info->dlpi_addr, .low = ~0ull };
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_GNU_EH_FRAME)
			s->header = p;
		if (p->p_type == PT_NOTE && s->nbuild_id == 0)
			find_build_id(s, p);
		if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0)
			continue;
		if (p->p_vaddr < s->low)
			s->low = p->p_vaddr;
		if (p->p_vaddr + p->p_memsz > s->high)
			s->high = p->p_vaddr + p->p_memsz;
	}
	find_eh_frame(s);
}

static bool is_binary(const struct binary *b, const struct seen *s, const char *path, uint64_t sum)
{
	return b->nbuild_id == s->nbuild_id && b->sum == sum &&
	       (b->nbuild_id == 0 || memcmp(b->build_id, s->build_id, b->nbuild_id) == 0) &&
	       strcmp(b->path, path) == 0;
}

/* Copies what the table will be made from. */
static void copy_eh_frame(struct binary *b, const struct seen *s)
{
	b->table.base = s->low;
	b->bias = s->bias;
	b->in_file = s->header == NULL && b->path[0] != '\0';
	b->copy = s->neh_frame > 0 ? sonde__map(s->neh_frame) : NULL;
	if (b->copy == NULL)
		return;
	b->copied = s->neh_frame;
	memcpy(b->copy, s->eh_frame, s->neh_frame);
	b->frame.address = (uintptr_t)s->eh_frame;
}

static struct binary *find_binary(const struct seen *s, const char *path)
{
	uint64_t sum = s->nbuild_id == 0 ? checksum(s->eh_frame, s->neh_frame) : 0;
	struct binary *b;

	for (b = binaries; b != NULL; b = b->next)
		if (is_binary(b, s, path, sum))
			return b;
	b = nbinaries < FILES_MAX ? keep(sizeof(*b)) : NULL;
	if (b == NULL)
		return NULL;
	*b = (struct binary){ .next = binaries, .nbuild_id = s->nbuild_id, .sum = sum };
	b->path = keep_copy(path, strlen(path) + 1);
	b->build_id =
		keep_copy(s->build_id != NULL ? s->build_id : (const uint8_t *)"", s->nbuild_id);
	if (b->path == NULL || b->build_id == NULL)
		return NULL;
	b->frame.low = s->bias + s->low;
	b->frame.high = s->bias + s->high;
	copy_eh_frame(b, s);
	binaries = b;
	nbinaries++;
	return b;
}

/* Adds to a snapshot nobody reads yet. */
static bool add_module(struct snapshot *to, const struct sonde__module *m)
{
	if (to->m.n == to->room) {
		size_t room = to->room > 0 ? to->room * 2 : PAGE / sizeof(*m);
		struct sonde__module *at = sonde__map(room * sizeof(*m));

		if (at == NULL)
			return false;
		if (to->m.n > 0)
			memcpy(at, to->at, to->m.n * sizeof(*m));
		/* The old one stays: somebody may still be reading it. */
		to->at = at;
		to->room = room;
		atomic_thread_fence(memory_order_release);
		to->m.at = at;
	}
	to->at[to->m.n++] = *m;
	return true;
}

/* One module for each executable segment; nearly always there is one. */
static void add_segments(struct gathering *g, const struct seen *s, const struct binary *b)
{
	for (size_t i = 0; i < s->info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &s->info->dlpi_phdr[i];
		uint64_t in_page = p->p_vaddr % PAGE;
		struct sonde__module m = {
			.start = s->bias + p->p_vaddr - in_page,
			.end = align_up(s->bias + p->p_vaddr + p->p_memsz, PAGE),
			.offset = p->p_offset - in_page,
			.bias = s->bias,
			.path = b->path,
			.build_id = b->build_id,
			.nbuild_id = b->nbuild_id,
			.table = &b->table,
		};

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0 && m.start < m.end)
			g->failed |= !add_module(g->to, &m);
	}
}

/* The program's own name is not in the dynamic linker's list. */
static void read_program_path(char *to, size_t room)
{
	static const char gone[] = " (deleted)";
	long n = sonde__syscall(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)to,
				(long)room - 1, 0, 0);

	n = n < 0 ? 0 : n;
	to[n] = '\0';
	if ((size_t)n >= sizeof(gone) && strcmp(to + n - (sizeof(gone) - 1), gone) == 0)
		to[n - (long)(sizeof(gone) - 1)] = '\0';
}

static int gather(struct dl_phdr_info *info, size_t size, void *ctx)
{
	static char program[PATH_ROOM]; /* under 'refreshing' */
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	struct gathering *g = ctx;
	const char *path = info->dlpi_name;
	bool first = g->to->m.n == 0, is_vdso;
	const struct binary *b;
	struct seen s;

	(void)size;
	look_at(&s, info);
	if (s.low >= s.high)
		return 0; /* data only */
	is_vdso = vdso != 0 && vdso == s.bias + (s.low & ~(uint64_t)(PAGE - 1));
	g->has_vdso |= is_vdso;
	if (is_vdso) {
		path = "";
	} else if (path == NULL || path[0] == '\0') {
		read_program_path(program, sizeof(program));
		path = program;
	}
	b = find_binary(&s, path);
	if (b == NULL) {
		g->failed = true;
		return 0;
	}
	if (first)
		g->main = s.bias + s.low;
	add_segments(g, &s, b);
	return 0;
}

/* Where the dynamic linker does not list it: static programs. */
static void gather_vdso(struct gathering *g)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
	const ElfW(Ehdr) *e = (const void *)base;
	const ElfW(Phdr) * p;
	struct dl_phdr_info info = { .dlpi_name = "" };

	if (base == NULL || g->has_vdso || e->e_phentsize != sizeof(*p))
		return;
	p = (const void *)(base + e->e_phoff);
	info.dlpi_phdr = p;
	info.dlpi_phnum = e->e_phnum;
	for (size_t i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD) {
			info.dlpi_addr = (uintptr_t)base - p[i].p_vaddr;
			gather(&info, sizeof(info), g);
			return;
		}
}

static void read_from_file(struct binary *b)
{
	struct sonde__section s;

	b->in_file = false;
	if (!sonde__eh_section_read(b->path, EH_FRAME_MAX, &s))
		return;
	b->frame.address = b->bias + s.address;
	b->copied = s.n;
	b->copy = s.bytes;
}

static void make_table(struct binary *b)
{
	uint64_t base = b->table.base;
	uint8_t *copy;
	struct sonde__table t;

	if (b->in_file)
		read_from_file(b);
	copy = b->copy;
	if (copy == NULL)
		return;
	b->frame.bytes = copy;
	b->frame.n = b->copied;
	if (sonde__table_build(&t, &b->frame, ROWS_MAX - nrows) == 0) {
		t.base = base;
		b->table = t;
		nrows += t.n;
	}
	b->copy = NULL;
	sonde__unmap(copy, b->copied);
	if (nrows >= ROWS_MAX)
		sonde__say_off(SONDE__UNWIND, "the unwind tables of all libraries together are "
					      "too large; some are walked by frame pointer");
}

/* Insertion: the list is short and half sorted. */
static void sort_modules(struct sonde__module *at, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct sonde__module m = at[i];
		size_t j = i;

		for (; j > 0 && at[j - 1].start > m.start; j--)
			at[j] = at[j - 1];
		at[j] = m;
	}
}

/* One that was never used, or else was replaced longest ago. */
static struct snapshot *take_snapshot(void)
{
	struct snapshot *best = NULL, *now = atomic_load(&current);
	uint64_t old = sonde__now() - RECYCLE_AFTER;

	for (size_t i = 0; i < SNAPSHOTS_MAX; i++) {
		struct snapshot *s = &snapshots[i];

		if (s == now)
			continue;
		if (s->retired == 0 || s->retired < old)
			return s;
		if (best == NULL || s->retired < best->retired)
			best = s;
	}
	return best;
}

static const struct sonde__module *find_module(const struct sonde__modules *m, uint64_t pc)
{
	/* In this order: a snapshot that is used again has no fewer entries. */
	size_t n = __atomic_load_n(&m->n, __ATOMIC_ACQUIRE);
	const struct sonde__module *at = __atomic_load_n(&m->at, __ATOMIC_ACQUIRE);

	while (n > 0) {
		size_t half = n / 2;

		if (pc < at[half].start) {
			n = half;
		} else if (pc >= at[half].end) {
			at += half + 1;
			n -= half + 1;
		} else {
			return &at[half];
		}
	}
	return NULL;
}

/* Remembers what was in 'old' and is no more. */
static void note_unloaded(const struct sonde__modules *old, const struct sonde__modules *now)
{
	for (size_t i = 0; i < old->n; i++) {
		const struct sonde__module *m = find_module(now, old->at[i].start);

		if (m != NULL && m->start == old->at[i].start && m->table == old->at[i].table)
			continue;
		unloaded[atomic_load(&nunloaded) % UNLOADED_MAX] = old->at[i];
		atomic_fetch_add(&nunloaded, 1);
	}
}

void sonde__rules_forget(void)
{
	for (size_t i = 0; i < CACHE_SIZE; i++)
		atomic_store_explicit(&sonde__rule_cache[i], 0, memory_order_relaxed);
}

/*
 * A thread that looked up a rule in the old snapshot checks, after it has put the rule into the
 * cache, that the snapshot is still the newest: so either it takes it out again, or we do.
 */
static void publish(struct snapshot *s)
{
	struct snapshot *old = atomic_load(&current);

	atomic_store(&current, s);
	sonde__rules_forget();
	if (old != NULL) {
		note_unloaded(&old->m, &s->m);
		old->retired = sonde__now();
	}
}

static void find_main(struct sonde__modules *m, uint64_t main)
{
	for (size_t i = 0; i < m->n; i++)
		if (main >= m->at[i].start && main < m->at[i].end)
			m->main = i;
}

static bool make_snapshot(void)
{
	struct gathering g = { .to = take_snapshot() };
	struct sonde__modules *m = &g.to->m;

	m->n = 0;
	m->main = 0;
	sonde__lock(&iterating);
	dl_iterate_phdr(gather, &g);
	sonde__unlock(&iterating);
	gather_vdso(&g);
	if (m->n == 0)
		return false;
	for (struct binary *b = binaries; b != NULL; b = b->next)
		make_table(b);
	sort_modules(g.to->at, m->n);
	find_main(m, g.main);
	m->generation = ++generation;
	publish(g.to);
	return true;
}

/*
 * The dynamic linker does not look after all of its locks when the host forks, so we must not hold
 * them then.  A refresh that was under way is never finished in the child: the next one starts
 * anew.
 */
static void before_fork(void)
{
	sonde__lock(&iterating);
}

static void after_fork(void)
{
	sonde__unlock(&iterating);
}

static void after_fork_in_child(void)
{
	sonde__unlock(&iterating);
	atomic_store(&refreshing.state, 0);
}

static const struct sonde__fork_part fork_part = { before_fork, after_fork, after_fork_in_child };

struct changes {
	unsigned long long adds, subs;
};

static int read_changes(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct changes *c = ctx;

	(void)size;
	c->adds = info->dlpi_adds;
	c->subs = info->dlpi_subs;
	return 1;
}

void sonde__modules_walk(int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx)
{
	sonde__fork_join(SONDE__FORK_MODULES, &fork_part);
	sonde__lock(&iterating);
	dl_iterate_phdr(each, ctx);
	sonde__unlock(&iterating);
}

bool sonde__modules_refresh(void)
{
	struct changes c = { 0 };
	bool made = false;

	sonde__lock(&refreshing);
	sonde__lock(&iterating);
	dl_iterate_phdr(read_changes, &c);
	sonde__unlock(&iterating);
	if (atomic_load(&current) == NULL)
		sonde__fork_join(SONDE__FORK_MODULES, &fork_part);
	if (atomic_load(&current) == NULL || c.adds != seen_adds || c.subs != seen_subs) {
		seen_adds = c.adds;
		seen_subs = c.subs;
		made = make_snapshot();
	}
	sonde__unlock(&refreshing);
	return made;
}

const struct sonde__modules *sonde__modules(void)
{
	struct snapshot *s = atomic_load_explicit(&current, memory_order_acquire);

	return s == NULL ? NULL : &s->m;
}

const struct sonde__module *sonde__module_at(uint64_t pc)
{
	const struct sonde__modules *m = sonde__modules();
	const struct sonde__module *found = m != NULL ? find_module(m, pc) : NULL;
	size_t n = atomic_load(&nunloaded);
	size_t oldest = n > UNLOADED_MAX ? n - UNLOADED_MAX : 0;

	while (found == NULL && n > oldest) {
		const struct sonde__module *u = &unloaded[--n % UNLOADED_MAX];

		if (pc >= u->start && pc < u->end)
			found = u;
	}
	return found;
}

bool sonde__rule_find(uint64_t ra, uint32_t *rule)
{
	struct snapshot *s = atomic_load_explicit(&current, memory_order_acquire);
	const struct sonde__module *m = s != NULL ? find_module(&s->m, ra - 1) : NULL;
	_Atomic(uint64_t) *slot = cache_slot(ra);
	uint64_t entry;

	if (m != NULL)
		*rule = sonde__table_rule(m->table, ra - 1 - m->bias - m->table->base);
	else if (!sonde__rule_of_new(ra - 1, rule))
		return false;
	if (ra >> ADDRESS_BITS != 0)
		return true;
	entry = ra >> CACHE_BITS << RULE_BITS | *rule;
	atomic_store(slot, entry);
	if (atomic_load(&current) != s) /* see publish() */
		atomic_compare_exchange_strong(slot, &entry, 0);
	return true;
}
