/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A zip archive with one member that is stored as it is, written from its beginning to its end:
 * what NumPy's .npz files are. Its length is known beforehand, its CRC-32 follows behind it.
 * Archives of 4 GiB and more have the 64-bit records. The only file of src/ that includes <zlib.h>
 * is zip_file.c. */
#ifndef DLX_REPORT_ZIP_FILE_H
#define DLX_REPORT_ZIP_FILE_H

#include "base/io.h"

struct zip_file {
	struct io_file *file;            /* borrowed */
	const char *name;                /* of the member; borrowed */
	uint64_t size;
	uint64_t written;
	uint32_t crc;
};

/* z->file, name and size are set. */
int zip_begin(struct zip_file *z);
int zip_write(struct zip_file *z, const void *p, size_t n);
/* After all of size bytes. The file stays open. */
int zip_end(struct zip_file *z);

#endif
