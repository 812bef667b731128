/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads Zip archives: the central directory at the end, and members that are stored or deflated,
 * including archives with 64-bit sizes. All lengths are checked against the file. */
#ifndef DLX_DATA_TOOLS_UNZIP_H
#define DLX_DATA_TOOLS_UNZIP_H

#include "data-tools/source/packed_file.h"

struct unzip_member {
	char *name;                /* name of the member, without ".npy" */
	int method;
	uint64_t packed, size, at;
	uint32_t crc;
};

struct unzip {
	const char *path;          /* path of the archive; borrowed */
	int n;
	struct unzip_member *member;
};

/* Reads the directory. Sets *z even if it fails. E_NOINPUT, E_IO, E_DATA. */
int unzip_open(struct unzip *z, const char *path);
/* Opens the bytes of a member. Its checksum is not verified; packed_check computes their CRC-32. */
int unzip_open_member(const struct unzip *z, const struct unzip_member *m,
                      struct packed_file **out);
void unzip_release(struct unzip *z);

#endif
