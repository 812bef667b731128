/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An array whose values lie one after the other in a file, in a compressed one or in a member of
 * an archive: what .npy, .npz and IDX files have in common. Only the values asked for are read. */
#ifndef DLX_DATA_TOOLS_SOURCE_STORED_H
#define DLX_DATA_TOOLS_SOURCE_STORED_H

#include "data-tools/source/packed_file.h"
#include "data-tools/source/source.h"

/* A source's handle; zeroed but for what is known. */
struct stored {
	struct packed_file *file;
	uint64_t at;               /* of the values */
	size_t element;            /* bytes in the file */
	bool big_endian, u32;      /* u32: widened to i64, which is the next that holds it */
	bool reversed;             /* the first axis runs fastest, as in Fortran */
	uint8_t *turned;           /* its values as in C: all of them, from the first read on */
	bool summed;               /* the file is of `size` bytes, with this CRC-32 */
	uint64_t size;
	uint32_t crc;
	bool checked;              /* it was read to its end, if that is to find out something */
};

/* The first n bytes, or fewer if there are fewer, *got of them. */
int stored_head(const struct source *s, void *out, size_t n, size_t *got);
/* With file, at, element and s->shape: whether there can be as many values; what a compressed file
 * has is known from the first read. E_DATA. */
int stored_fits(const struct source *s);
/* Those of struct source_format. */
int stored_read(struct source *s, int64_t first, int64_t n, void *out);
int stored_read_box(struct source *s, const int64_t *start, const int64_t *count, void *out);
void stored_close(struct source *s);

#endif
