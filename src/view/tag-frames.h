/*
 * tag-frames.h - labels as frames of the stack
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_TAG_FRAMES_H
#define VIEW_TAG_FRAMES_H

#include "base/units.h"

#include <stdbool.h>

struct profile;

/*
 * tag_frames_add() gives every sample of the view one more frame per key of the comma-separated
 * lists: those of 'roots' above all others, the first key outermost; those of 'leaves' below, the
 * last key innermost.  The frame's function is the label's values with commas between them, empty
 * for a sample without the label; its file is the key.  '*root_found' and '*leaf_found' say whether
 * any sample has one of the labels.
 */
void tag_frames_add(struct profile *v, struct str roots, struct str leaves, struct unit_target unit,
		    bool *root_found, bool *leaf_found);

#endif /* VIEW_TAG_FRAMES_H */
