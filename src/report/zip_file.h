/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A zip archive with uncompressed members, written sequentially, such as NumPy's .npz files. A
 * member's length must be known beforehand; its CRC-32 is written after its data. Archives of 4 GiB
 * and more use the 64-bit records (zip64). zip_file.c is the only file of src/ that includes
 * <zlib.h>. */
#ifndef DLX_REPORT_ZIP_FILE_H
#define DLX_REPORT_ZIP_FILE_H

#include "base/io.h"

struct zip_file {
	struct io_file *file;            /* borrowed */
	const char *name;                /* name of the member; borrowed until it ends */
	uint64_t size;
	/* Private; zero at first. */
	uint64_t written, at;            /* bytes of the member written; offset of the member in the
	                                  * file */
	uint32_t crc;
	struct buf directory;            /* directory entries of the complete members */
	uint64_t members;
};

/* Begins a member: z->file, name and size are set. */
int zip_begin(struct zip_file *z);
int zip_write(struct zip_file *z, const void *p, size_t n);
/* Ends the member, after all `size` bytes; another one may begin. */
int zip_end_member(struct zip_file *z);
/* Ends the member and the archive. The file stays open. */
int zip_end(struct zip_file *z);
/* Frees the memory of an archive that is abandoned; zip_end frees it itself. */
void zip_release(struct zip_file *z);

#endif
