/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The manifest of a checkpoint version: what it is made of, and where it comes from. The text ends
 * with a hash of everything before it in a line of fixed form, so that no byte of it can change
 * unnoticed.
 *
 *   versions/ID.json
 *   {
 *     "format": "dlx checkpoint 2",
 *     "byte_order": "little",                   of the tensors' elements
 *     "run": "9b1d...",                         32 digits: the run that made it
 *     "serial": 3,                              saves of this run so far: orders its versions
 *     "step": 40,
 *     "epoch": 5,
 *     "time": 1764000000,                       seconds since 1970
 *     "parents": ["000000000030-51c0ffee"],     none, one, or more
 *     "fork": false,                            whether the run's first version, of another run's
 *     "metric": {"mean_iou": 0.76},             that keep.best goes by, larger is better; or null
 *     "metrics": {"mean_iou": 0.76, "loss": 0.3},   of the newest validation, as they are
 *     "scalars": {"loss_scale": "65536"},
 *     "config": "model: ...",                   the text with which the run trained
 *     "program": "dlx 0.1 ...", "ranks": 2, "data": "..." ,
 *     "tensors": [
 *       {"name": "conv.weight", "type": "f32", "shape": [8, 3, 3, 3], "use": "weight",
 *        "chunks": ["<32 digits>", ...]},       each CHUNK_RAW raw bytes, the last what is left
 *       ...
 *     ],
 *     "hash": "<32 digits>"                     XXH3 128 of the text before this line's comma
 *   } */
#ifndef DLX_CKPT_MANIFEST_H
#define DLX_CKPT_MANIFEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/disk.h"
#include "base/hash.h"
#include "ckpt/ckpt.h"

#define CKPT_ID 64                     /* size of an id's text in bytes */
#define VERSIONS_FOLDER "versions"
#define MANIFEST_SUFFIX ".json"
#define MANIFEST_FORMAT 2

struct manifest_tensor {
	const char *name;
	enum dtype dtype;
	struct shape shape;
	bool weight;
	int64_t nchunks;
	const struct hash128 *chunk;
};

struct manifest {
	const char *run;
	int64_t serial, step, epoch;
	int64_t time;                      /* seconds since 1970 */
	int nparents;
	const char *const *parent;
	bool fork;
	const char *metric_name;           /* or NULL */
	double metric;                     /* larger is better; NaN if there is none */
	int nmetrics;
	const struct ckpt_metric *metrics;  /* finite */
	int nscalars;
	const struct ckpt_scalar *scalar;
	const char *config, *program, *data;
	int ranks;
	int ntensors;
	const struct manifest_tensor *tensor;
	struct hash128 hash;               /* hash of the text; set by manifest_write and
	                                    * manifest_parse */
};

/* Appends the manifest's text. Elements are in the host's byte order; names of tensors must differ
 * among weights and among the others. */
void manifest_write(struct buf *out, struct manifest *m);
/* Verifies and parses a text; strings are allocated in a. file: its name in errors. E_DATA, also
 * for another format or byte order, which the message names. Sizes and numbers of chunks have been
 * checked against the shapes when it returns 0. */
int manifest_parse(struct manifest *m, struct arena *a, const char *file,
                   const char *text, size_t size);
/* As manifest_parse, for a file. id: the id that the version must have, or NULL for any. E_NOINPUT
 * if there is no such file, E_IO. */
int manifest_read(struct manifest *m, struct arena *a, struct disk *d, const char *path,
                  const char *id);
/* Writes m durably as a new version of the store at root. Its serial is increased until no other
 * version has its id. Sets the version's id and *path (owned by the caller; NULL after an error),
 * and *bytes to the size of the file. E_IO, E_CANTCREATE. */
int manifest_publish(struct manifest *m, struct disk *d, const char *root, char id[CKPT_ID],
                     char **path, uint64_t *bytes);
/* {"mean_iou": 0.76, "loss": 0.3} */
void manifest_put_metrics(struct buf *out, const struct manifest *m);
/* The raw bytes of a tensor, the number of its chunks, and the raw bytes of chunk k. */
size_t manifest_bytes(const struct manifest_tensor *t);
int64_t manifest_chunks(const struct manifest_tensor *t);
size_t manifest_chunk_bytes(const struct manifest_tensor *t, int64_t k);
/* The version's id: its step and the first eight digits of the manifest's hash. */
void manifest_id(const struct manifest *m, char id[CKPT_ID]);

#endif
