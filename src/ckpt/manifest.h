/* SPDX-License-Identifier: BSD-3-Clause
 *
 * manifest.json: what a checkpoint version is made of. The text ends with a hash of everything
 * before it in a line of fixed form, so that no byte of it can change unnoticed.
 *
 *   {
 *     "format": "dlx checkpoint 1",
 *     "serial": 3,                              saves of this store so far: orders the versions
 *     "step": 40,
 *     "epoch": 5,
 *     "parent": "000000000030-51c0ffee",        or null
 *     "metric": {"mean_iou": 0.76},             or null
 *     "scalars": {"loss_scale": "65536"},
 *     "files": {
 *       "weights.safetensors.zst": {"bytes": 9, "hash": "...", "raw_bytes": 9, "raw_hash": "..."},
 *       "state.safetensors.zst": {...}
 *     },
 *     "hash": "9f3c2a510011aabb"                XXH3 64 of the text before this line's comma
 *   } */
#ifndef DLX_CKPT_MANIFEST_H
#define DLX_CKPT_MANIFEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "ckpt/ckpt.h"

#define CKPT_MANIFEST "manifest.json"
#define CKPT_ID 64                     /* bytes of an id's text */

enum { CKPT_WEIGHTS, CKPT_STATE, CKPT_NFILES };
extern const char *const ckpt_file_names[CKPT_NFILES];

struct manifest_file {
	uint64_t bytes, hash;              /* as stored */
	uint64_t raw_bytes, raw_hash;      /* of the safetensors image */
};

struct manifest {
	int64_t serial, step, epoch;
	const char *parent;                /* or NULL */
	const char *metric_name;           /* or NULL */
	double metric;                     /* finite; NaN if there is none */
	int nscalars;
	const struct ckpt_scalar *scalar;
	struct manifest_file file[CKPT_NFILES];
	uint64_t hash;                     /* of the text; set by both functions below */
};

void manifest_write(struct buf *out, struct manifest *m);
/* Verifies and reads text; strings go to a. file names it in errors. E_DATA. */
int manifest_parse(struct manifest *m, struct arena *a, const char *file,
                   const char *text, size_t size);
/* The version's id: its step and the first digits of the manifest's hash. */
void manifest_id(const struct manifest *m, char id[CKPT_ID]);

#endif
