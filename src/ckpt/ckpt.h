/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checkpoint store: versions of a run's complete state in one folder, each complete or invisible.
 *
 *   checkpoints/
 *     000000000040-9f3c2a51/            id = step and the first digits of the manifest's hash
 *       manifest.json                    written last; sizes, hashes, step, parent, metrics, scalars
 *       weights.safetensors.zst          role "parameter": zstd frames; `zstd -d` gives a safetensors file
 *       state.safetensors.zst            optimizer moments, running statistics, everything else
 *
 * A version is written under a temporary name, every file synced, the folder renamed and its parent synced: what has a valid name
 * is complete. Every byte is covered by a hash in the manifest, which carries a hash of itself. Old versions are removed only
 * after the new one is durable. Saving stages a copy and returns; compression and writing happen on a background thread; one save is in
 * flight at most. A failed write (a full disk) leaves the older versions alone and is reported by the next ckpt_save or ckpt_wait.
 *
 * Calls come from one thread. */
#ifndef DLX_CKPT_CKPT_H
#define DLX_CKPT_CKPT_H

#include "config/schema.h"

struct ckpt_config {               /* section 'checkpoint' */
	int64_t every_steps;           /* 0: not by steps */
	double every_seconds;          /* 0: not by time */
	int64_t every_epochs;          /* 0: not by epochs */
	int64_t keep_last, keep_best;
	int64_t compression;           /* zstd level */
};
extern const struct field ckpt_fields[];   /* every: {steps, minutes, epochs}, keep: {last, best}, compression; see schema */
/* Reads the section into the flat struct above. */
int ckpt_config_read(struct arena *a, const struct ynode *section, const struct loc *loc, struct ckpt_config *out);
struct ynode *ckpt_config_write(struct arena *a, const struct ckpt_config *c);

struct ckpt_tensor {
	const char *name;
	enum dtype dtype;
	struct shape shape;
	const void *data;              /* plain row-major */
	bool weight;                   /* goes to weights.safetensors; else state.safetensors */
};

/* Scalars travel as text, so that they come back exactly. */
struct ckpt_scalar {
	const char *name, *value;
};

struct ckpt_state {
	int64_t step, epoch;
	double metric;                 /* larger is better, for keep_best; NaN if none */
	const char *metric_name;
	int ntensors;
	const struct ckpt_tensor *tensor;
	int nscalars;
	const struct ckpt_scalar *scalar;
};

struct ckpt_store;

/* dir is made if missing; leftovers of interrupted saves are removed. */
int ckpt_open(struct ckpt_store **out, const char *dir, const struct ckpt_config *config);
/* Waits for the save in flight. */
void ckpt_close(struct ckpt_store *s);
/* Stages a copy of state and starts writing. Waits first if a save is in flight. Reports a failure of the previous save. */
int ckpt_save(struct ckpt_store *s, const struct ckpt_state *state);
int ckpt_wait(struct ckpt_store *s);

struct ckpt_done {                 /* the newest save that became durable */
	char id[64];
	int64_t step;
	uint64_t bytes;                /* on disk */
	double seconds;                /* from ckpt_save to durable */
};
/* True once for each save that became durable since the last call. Never blocks. */
bool ckpt_poll(struct ckpt_store *s, struct ckpt_done *out);

/* A version opened for reading; everything is verified before this returns. which: "auto" (newest complete one; a damaged one is
 * named in a warning and the next older tried), an id or a unique prefix of one, or a path of a version's folder.
 * *out = NULL and 0 if which is "auto" and the store has none. E_NOINPUT, E_DATA otherwise. */
struct ckpt_version;
int ckpt_load(struct ckpt_version **out, const char *dir, const char *which);
void ckpt_version_free(struct ckpt_version *v);
const char *ckpt_version_id(const struct ckpt_version *v);
const struct ckpt_state *ckpt_version_state(const struct ckpt_version *v);
const struct ckpt_tensor *ckpt_version_find(const struct ckpt_version *v, const char *name);   /* or NULL */
const char *ckpt_version_scalar(const struct ckpt_version *v, const char *name);               /* or NULL */

#endif
