/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the unclosed bracket in text that libyaml could not parse: libyaml reports the place where
 * parsing failed, which may be many lines after that bracket. */
#ifndef DLX_YAML_BRACKET_H
#define DLX_YAML_BRACKET_H

#include <stdbool.h>
#include <stddef.h>

struct bracket {
	char open;               /* '{' or '[' */
	char closer;             /* the closing bracket of the wrong kind that was found in its place;
	                          * 0: none was found */
	size_t line, column;     /* position of the opening bracket, counted from 0 in characters */
};

/* Whether some bracket in text is closed by the wrong kind or not at all; *out is that bracket.
 * Comments, quoted text and brackets inside words are skipped. */
bool bracket_unclosed(const char *text, struct bracket *out);

#endif
