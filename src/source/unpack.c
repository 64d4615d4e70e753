/*
 * unpack.c - compressed bytes in, plain bytes out
 *
 * Neither gzip nor zstd says reliably how much comes out.  So instead of guessing and trying
 * again, we reserve as much address space as could ever come out, decompress into it in one
 * go, and give back what was not used.  Address space costs nothing until it is written to.  Only
 * where little is promised, that is tried first: memory from the heap has been cleared already.
 *
 * The gzip framing is read here, the way Go reads it, because what Go accepts and how it
 * words a refusal is what the user sees; libdeflate only inflates.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "source/unpack.h"

#include "base/err.h"
#include "base/file.h"
#include "base/notify.h"
#include "source/steps.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
	HUGE_PAGE = 2 << 20,
	PAGE = 4096,
	PROGRESS_FROM = 64 << 20, /* less is done before one has read the line */
	WATCH_FROM = 1 << 20,     /* less is done before another core has begun */
	PASS_FROM = 1 << 20,      /* less is not worth a call of the system */
	HEAP_MAX = 8 << 20,
	MEMBER_HEADER = 10,
	MEMBER_TRAILER = 8,
	NAME_MAX_BYTES = 512, /* Go's limit on a member's name and comment */
};

/* Where the plain bytes go: room for 'cap' bytes, of which 'n' are written. */
struct sink {
	char *p;
	size_t n, cap;
	size_t bound; /* what we wanted 'cap' to be */
	bool heap;    /* 'p' is from malloc(): the promise was small */
	size_t size;  /* of the mapping: 'cap' in whole pages */

	struct unpack_watcher *watcher; /* or NULL */
	size_t expected;
	bool watched; /* the watcher has been called */

	const struct file_bytes *from; /* the file, and how much of it takes no memory any more */
	size_t member, passed;         /* where the member is that is being read */
};

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * Huge pages save most of the faults of a large result.  Only the part that 'expected' fills
 * gets them, so that a wrong guess costs nothing.
 */
static void use_huge_pages(struct sink *s, size_t expected)
{
	size_t head = round_up((uintptr_t)s->p, HUGE_PAGE) - (uintptr_t)s->p;

	if (expected > s->cap || expected < head + HUGE_PAGE)
		return;
	(void)madvise(s->p + head, (expected - head) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
}

/* Room for at most 'bound' bytes, or as much as the system grants. */
static int reserve(struct sink *s, size_t bound, size_t expected, struct err *err)
{
	size_t size = round_up(bound ? bound : 1, PAGE);

	s->p = map(size);
	while (!s->p && size > PAGE) {
		size = size / 2 / PAGE * PAGE;
		s->p = map(size);
	}
	if (!s->p)
		return err_set(err, -ENOMEM, "decompressing profile: out of memory");
	s->size = size;
	s->bound = bound;
	s->cap = size < bound ? size : bound;
	s->expected = expected;
	use_huge_pages(s, expected);
	return 0;
}

/* Room for what was promised, and not a byte more. */
static bool borrow(struct sink *s, size_t promised)
{
	if (promised == 0 || promised > HEAP_MAX)
		return false;
	s->p = malloc(promised);
	s->cap = promised;
	s->heap = s->p != NULL;
	return s->heap;
}

static void release(struct sink *s)
{
	if (s->heap)
		free(s->p);
	else if (s->p)
		munmap(s->p, s->size);
	s->p = NULL;
	s->n = 0;
	s->heap = false;
}

/* Gives back what was not written. */
static struct file_bytes settle(struct sink *s)
{
	size_t used = round_up(s->n, PAGE);

	if (s->heap)
		return (struct file_bytes){ .p = s->p, .n = s->n };

	if (used < s->size)
		munmap(s->p + used, s->size - used);
	return (struct file_bytes){ .p = used ? s->p : NULL, .n = s->n, .mapped = used > 0 };
}

static int broken(struct err *err, const char *why)
{
	return err_set(err, -EBADMSG, "decompressing profile: %s", why);
}

/* The sink is full: because the system gave less than we wanted, or because of 'max'. */
static int too_large(const struct sink *s, size_t max, struct err *err)
{
	if (s->cap < s->bound)
		return err_set(err, -ENOMEM, "decompressing profile: out of memory");
	return err_set(err, -EFBIG, "decompressing profile: content is larger than %zu bytes", max);
}

static uint32_t le32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return u[0] | u[1] << 8 | u[2] << 16 | (uint32_t)u[3] << 24;
}

/* The bytes of a gzip file that have not been read yet. */
struct input {
	const char *p, *end;
};

static size_t left(const struct input *in)
{
	return (size_t)(in->end - in->p);
}

