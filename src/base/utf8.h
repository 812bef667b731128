/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The UTF-8 functions needed to count columns, to write valid JSON and to print foreign text
 * safely. */
#ifndef DLX_BASE_UTF8_H
#define DLX_BASE_UTF8_H

#include <stdbool.h>

/* Bytes (1..4) of the well-formed character at s, 0 if there is none. s ends in NUL. */
int utf8_length(const char *s);
/* The code point of the well-formed character of n bytes at s. */
unsigned utf8_decode(const char *s, int n);
/* Whether the character of n bytes at s (n = 0: invalid) only occupies space on a terminal: it is
 * no control character, does not change the direction of writing, and has a width, so that it
 * cannot hide in a name. */
bool utf8_visible(const char *s, int n);

#endif
