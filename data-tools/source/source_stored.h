/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An array whose values are contiguous in a file, a compressed file, or a member of an archive: the
 * common part of the readers of .npy, .npz and IDX files. Only the requested values are read. */
#ifndef DLX_DATA_TOOLS_SOURCE_STORED_H
#define DLX_DATA_TOOLS_SOURCE_STORED_H

#include "data-tools/source/packed_file.h"
#include "data-tools/source/source.h"

/* The handle of such a source. Members that are not known are zeroed. */
struct stored {
	struct packed_file *file;
	uint64_t at;               /* byte offset of the values */
	size_t element;            /* bytes of a value in the file */
	bool big_endian, u32;      /* byte order; u32: values are unsigned 32-bit and are widened to
	                            * i64 */
	bool reversed;             /* values are in Fortran order: the first axis varies fastest */
	uint8_t *turned;           /* all values in C order, made by the first read */
	bool summed;               /* `size` and `crc` are known and must be verified */
	uint64_t size;
	uint32_t crc;
	bool checked;              /* the file was read to its end to verify them */
};

/* Reads the first n bytes, or as many as there are, and sets *got to their number. */
int stored_head(const struct source *s, void *out, size_t n, size_t *got);
/* Checks that the file can hold the values of s->shape; file, at and element must be set. The
 * length of a compressed file is only checked by the first read. E_DATA. */
int stored_fits(const struct source *s);
/* The functions of the same names in struct source_format. */
int stored_read(struct source *s, int64_t first, int64_t n, void *out);
int stored_read_box(struct source *s, const int64_t *start, const int64_t *count, void *out);
void stored_close(struct source *s);

#endif
