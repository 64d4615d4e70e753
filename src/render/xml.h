/*
 * xml.h - names of strangers as text in XML and HTML
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_XML_H
#define RENDER_XML_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct out;

/*
 * text_visible() writes at most 'most' characters of 's', and three dots if there are more, as
 * valid UTF-8 in which everything can be seen: control characters become their symbols, marks that
 * turn the direction of writing or have no width become their number, what is not UTF-8 or not
 * allowed in XML becomes U+FFFD.  Nothing is escaped.
 */
void text_visible(struct out *o, struct str s, size_t most);

/*
 * 's' escaped for text and for quoted attributes of XML and HTML, as Go's html/template does.  XML
 * allows only what text_visible() writes.
 */
void xml_escape(struct out *o, struct str s);

/* Whether both would leave it as it is; and whether they would if it were not for tabs. */
bool xml_is_plain(struct str s);
bool xml_is_plain_line(struct str s);

#endif /* RENDER_XML_H */