/* Steps over a name or comment and its NUL byte. */
static int skip_name(struct input *in, struct err *err)
{
	size_t most = left(in) < NAME_MAX_BYTES ? left(in) : NAME_MAX_BYTES;
	const char *nul = memchr(in->p, 0, most);

	if (nul)
		in->p = nul + 1;
	else
		return broken(err,
			      most < NAME_MAX_BYTES ? "unexpected EOF" : "gzip: invalid header");
	return 0;
}

static int skip_extra(struct input *in, struct err *err)
{
	size_t n;

	if (left(in) < 2)
		return broken(err, "unexpected EOF");
	n = 2 + ((unsigned char)in->p[0] | (size_t)(unsigned char)in->p[1] << 8);
	if (left(in) < n)
		return broken(err, "unexpected EOF");
	in->p += n;
	return 0;
}

static int check_header_sum(struct input *in, const char *start, struct err *err)
{
	uint32_t sum = libdeflate_crc32(0, start, (size_t)(in->p - start));

	if (left(in) < 2)
		return broken(err, "unexpected EOF");
	if ((unsigned char)in->p[0] != (sum & 0xff) || (unsigned char)in->p[1] != (sum >> 8 & 0xff))
		return broken(err, "gzip: invalid header");
	in->p += 2;
	return 0;
}

/* Steps over the header of a member (RFC 1952, 2.3). */
static int skip_header(struct input *in, struct err *err)
{
	enum { HEADER_SUM = 2, EXTRA = 4, NAME = 8, COMMENT = 16 };
	const char *start = in->p;
	unsigned flags;
	int rc = 0;

	if (left(in) < MEMBER_HEADER)
		return broken(err, "unexpected EOF");
	if (memcmp(start, "\x1f\x8b\x08", 3) != 0)
		return broken(err, "gzip: invalid header");
	flags = (unsigned char)start[3];
	in->p += MEMBER_HEADER;
	if (flags & EXTRA)
		rc = skip_extra(in, err);
	if (rc == 0 && (flags & NAME))
		rc = skip_name(in, err);
	if (rc == 0 && (flags & COMMENT))
		rc = skip_name(in, err);
	if (rc == 0 && (flags & HEADER_SUM))
		rc = check_header_sum(in, start, err);
	return rc;
}

/*
 * libdeflate does not say why it refused.  zlib does, in several times the time, but only
 * bad input comes here.
 */
static int explain_deflate(const struct input *in, struct err *err)
{
	unsigned char scrap[32 << 10];
	z_stream z = { .next_in = (Bytef *)(uintptr_t)in->p };
	size_t rest = left(in);
	int rc = inflateInit2(&z, -MAX_WBITS);

	if (rc != Z_OK)
		return broken(err, "flate: corrupt input");
	while (rc == Z_OK) {
		if (z.avail_in == 0) {
			z.avail_in = rest < 1 << 30 ? (uInt)rest : 1 << 30;
			rest -= z.avail_in;
		}
		z.next_out = scrap;
		z.avail_out = sizeof(scrap);
		rc = inflate(&z, Z_NO_FLUSH);
	}
	inflateEnd(&z);
	if (rc == Z_BUF_ERROR)
		return broken(err, "unexpected EOF");
	return err_set(err, -EBADMSG,
		       "decompressing profile: flate: corrupt input before offset %lu", z.total_in);
}

static void tell_watcher(void *ctx, size_t n, size_t used)
{
	struct sink *s = ctx;

	if (s->member + used >= s->passed + PASS_FROM) {
		file_bytes_pass(s->from, s->passed, s->member + used);
		s->passed = s->member + used;
	}
	s->watched = true;
	s->watcher->grown(s->watcher, s->p, s->n + n, s->expected);
}

/* Inflates what is at 'in', in steps where somebody waits for them. */
static enum libdeflate_result inflate_member(struct libdeflate_decompressor *d,
					     const struct input *in, struct sink *s, size_t *used,
					     size_t *got)
{
	struct steps steps = { .in = in->p,
			       .nin = left(in),
			       .out = s->p + s->n,
			       .cap = s->cap - s->n,
			       .grown = tell_watcher,
			       .ctx = s };
	int rc;

	/* What is on the heap may have to move. */
	if (!s->watcher || s->heap || left(in) < WATCH_FROM || !steps_available())
		return libdeflate_deflate_decompress_ex(d, in->p, left(in), s->p + s->n,
							s->cap - s->n, used, got);
	s->member = (size_t)(in->p - s->from->p);
	rc = steps_inflate(&steps);
	*used = steps.used;
	*got = steps.got;
	return rc == 0         ? LIBDEFLATE_SUCCESS
	       : rc == -ENOSPC ? LIBDEFLATE_INSUFFICIENT_SPACE
			       : LIBDEFLATE_BAD_DATA;
}

