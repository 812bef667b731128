/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the bytes of a file, or of a part of it, that may be compressed, without holding all of
 * them in memory. Reading forward continues decompression. When reading moves to another place, the
 * decompressor's state at the old place is kept, so several places can be read forward in turn,
 * like the channels of an array. Reading backward, without a kept state, decompresses from the
 * beginning. */
#ifndef DLX_DATA_TOOLS_PACKED_FILE_H
#define DLX_DATA_TOOLS_PACKED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packed_file;

/* Opens a file. It is uncompressed if is_plain accepts its first bytes, or if these are neither
 * those of gzip nor of zlib. E_NOINPUT, E_IO. */
int packed_open(struct packed_file **out, const char *path,
                bool (*is_plain)(const uint8_t *head, size_t n));
/* Opens n bytes of the file from byte `at` on, all within it: uncompressed, or one deflate stream
 * without a header. E_NOINPUT, E_IO. */
int packed_open_part(struct packed_file **out, const char *path, uint64_t at, uint64_t n,
                     bool deflated);
/* Reads up to n decompressed bytes from `at` on; *got is less than n only at the end. E_IO, or
 * E_DATA for damage, with the byte offset in the file. */
int packed_read(struct packed_file *f, uint64_t at, void *out, size_t n, size_t *got);
/* Reads all bytes, and sets *n to their number and *crc to their CRC-32. Errors of packed_read. */
int packed_check(struct packed_file *f, uint64_t *n, uint32_t *crc);
/* The number of decompressed bytes; UINT64_MAX if the file is compressed, so that it is not
 * known. */
uint64_t packed_size(const struct packed_file *f);
/* An upper bound of the number of decompressed bytes, derived from the file's size. */
uint64_t packed_most(const struct packed_file *f);
void packed_close(struct packed_file *f);        /* NULL is fine */

#endif
