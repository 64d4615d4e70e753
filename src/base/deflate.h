/*
 * deflate.h - gzip, step by step
 *
 * libdeflate takes everything at once, so that what is large is in memory twice.  From some
 * megabytes on ISA-L takes over, where this machine has it: it is three times as fast, a few
 * percent less tight, and needs no more than it is given.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_DEFLATE_H
#define BASE_DEFLATE_H

#include <stddef.h>

struct deflater;
struct out;

/*
 * What is put into one comes out at 'to', as one gzip stream, which is whole after deflater_end().
 * Failures are those of 'to', which must outlive it.
 */
struct deflater *deflater_new(struct out *to);
void deflater_put(struct deflater *d, const void *p, size_t n);
void deflater_end(struct deflater *d);

#endif /* BASE_DEFLATE_H */