static int gunzip_member(struct libdeflate_decompressor *d, struct input *in, struct sink *s,
			 size_t max, struct err *err)
{
	enum libdeflate_result result;
	size_t used, got;
	uint32_t sum;
	int rc = skip_header(in, err);

	if (rc)
		return rc;
	result = inflate_member(d, in, s, &used, &got);
	if (result == LIBDEFLATE_INSUFFICIENT_SPACE && s->heap)
		return -EAGAIN;
	/* More than could come out came out: libdeflate reads zeros behind a truncated input. */
	if (result == LIBDEFLATE_INSUFFICIENT_SPACE && (s->cap < s->bound || s->bound == max))
		return too_large(s, max, err);
	if (result != LIBDEFLATE_SUCCESS)
		return explain_deflate(in, err);
	in->p += used;
	if (left(in) < MEMBER_TRAILER)
		return broken(err, "unexpected EOF");
	sum = libdeflate_crc32(0, s->p + s->n, got);
	if (sum != le32(in->p) || (uint32_t)got != le32(in->p + 4))
		return broken(err, "gzip: invalid checksum");
	in->p += MEMBER_TRAILER;
	s->n += got;
	return 0;
}

static int gunzip_members(const struct file_bytes *b, size_t max, struct sink *s, struct notify *n,
			  struct err *err)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	struct input in = { b->p, b->p + b->n };
	int rc = 0;

	if (!d)
		return err_set(err, -ENOMEM, "decompressing profile: out of memory");
	while (rc == 0 && in.p < in.end) {
		if (b->n >= PROGRESS_FROM)
			notify_progress(n, "unpacking", (uint64_t)(in.p - b->p), b->n, "bytes");
		rc = gunzip_member(d, &in, s, max, err);
	}
	libdeflate_free_decompressor(d);
	return rc;
}

static int gunzip(const struct file_bytes *b, size_t max, struct sink *s, struct notify *n,
		  struct err *err)
{
	/* Two bits of deflate are at least needed for the 258 bytes of the longest match. */
	size_t bound = b->n < (SIZE_MAX - 64) / 1032 ? b->n * 1032 + 64 : SIZE_MAX;
	/* The last four bytes say how much the last member holds, if they can be trusted. */
	size_t expected = b->n >= MEMBER_HEADER + MEMBER_TRAILER ? le32(b->p + b->n - 4) : 0;
	int rc = -EAGAIN;

	bound = bound < max ? bound : max;
	if (expected <= bound && borrow(s, expected))
		rc = gunzip_members(b, max, s, n, err);
	if (rc != -EAGAIN)
		return rc;
	release(s);
	rc = reserve(s, bound, expected, err);
	return rc ? rc : gunzip_members(b, max, s, n, err);
}

static int explain_zstd(size_t code, const struct sink *s, size_t max, struct err *err)
{
	switch (ZSTD_getErrorCode(code)) {
	case ZSTD_error_dstSize_tooSmall:
		return too_large(s, max, err);
	case ZSTD_error_srcSize_wrong:
		return broken(err, "unexpected EOF");
	case ZSTD_error_checksum_wrong:
		return broken(err, "zstd: invalid checksum");
	case ZSTD_error_memory_allocation:
		return err_set(err, -ENOMEM, "decompressing profile: out of memory");
	default:
		return err_set(err, -EBADMSG, "decompressing profile: zstd: %s",
			       ZSTD_getErrorName(code));
	}
}

/* In one go, so that the output is the window: however large a frame says that is. */
static int unzstd(const struct file_bytes *b, size_t max, struct sink *s, struct notify *n,
		  struct err *err)
{
	unsigned long long says = ZSTD_getFrameContentSize(b->p, b->n);
	size_t got;
	int rc = reserve(s, max, says < max ? (size_t)says : 0, err);

	if (rc)
		return rc;
	if (b->n >= PROGRESS_FROM)
		notify_progress(n, "unpacking", 0, b->n, "bytes");
	got = ZSTD_decompress(s->p, s->cap, b->p, b->n);
	if (ZSTD_isError(got))
		return explain_zstd(got, s, max, err);
	s->n = got;
	return 0;
}

int unpack(struct file_bytes *b, size_t max, struct unpack_watcher *w, struct notify *n,
	   struct err *err)
{
	struct sink s = { .watcher = w, .from = b };
	int rc;

	if (b->n >= 2 && memcmp(b->p, "\x1f\x8b", 2) == 0)
		rc = gunzip(b, max, &s, n, err);
	else if (b->n >= 4 && memcmp(b->p, "\x28\xb5\x2f\xfd", 4) == 0)
		rc = unzstd(b, max, &s, n, err);
	else
		return 0;
	if (b->n >= PROGRESS_FROM)
		notify_progress(n, NULL, 0, 0, NULL);
	if (rc == 0) /* not everything that is packed has a checksum */
		rc = file_bytes_check(b, "profile", err);
	if (rc) {
		if (s.watched)
			w->lost(w);
		release(&s);
		return rc;
	}
	file_bytes_release(b);
	*b = settle(&s);
	return 0;
}
