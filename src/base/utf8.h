/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Just enough UTF-8 to count columns, to write valid JSON and to show what others wrote. */
#ifndef DLX_BASE_UTF8_H
#define DLX_BASE_UTF8_H

#include <stdbool.h>

/* Bytes (1..4) of the well-formed character at s, 0 if there is none. s ends in NUL. */
int utf8_length(const char *s);
/* The code point of the well-formed character of n bytes at s. */
unsigned utf8_decode(const char *s, int n);
/* Whether the character of n bytes at s (0: none) takes its place on a terminal and does nothing
 * else: no control character, none that turns the direction of writing, none without width that
 * could hide in a name. */
bool utf8_visible(const char *s, int n);

#endif
