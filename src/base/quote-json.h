/*
 * quote-json.h - a string of JSON
 *
 * Text that is not UTF-8 gets U+FFFD for each bad byte, since JSON cannot hold it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_QUOTE_JSON_H
#define BASE_QUOTE_JSON_H

#include "base/str.h"

struct out;

enum json_dialect {
	JSON_PLAIN, /* what must be escaped is */
	JSON_AS_GO, /* byte for byte as Go's encoding/json writes it, which thinks of HTML */
};

/* With the quotes around it. */
void quote_json(struct out *o, struct str s, enum json_dialect dialect);

#endif /* BASE_QUOTE_JSON_H */
