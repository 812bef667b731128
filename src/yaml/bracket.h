/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Brackets of YAML text that is not YAML: libyaml points at what it could not read, which may be
 * many lines behind the bracket that was left open. */
#ifndef DLX_YAML_BRACKET_H
#define DLX_YAML_BRACKET_H

#include <stdbool.h>
#include <stddef.h>

struct bracket {
	char open;               /* '{' or '[' */
	char closer;             /* the other kind's, which is in the
	                          * place of its own; 0: none does */
	size_t line, column;     /* of it, from 0, in characters */
};

/* Whether a bracket of text is closed by the other kind or not at all; the one is *out. Comments,
 * quoted text and brackets inside of words do not count. */
bool bracket_unclosed(const char *text, struct bracket *out);

#endif
