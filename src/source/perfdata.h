/*
 * perfdata.h - files of "perf record", converted by another program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SOURCE_PERFDATA_H
#define SOURCE_PERFDATA_H

#include <stdbool.h>

struct err;
struct file_bytes;
struct source_request;

/* Whether the regular file 'fd' begins as perf.data does.  Moves no file offset. */
bool perfdata_is(int fd);

/*
 * perfdata_read() runs perf_to_profile (of github.com/google/perf_data_converter) on the file
 * 'rq->source', and reads what it wrote.  Returns 0, or a negative errno and a sentence; -EINTR
 * when 'rq->stop' was set, after the program has been ended.
 */
int perfdata_read(const struct source_request *rq, struct file_bytes *out, struct err *err);

#endif /* SOURCE_PERFDATA_H */
