/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes text from files safe to print: names and messages from a foreign file must not move the
 * cursor, set the title of a window or reverse the direction of writing. All such text is printed
 * through these functions; invisible characters become escapes such as \x1b or \u202e, a newline
 * \n. JSON and YAML have escapes of their own (buf_json_string, yscalar_quote). */
#ifndef DLX_BASE_SHOWN_H
#define DLX_BASE_SHOWN_H

#include "base/buf.h"

void buf_shown(struct buf *b, const char *s);
/* The same for a text of several lines, whose newlines and tabs stay. */
void buf_shown_lines(struct buf *b, const char *s);
/* s itself if all its characters are visible, else an escaped copy that lives as long as the
 * process. */
const char *shown(const char *s);

#endif
