/*
 * resolve.h - the frames of addresses in one binary, from the cache or from the binary
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_RESOLVE_H
#define SYMBOL_RESOLVE_H

#include "base/err.h"
#include "base/file.h"
#include "base/out.h"
#include "base/par.h"
#include "symbol/frame-table.h"

#include <stdatomic.h>
#include <stdbool.h>

struct debug_server;
struct elf_file;
struct symbolize_options;

struct resolver {
	const struct symbolize_options *options;
	struct debug_server *server; /* or NULL */
	bool fast;                   /* symbol tables only */
	atomic_bool warned;          /* private: that the cache cannot be written */
};

struct resolved {
	struct frame_table table;  /* has all addresses, and perhaps more; or none at all */
	struct resolver *resolver; /* private, as all that follows */
	struct file_bytes cached;  /* where the table is: here, or in 'made' */
	struct out made;
	char *name; /* in the cache, or NULL */
	struct par_task storing;
	int stored;     /* what became of that, */
	struct err why; /* and why */
};

/*
 * resolve() finds the frames of 'n' addresses in 'f', in ascending order and each once.  Any
 * number of threads may be in here for different files.  Returns 0 or a negative errno; what is
 * wrong with the file is in 'err' in both cases, because some of it may be right.  Release in both
 * cases with resolved_release(), which waits until what was found is in the cache, and says so if
 * it cannot be kept there.  All zero is fine for that, too.
 */
int resolve(struct resolver *r, struct elf_file *f, const uint64_t *addresses, size_t n,
	    struct resolved *out, struct err *err);
void resolved_release(struct resolved *r);

/* The same, but the bytes of the table become the caller's, for file_bytes_release(). */
struct file_bytes resolved_take(struct resolved *r);

#endif /* SYMBOL_RESOLVE_H */
