/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text from files, for people: names, commands and messages of a file that another program made
 * must not move the cursor, set a window's title or turn the direction of writing. Everything
 * that is printed and was read goes through here; what is not visible becomes an escape such as
 * \x1b or \u202e, a newline \n. JSON and YAML have escapes of their own (buf_json_string,
 * yscalar_quote). */
#ifndef DLX_BASE_SHOWN_H
#define DLX_BASE_SHOWN_H

#include "base/buf.h"

void buf_shown(struct buf *b, const char *s);
/* The same for a text of several lines, whose newlines and tabs stay. */
void buf_shown_lines(struct buf *b, const char *s);
/* s itself if all of it is visible, else a copy that stays for the life of the process. */
const char *shown(const char *s);

#endif
