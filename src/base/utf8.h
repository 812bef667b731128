/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Just enough UTF-8 to count columns and to write valid JSON. */
#ifndef DLX_BASE_UTF8_H
#define DLX_BASE_UTF8_H

/* Bytes (1..4) of the well-formed character at s, 0 if there is none. s ends in NUL. */
int utf8_length(const char *s);

#endif
