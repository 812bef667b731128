/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of a file, or of a part of it, that may be compressed, without holding them in memory.
 * Reading forward inflates on. Where reading stopped before it went on elsewhere the state of the
 * decompressor is kept: several places may be read forward in turn, as the channels of an array
 * are. Reading back where no state is kept begins anew. */
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
/* n bytes of the file from byte `at` on, all within it: plain, or one stream of deflate without
 * a header. E_NOINPUT, E_IO. */
int packed_open_part(struct packed_file **out, const char *path, uint64_t at, uint64_t n,
                     bool deflated);
/* Up to n of the bytes from `at` on; *got is less than n only at their end. E_IO, or E_DATA for
 * damage, with the file's byte. */
int packed_read(struct packed_file *f, uint64_t at, void *out, size_t n, size_t *got);
/* Reads all of them: how many there are, and their CRC-32. As packed_read. */
int packed_check(struct packed_file *f, uint64_t *n, uint32_t *crc);
/* How many bytes there are; UINT64_MAX if it is compressed, which does not tell. */
uint64_t packed_size(const struct packed_file *f);
/* There are no more than these, whatever the bytes say. */
uint64_t packed_most(const struct packed_file *f);
void packed_close(struct packed_file *f);        /* NULL is fine */

#endif
