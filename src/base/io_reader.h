/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading of files, at offsets or whole, while other programs may change them. They are not mapped,
 * because access to a mapped page raises SIGBUS if the file has become shorter or the disk fails.
 *
 * Fault injection for tests: DLX_DEBUG=fault=read:N makes the Nth read fail with EIO. */
#ifndef DLX_BASE_IO_READER_H
#define DLX_BASE_IO_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct io_reader {
	int fd;                /* -1: opened for each read, so that thousands of files do not use up the
	                        * descriptors */
	uint64_t size;
	char *path;            /* owned; NULL: not open */
	struct stat opened;    /* its stat when it was opened */
};
/* Opens a regular file. E_NOINPUT, or E_IO. */
int io_reader_open(struct io_reader *f, const char *path);
/* Reads n bytes from byte `at`, which must be within f->size. Any thread. E_IO, also if the file
 * has become shorter or was replaced. */
int io_reader_read(const struct io_reader *f, uint64_t at, void *p, size_t n);
/* E_IO if the file was written to since it was opened. Call it first if the data is not as
 * expected. */
int io_reader_unchanged(const struct io_reader *f);
void io_reader_close(struct io_reader *f);              /* a zeroed reader is fine */

/* A consistent copy of a whole regular file in memory. */
struct io_image {
	uint8_t *data;
	size_t size;
};
/* E_NOINPUT, E_NOMEM, or E_IO, also if the file was written to during the reading. */
int io_image_read(struct io_image *m, const char *path);
void io_image_release(struct io_image *m);            /* a zeroed image is fine */

#endif
