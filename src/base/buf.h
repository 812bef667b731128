/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A growable byte string. Invariants: data is never NULL and data[len] is '\0', so a buf is
 * also a C string; cap > len. A buf starts as BUF_INIT and is released by buf_release. */
#ifndef DLX_BASE_BUF_H
#define DLX_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data;
	size_t len, cap;
};

extern char buf_empty_[1];
#define BUF_INIT { buf_empty_, 0, 0 }

void buf_init(struct buf *b);
void buf_release(struct buf *b);                 /* back to BUF_INIT */
void buf_clear(struct buf *b);                   /* keeps the memory */
void buf_reserve(struct buf *b, size_t more);    /* room for `more` further bytes */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap);
char *buf_detach(struct buf *b);                 /* returns the string, which the caller frees with
                                                  * mem_free */

/* Appends s as a JSON string, quotes included. Invisible characters (base/utf8.h) are escaped, and
 * bytes that are not UTF-8 become U+FFFD. */
void buf_json_string(struct buf *b, const char *s);
/* Appends the JSON escape of the valid UTF-8 character of n bytes at s. */
void buf_json_escape(struct buf *b, const char *s, int n);
/* Appends v as JSON: the shortest decimal that reads back equal; NaN and infinities become null. */
void buf_json_double(struct buf *b, double v);
/* Appends a word for use in a shell command, in single quotes if it needs them. */
void buf_shell_word(struct buf *b, const char *word);
/* Appends a member of a JSON object with a leading comma: , "key": v. */
void buf_json_member(struct buf *b, const char *key, double v);

#endif
