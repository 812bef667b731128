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
	char closer;             /* the other kind's, which is in the
	                          * place of its own; 0: none does */
	size_t line, column;     /* where the bracket is, from 0, in characters */
};

/* Whether a bracket of text is closed by the other kind or not at all; the one is *out. Comments,
 * quoted text and brackets inside of words do not count. */
bool bracket_unclosed(const char *text, struct bracket *out);

#endif
