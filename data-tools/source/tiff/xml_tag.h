/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds tags in a short XML text, such as programs embed in other files: their attributes, and the
 * text up to the next tag. Malformed parts are skipped. */
#ifndef DLX_DATA_TOOLS_XML_TAG_H
#define DLX_DATA_TOOLS_XML_TAG_H

#include <stdbool.h>
#include <stddef.h>

struct xml_tag {
	const char *begin, *end;         /* the characters between '<' and '>' */
};

/* Finds the next start tag of an element of this name, in any namespace, from *at on, and moves *at
 * past it. */
bool xml_next(const char **at, const char *name, struct xml_tag *out);
/* Copies an attribute without decoding entities, truncated to n bytes including the final zero. */
bool xml_attribute(const struct xml_tag *t, const char *name, char *out, size_t n);
/* The text that follows the tag. */
void xml_text(const struct xml_tag *t, char *out, size_t n);

#endif
