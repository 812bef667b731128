/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The safetensors format: u64 little-endian header length, a JSON header
 * {name: {dtype, shape, data_offsets}}, raw data. The reader accepts nothing that does not fit
 * exactly: overlapping, out-of-range or reversed offsets, gaps, duplicate names, sizes that
 * contradict shapes, unknown keys and trailing bytes are E_DATA with the file and the byte offset.
 * The header may list the tensors in any order, as the format allows. */
#ifndef DLX_CKPT_SAFETENSORS_H
#define DLX_CKPT_SAFETENSORS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/types.h"

struct st_tensor {
	const char *name;
	enum dtype dtype;
	struct shape shape;
	const void *data;          /* row-major, little-endian; any alignment once parsed */
};

struct st_file {
	int n;
	struct st_tensor *tensor;  /* in the order of their data */
	int nmeta;
	const char *const *meta;   /* __metadata__: key, value, ...; nmeta pairs */
};

/* Parses an image in memory; names and shapes are allocated in a, data point into the image. file:
 * its name in errors. */
int st_parse(struct st_file *out, struct arena *a, const char *file,
             const void *image, size_t size);
const struct st_tensor *st_find(const struct st_file *f, const char *name);   /* or NULL */

/* Writers. Tensors keep the order given; names are UTF-8 and differ; nmeta counts pairs. */

/* Appends only the header (with the length field) to out; the data must follow without gaps. The
 * header's size is a multiple of 8. */
void st_build_header(struct buf *out, const struct st_tensor *t, int n,
                     const char *const *meta, int nmeta);
/* Appends header and data of n tensors to out; for tests. */
void st_build(struct buf *out, const struct st_tensor *t, int n,
              const char *const *meta, int nmeta);
/* Writes header and data of n tensors to a file, completely or not at all. */
int st_write_file(const char *path, const struct st_tensor *t, int n,
                  const char *const *meta, int nmeta);
size_t st_bytes(const struct st_tensor *t);   /* bytes of the tensor's data */

#endif
