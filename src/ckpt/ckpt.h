/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checkpoint store: versions of a run's complete state in one folder, each complete or
 * invisible.
 *
 *   checkpoints/
 *     000000000040-9f3c2a51/            id = step and the first digits of the manifest's hash
 *       manifest.json                   written last; see manifest.h
 *       weights.safetensors.zst         role "parameter": zstd frames; `zstd -d` gives safetensors
 *       state.safetensors.zst           optimizer moments, running statistics, everything else
 *
 * A version is written under a temporary name, every file synced, the folder renamed and its parent
 * synced: what has a valid name is complete. Every byte is covered by a hash in the manifest, which
 * carries a hash of itself. Old versions are removed only after the new one is durable, and only
 * whole ones: damaged versions stay for inspection. Saving stages a copy and returns;
 * compression and writing happen on a background thread; one save is in flight at most. A failed
 * write (a full disk) leaves the older versions alone and is reported by the next ckpt_save or
 * ckpt_wait. An open store is locked against other processes; reading needs no lock.
 *
 * Calls come from one thread. */
#ifndef DLX_CKPT_CKPT_H
#define DLX_CKPT_CKPT_H

#include "yaml/schema.h"

/* Section 'checkpoint': the table describes the struct as it is. */
struct ckpt_every {                /* any of them combined; all 0 (`every: null`): never */
	int64_t steps;
	double seconds, minutes;       /* their sum is the interval */
	int64_t epochs;
};
struct ckpt_keep {
	int64_t last, best;
};
struct ckpt_config {
	struct ckpt_every every;
	struct ckpt_keep keep;
	int64_t compression;           /* zstd level */
	double reserve;                /* seconds */
	const char *metric;            /* that says which version is best; NULL: see target_metric */
};
extern const struct field ckpt_fields[];

/* Where training stands: the numbers of steps and of epochs done. */
struct ckpt_clock {
	int64_t step, epoch;
	bool epoch_end;                /* an epoch ended with this step */
	double seconds;                /* since the last save, or since the start */
};
/* Whether a save is due now. What depends on `seconds` may differ between ranks: ask one only. */
bool ckpt_due(const struct ckpt_config *c, const struct ckpt_clock *now);

struct ckpt_tensor {
	const char *name;
	enum dtype dtype;
	struct shape shape;
	const void *data;              /* plain row-major; any alignment in a loaded version */
	bool weight;                   /* goes to weights.safetensors; else state.safetensors */
};

/* Scalars travel as UTF-8 text, so that they come back exactly. */
struct ckpt_scalar {
	const char *name, *value;
};

/* Names of the tensors of one file differ, and so do names of scalars. */
struct ckpt_state {
	int64_t step, epoch;
	double metric;                 /* larger is better, for keep.best; NaN if none */
	const char *metric_name;
	int ntensors;
	const struct ckpt_tensor *tensor;
	int nscalars;
	const struct ckpt_scalar *scalar;
};

struct ckpt_store;

/* dir is made if missing; leftovers of interrupted saves are removed. E_UNAVAILABLE if another
 * process has the store open, E_CANTCREATE if the folder cannot be made. */
int ckpt_open(struct ckpt_store **out, const char *dir, const struct ckpt_config *config);
/* Waits for the save in flight; if that failed and no caller has asked for the failure yet, it
 * becomes a warning. */
void ckpt_close(struct ckpt_store *s);
/* The version that training continues from: the parent of the next save. */
void ckpt_set_parent(struct ckpt_store *s, const char *id);
/* Stages a copy of state and starts writing. Waits first if a save is in flight. If that (or an
 * earlier) one failed, returns its error and saves nothing; the next call tries again. */
int ckpt_save(struct ckpt_store *s, const struct ckpt_state *state);
/* Waits for the save in flight and returns its outcome (once). */
int ckpt_wait(struct ckpt_store *s);

struct ckpt_done {                 /* a save that became durable */
	char id[64];
	int64_t step;
	uint64_t bytes;                /* on disk */
	double seconds;                /* from ckpt_save to durable */
};
/* True once for each save that became durable since the last call, oldest first. Never blocks. */
bool ckpt_poll(struct ckpt_store *s, struct ckpt_done *out);

/* A version opened for reading; everything is verified before this returns. which: "auto" (the one
 * saved last; a damaged one is named in a warning and the one before tried), "last" (the same, but
 * there must be one), "best" (that of the best validation by the metric of the newest version that
 * has any; of damaged ones the next), an id, a unique prefix of one (leading zeros may be left
 * out), a step number, or a path of a version's folder. *out = NULL and 0 if which is "auto" and
 * the store has none. E_NOINPUT if there is no such version, E_USAGE if several fit, E_DATA if it
 * is damaged ("auto", "last", "best": if all are). */
struct ckpt_version;
int ckpt_load(struct ckpt_version **out, const char *dir, const char *which);
/* The same without tensors: the manifest alone is read and verified. */
int ckpt_look(struct ckpt_version **out, const char *dir, const char *which);
void ckpt_version_free(struct ckpt_version *v);
const char *ckpt_version_id(const struct ckpt_version *v);
const char *ckpt_version_parent(const struct ckpt_version *v);     /* or NULL; for tests */
const struct ckpt_state *ckpt_version_state(const struct ckpt_version *v);
/* Both return NULL if there is none of that name. Weights are looked through first. */
const struct ckpt_tensor *ckpt_version_find(const struct ckpt_version *v, const char *name);
const char *ckpt_version_scalar(const struct ckpt_version *v, const char *name);

#endif
