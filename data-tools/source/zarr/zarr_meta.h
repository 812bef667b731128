/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The metadata of an array in a Zarr store of version 2 (.zarray, .zattrs) or 3 (zarr.json). */
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
	struct shape shape, chunk;   /* shape of the array; of a chunk, which is compressed
	                              * separately */
	bool sharded;                /* a file (shard) has several chunks and an index of them */
	struct shape shard;          /* shape of a shard; if not sharded, equal to `chunk` */
	bool index_first, index_summed, index_big_endian;
	struct element element;
	bool turned, sign;           /* the attribute _Unsigned changes the signedness of integers; to
	                              * signed */
	int order[MAXD];             /* order of the axes in a chunk's values, the last varying
	                              * fastest */
	bool has_fill;
	uint8_t fill[8];             /* value of the elements of a missing chunk, little endian */
	const char *axis[MAXD];      /* names of the axes, or NULL */
	const char *prefix;          /* prefix of the chunks' names: "c" or none */
	char separator;
	int ncodecs;
	enum zarr_codec codec[ZARR_CODECS];    /* codecs in the order in which a writer applies them */
	const struct json *attributes;         /* an object, or NULL */
};

enum zarr_node { ZARR_NONE, ZARR_ARRAY, ZARR_GROUP };

/* Sets *out to the kind of node that a folder of the store is. E_DATA for a damaged zarr.json. */
int zarr_node(const struct zarr_store *st, const char *folder, enum zarr_node *out);
/* Reads the metadata of the array in a folder; texts are in arena a. E_DATA, with file and byte,
 * for damage and for features of Zarr that this reader does not support; E_UNAVAILABLE for
 * libraries that this build lacks; E_NOINPUT, E_IO. */
int zarr_meta_read(struct zarr_meta *m, struct arena *a, const struct zarr_store *st,
                   const char *folder);
/* Gets number i of an attribute, which may be a number, a text of a number, or a list; false if
 * there is none. */
bool zarr_attribute(const struct zarr_meta *m, const char *name, int i, long double *out);
/* The bytes of a chunk's values, and of the whole array's values, decompressed. */
uint64_t zarr_chunk_bytes(const struct zarr_meta *m);
uint64_t zarr_bytes(const struct zarr_meta *m);

#endif
