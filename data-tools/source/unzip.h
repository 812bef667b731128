/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Zip archives: the central directory at the end, and members that are stored or deflated, with
 * 64-bit sizes too. All lengths are checked against the file. */
#ifndef DLX_DATA_TOOLS_UNZIP_H
#define DLX_DATA_TOOLS_UNZIP_H

#include "data-tools/source/packed_file.h"

struct unzip_member {
	char *name;                /* without ".npy" */
	int method;
	uint64_t packed, size, at;
	uint32_t crc;
};

struct unzip {
	const char *path;          /* the caller's */
	int n;
	struct unzip_member *member;
};

/* Sets *z also if it fails. E_NOINPUT, E_IO, E_DATA. */
int unzip_open(struct unzip *z, const char *path);
/* The bytes of a member, of which none was checked: packed_check finds their CRC-32. */
int unzip_open_member(const struct unzip *z, const struct unzip_member *m,
                      struct packed_file **out);
void unzip_release(struct unzip *z);

#endif
