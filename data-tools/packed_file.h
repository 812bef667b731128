/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of a file that may be compressed as a whole by gzip or zlib, without holding them in
 * memory: reading forward inflates on, reading back begins anew. */
#ifndef DLX_DATA_TOOLS_PACKED_FILE_H
#define DLX_DATA_TOOLS_PACKED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packed_file;

/* Plain if is_plain says so of the first bytes, or if they are neither gzip's nor zlib's.
 * E_NOINPUT, E_IO. */
int packed_open(struct packed_file **out, const char *path,
                bool (*is_plain)(const uint8_t *head, size_t n));
/* Up to n of the bytes from `at` on; *got is less than n only at their end. E_IO, or E_DATA for
 * damage, with the file's byte. */
int packed_read(struct packed_file *f, uint64_t at, void *out, size_t n, size_t *got);
/* How many bytes there are; UINT64_MAX if it is compressed, which does not tell. */
uint64_t packed_size(const struct packed_file *f);
void packed_close(struct packed_file *f);        /* NULL is fine */

#endif
