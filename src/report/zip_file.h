/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A zip archive with members that are stored as they are, written from its beginning to its end:
 * what NumPy's .npz files are. A member's length is known beforehand, its CRC-32 follows it.
 * Archives of 4 GiB and more have the 64-bit records. The only file of src/ that includes <zlib.h>
 * is zip_file.c. */
#ifndef DLX_REPORT_ZIP_FILE_H
#define DLX_REPORT_ZIP_FILE_H

#include "base/io.h"

struct zip_file {
	struct io_file *file;            /* borrowed */
	const char *name;                /* of the member; borrowed until it ends */
	uint64_t size;
	/* The rest is zero to begin with. */
	uint64_t written, at;            /* bytes of the member; where it begins in the file */
	uint32_t crc;
	struct buf directory;            /* entries of the members that have ended */
	uint64_t members;
};

/* Begins a member: z->file, name and size are set. */
int zip_begin(struct zip_file *z);
int zip_write(struct zip_file *z, const void *p, size_t n);
/* Ends it, after all of size bytes; another may begin. */
int zip_end_member(struct zip_file *z);
/* Ends the member and the archive. The file stays open. */
int zip_end(struct zip_file *z);
/* Frees what an archive holds that is given up; zip_end does so itself. */
void zip_release(struct zip_file *z);

#endif
