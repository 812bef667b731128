/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Versions of format 1, as dlx wrote them before it had a store of chunks: folders
 * RUN/checkpoints/ID with two files, rows of zstd frames of a safetensors image each, and
 *
 *   manifest.json
 *   {
 *     "format": "dlx checkpoint 1",
 *     "serial": 3, "step": 40, "epoch": 5,
 *     "parent": "000000000030-51c0ffee",        or null
 *     "metric": {"mean_iou": 0.76},             or null
 *     "scalars": {"loss_scale": "65536"},
 *     "files": {
 *       "weights.safetensors.zst": {"bytes": 9, "hash": "...", "raw_bytes": 9, "raw_hash": "..."},
 *       "state.safetensors.zst": {...}
 *     },
 *     "hash": "9f3c2a510011aabb"                XXH3 64 of the text before this line's comma
 *   }
 *
 * They are read, no longer written. */
#ifndef DLX_CKPT_VERSION1_H
#define DLX_CKPT_VERSION1_H

#include "ckpt/manifest.h"

#define VERSION1_MANIFEST "manifest.json"
enum { VERSION1_WEIGHTS, VERSION1_STATE, VERSION1_NFILES };

struct version1 {
	struct manifest m;                 /* hash: its high half is that of the text */
	struct version1_file {
		uint64_t bytes, hash;          /* as stored */
		uint64_t raw_bytes, raw_hash;  /* of the safetensors image */
	} file[VERSION1_NFILES];
	void *image[VERSION1_NFILES];      /* owned; NULL: not read */
	int ntensors;
	struct ckpt_tensor *tensor;        /* data in the images */
};

/* Verifies and reads a manifest; strings go to a. file names it in errors. E_DATA. */
int version1_parse(struct version1 *v, struct arena *a, const char *file, const char *text,
                   size_t size);
/* The manifest in a folder. E_DATA, also if there is none; E_IO. */
int version1_look(struct version1 *v, struct arena *a, const char *folder);
/* And the tensors behind it, every byte verified. E_DATA, E_IO, E_NOMEM. */
int version1_load(struct version1 *v, struct arena *a, const char *folder);
void version1_release(struct version1 *v);         /* a zeroed one is fine */

#endif
