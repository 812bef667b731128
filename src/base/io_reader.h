/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that are read at places, or whole, while other programs may change them. They are read,
 * not mapped: the kernel ends a process by SIGBUS that touches a page of a mapped file which has
 * become shorter, or which the disk cannot give.
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
	struct stat opened;    /* its properties when it was opened */
};
/* A regular file. E_NOINPUT, or E_IO. */
int io_reader_open(struct io_reader *f, const char *path);
/* n bytes from byte `at`, all within the size. Any thread. E_IO, also if the file has become
 * shorter, or another one. */
int io_reader_read(const struct io_reader *f, uint64_t at, void *p, size_t n);
/* E_IO if the file was written to since it was opened: the first question about bytes that are
 * not as expected. */
int io_reader_unchanged(const struct io_reader *f);
void io_reader_close(struct io_reader *f);              /* a zeroed reader is fine */

/* A whole regular file in memory, as it was at one moment. */
struct io_image {
	uint8_t *data;
	size_t size;
};
/* E_NOINPUT, E_NOMEM, or E_IO, also if the file was written to meanwhile. */
int io_image_read(struct io_image *m, const char *path);
void io_image_release(struct io_image *m);            /* a zeroed image is fine */

#endif
