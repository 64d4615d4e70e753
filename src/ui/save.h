/*
 * save.h - keep a copy of what came over the network
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_SAVE_H
#define UI_SAVE_H

struct err;
struct notify;
struct profile;

/*
 * save_copy() writes "pprof.<program>.<type>....NNN.pb.gz" into $PPROF_TMPDIR, ~/pprof or the
 * system's folder for temporary files, whichever is the first that can be made, and says where.
 * That it cannot be written is worth a warning only; that there is no folder is -ENOENT.
 */
int save_copy(const struct profile *p, struct notify *n, struct err *err);

#endif /* UI_SAVE_H */
