/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a Zarr store says of an array, in version 2 (.zarray, .zattrs) or 3 (zarr.json). */
#ifndef DLX_DATA_TOOLS_ZARR_META_H
#define DLX_DATA_TOOLS_ZARR_META_H

#include "base/arena.h"
#include "base/types.h"
#include "data-tools/source/element.h"
#include "data-tools/source/zarr/zarr_codec.h"
#include "data-tools/source/zarr/zarr_store.h"

struct json;

#define ZARR_CODECS 4

struct zarr_meta {
	int version;
	struct shape shape, chunk;   /* chunk: what is packed by itself */
	bool sharded;                /* a file has several chunks, and an index of them */
	struct shape shard;          /* values of such a file; else chunk */
	bool index_first, index_summed, index_big_endian;
	struct element element;
	bool turned, sign;           /* of other integers by the attribute _Unsigned; with a sign */
	int order[MAXD];             /* the axes as a chunk's values run, the last fastest */
	bool has_fill;
	uint8_t fill[8];             /* what the values of a missing chunk are, little endian */
	const char *axis[MAXD];      /* names, or NULL */
	const char *prefix;          /* of the chunks' names: "c", or none */
	char separator;
	int ncodecs;
	enum zarr_codec codec[ZARR_CODECS];    /* in the order of writing */
	const struct json *attributes;         /* an object, or NULL */
};

enum zarr_node { ZARR_NONE, ZARR_ARRAY, ZARR_GROUP };

/* What a folder of the store is. A damaged zarr.json: E_DATA. */
int zarr_node(const struct zarr_store *st, const char *folder, enum zarr_node *out);
/* Of the array in a folder; texts in a. E_DATA with file and byte, also for what Zarr has and this
 * reader has not; E_UNAVAILABLE for what this build lacks; E_NOINPUT, E_IO. */
int zarr_meta_read(struct zarr_meta *m, struct arena *a, const struct zarr_store *st,
                   const char *folder);
/* The number that an attribute has, or whose text stands for it, of several number i; false if
 * there is none. */
bool zarr_attribute(const struct zarr_meta *m, const char *name, int i, long double *out);
/* The bytes of a chunk's values; those of the whole array. */
uint64_t zarr_chunk_bytes(const struct zarr_meta *m);
uint64_t zarr_bytes(const struct zarr_meta *m);

#endif
