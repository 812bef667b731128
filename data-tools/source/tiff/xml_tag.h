/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tags of a short text in XML, as programs put it into other files: attributes, and the text
 * up to the next tag. What is not well-formed is passed over. */
#ifndef DLX_DATA_TOOLS_XML_TAG_H
#define DLX_DATA_TOOLS_XML_TAG_H

#include <stdbool.h>
#include <stddef.h>

struct xml_tag {
	const char *begin, *end;         /* what is between '<' and '>' */
};

/* The next tag from *at on that begins an element of this name, whatever its namespace; *at is
 * after it then. */
bool xml_next(const char **at, const char *name, struct xml_tag *out);
/* An attribute as it is written, cut to n bytes with the final zero. */
bool xml_attribute(const struct xml_tag *t, const char *name, char *out, size_t n);
/* The text that follows the tag. */
void xml_text(const struct xml_tag *t, char *out, size_t n);

#endif
