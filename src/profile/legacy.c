/*
 * legacy.c - profiles in the formats that were there before profile.proto
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/legacy.h"

#include "base/err.h"
#include "profile/build.h"
#include "profile/legacy-folded.h"
#include "profile/legacy-formats.h"

#include <errno.h>

/* In the order in which the reference tries them; then ours. */
static int (*const formats[])(struct str data, struct builder *b, struct err *err) = {
	legacy_read_cpu,        legacy_read_heap, legacy_read_count,    legacy_read_threads,
	legacy_read_contention, legacy_read_java, legacy_read_jemalloc,
};

enum { MAX_TYPES = 4 };

static const char *const heap_types_known[][MAX_TYPES] = {
	{ "allocations", "size" },
	{ "objects", "space" },
	{ "inuse_objects", "inuse_space" },
	{ "alloc_objects", "alloc_space" },
	{ "alloc_objects", "alloc_space", "inuse_objects", "inuse_space" },
};

static const char *const contention_types_known[][MAX_TYPES] = {
	{ "contentions", "delay" },
};

/* Frames of the machinery that took the samples: nobody wants to see them. */
static const char drop_alloc[] =
	"calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|pvalloc|valloc|realloc"
	"|tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|tc_free|tc_memalign|tc_posix_memalign"
	"|tc_pvalloc|tc_valloc|tc_realloc|tc_new|tc_delete|tc_newarray|tc_deletearray"
	"|tc_new_nothrow|tc_newarray_nothrow"
	"|malloc_zone_malloc|malloc_zone_calloc|malloc_zone_valloc|malloc_zone_realloc"
	"|malloc_zone_memalign|malloc_zone_free"
	"|runtime\\..*"
	"|BaseArena::.*|(::)?do_malloc_no_errno|(::)?do_malloc_pages|(::)?do_malloc"
	"|DoSampledAllocation|MallocedMemBlock::MallocedMemBlock|_M_allocate"
	"|__builtin_(vec_)?delete|__builtin_(vec_)?new|__gnu_cxx::new_allocator::allocate"
	"|__libc_malloc|__malloc_alloc_template::allocate|allocate|cpp_alloc"
	"|operator new(\\[\\])?|simple_alloc::allocate";

static const char keep_alloc[] = "runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*";

static const char drop_cpu[] = "ProfileData::Add|ProfileData::prof_handler"
			       "|CpuProfiler::prof_handler|__pthread_sighandler|__restore";

static const char drop_lock[] =
	"RecordLockProfileData|(base::)?RecordLockProfileData.*"
	"|(base::)?SubmitMutexProfileData.*|(base::)?SubmitSpinLockProfileData.*"
	"|(base::Mutex::)?AwaitCommon.*|(base::Mutex::)?Unlock.*|(base::Mutex::)?UnlockSlow.*"
	"|(base::Mutex::)?ReaderUnlock.*|(base::MutexLock::)?~MutexLock.*"
	"|(Mutex::)?AwaitCommon.*|(Mutex::)?Unlock.*|(Mutex::)?UnlockSlow.*"
	"|(Mutex::)?ReaderUnlock.*|(MutexLock::)?~MutexLock.*"
	"|(SpinLock::)?Unlock.*|(SpinLock::)?SlowUnlock.*|(SpinLockHolder::)?~SpinLockHolder.*";

static bool has_types(const struct profile *p, const char *const *names)
{
	uint32_t n = 0;

	while (n < MAX_TYPES && names[n])
		n++;
	if (p->ntypes != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!str_is(profile_str(p, p->types[i].type), names[i]))
			return false;
	}
	return true;
}

static bool is_heap(const struct profile *p)
{
	for (size_t i = 0; i < sizeof(heap_types_known) / sizeof(heap_types_known[0]); i++) {
		if (has_types(p, heap_types_known[i]))
			return true;
	}
	return false;
}

static void set_frame_rules(struct profile *p)
{
	if (is_heap(p)) {
		p->drop_frames = profile_intern(p, str_of(drop_alloc));
		p->keep_frames = profile_intern(p, str_of(keep_alloc));
	} else if (has_types(p, contention_types_known[0])) {
		p->drop_frames = profile_intern(p, str_of(drop_lock));
	} else {
		p->drop_frames = profile_intern(p, str_of(drop_cpu));
	}
}

/*
 * Stacks may be longer than a line that the reference reads, so a line that is too long for
 * it may still be one of those.
 */
static int try_folded(struct str data, int failed, struct profile **out, struct err *err)
{
	struct err why;
	int rc = folded_parse(data, out, &why);

	if (rc == -ENOTSUP)
		return failed;
	return rc ? err_set(err, rc, "%s", why.msg) : 0;
}

int legacy_parse(struct str data, struct profile **out, struct err *err)
{
	int rc = -ENOTSUP;

	if (data.n == 0)
		data = STR("");
	for (size_t i = 0; rc == -ENOTSUP && i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct builder b;

		builder_init(&b);
		rc = formats[i](data, &b, err);
		if (rc == 0) {
			*out = builder_finish(&b);
			set_frame_rules(*out);
		}
		builder_release(&b);
	}
	if (rc == -ENOTSUP || rc == -EMSGSIZE)
		rc = try_folded(data, rc, out, err);
	return rc;
}
