/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bytes as text of the base64 alphabet (RFC 4648), padded: what NumPy reads at once. */
#ifndef DLX_BASE_BASE64_H
#define DLX_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
/* Appends n bytes. */
void base64_write(struct buf *out, const uint8_t *p, size_t n);
/* Decodes exactly n bytes. False if text is not valid or not of that length; out is then partly
 * written. */
bool base64_read(const char *text, uint8_t *out, size_t n);

#endif
