/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checkpoint store: versions of a run's complete state, each complete or invisible.
 *
 *   RUN/checkpoints/
 *     run.json                          which run this is, and where its store is; see run_link.h
 *     log                               what happened, a line of JSON each; see version_log.h
 *   STORE: checkpoint.store, which several runs may share; by default RUN/checkpoints too
 *     versions/000000000040-9f3c2a51.json   manifests; id = step and first digits of its hash
 *     packs/NAME.pack                   the chunks of tensors, each stored once; see packs.h
 *     tags/NAME  pins/ID                versions that stay; see refs.h
 *     hold/                             saves and removals under way; see holds.h
 *
 * A save writes its new chunks as a pack and makes it durable, and only then writes the manifest.
 * The order is: data, sync, rename, sync of the folder; manifest, sync, rename, sync of the folder;
 * log. No file is ever overwritten. Every byte is covered by a hash in the manifest, which contains
 * a hash of itself. Old versions are removed only after the new one is durable, and always
 * completely; damaged versions are kept for inspection. A pack is removed when no manifest names a
 * chunk of it.
 *
 * ckpt_save returns at once: a background thread compresses and writes, and at most one save is in
 * flight. A failed write (a full disk) leaves the older versions intact and is reported by the next
 * ckpt_save or ckpt_wait. With several ranks, each writes its share of the new chunks as a pack of
 * its own. Rank 0 polls the folder until all packs are there and then writes the manifest, so no
 * messages are needed; if another rank fails to write its share, rank 0 writes it.
 *
 * RUN/checkpoints is locked against other processes; reading needs no lock. If the file system has
 * no locks, a warning says so, and a file counts as a leftover of a killed process only when it is
 * a day old. Two processes may then save in one folder at the same time, but neither harms a
 * version of the other.
 *
 * All functions must be called in one thread. */
#ifndef DLX_CKPT_CKPT_H
#define DLX_CKPT_CKPT_H

#include "base/hash.h"
#include "yaml/schema.h"

/* Section 'checkpoint': the table describes the struct as it is. */
struct ckpt_every {                /* when to save: any combination of these; all 0 (`every: null`):
                                    * never */
	int64_t steps;
	double seconds, minutes;       /* their sum is the interval */
	int64_t epochs;
	double failures;               /* mean seconds between failures, from which the caller computes
	                                * an interval */
};
struct ckpt_keep {
	int64_t last, best;
	int64_t every;                 /* versions at multiples of this many steps are kept; 0: none */
};
enum ckpt_plain { PLAIN_NONE, PLAIN_WEIGHTS };
struct ckpt_local {                /* versions kept on hosts' own disks as well; see
                                    * train/save/levels.h */
	const char *dir;               /* NULL: none */
	struct ckpt_every every;       /* `failures` is 0 */
	int64_t keep, copies;          /* number of versions on a host; number of hosts that keep each
	                                * version */
};
struct ckpt_config {
	struct ckpt_every every;
	struct ckpt_keep keep;
	int64_t compression;           /* zstd level */
	double reserve;                /* seconds */
	const char *metric;            /* metric that decides which version is best; NULL: see
	                                * target_metric */
	const char *store;             /* a folder shared by several runs; NULL: the run's own folder */
	int plain;                     /* enum ckpt_plain */
	struct ckpt_local local;
};
extern const struct field ckpt_fields[];

/* The progress of training: the numbers of steps and epochs done. */
struct ckpt_clock {
	int64_t step, epoch;
	bool epoch_end;                /* an epoch ended with this step */
	double seconds;                /* since the last save, or since the start */
	double interval;               /* seconds between saves computed from `failures`
	                                * (train/run/pace.h); 0: none */
};
/* Whether a save is due now. The criteria in seconds may be met on some ranks only, so call this on
 * one rank. */
bool ckpt_due(const struct ckpt_every *every, const struct ckpt_clock *now);

struct ckpt_tensor {
	const char *name;
	enum dtype dtype;
	struct shape shape;
	const void *data;              /* plain row-major; any alignment in a loaded version */
	bool weight;                   /* it is a weight of the model, which an export contains */
	const char *plain;             /* name of the weight that it replaces in the plain file (an
	                                * average, for instance); NULL: none */
};

/* Scalars are stored as UTF-8 text, so that they are restored exactly. */
struct ckpt_scalar {
	const char *name, *value;
};

/* Names differ among weights, among other tensors, and among scalars. */
struct ckpt_metric {
	const char *name;
	double value;
};
/* Determines which of two versions of a run is newer, also between two stores: the one with the
 * later time; at equal times the one with the greater serial number. */
struct ckpt_age {
	int64_t time, serial;          /* 0 or less: none */
};
struct ckpt_state {
	int64_t step, epoch;
	struct ckpt_age age;           /* lower bound of the version's age; 0: the time of the disk */
	double metric;                 /* larger is better, for keep.best; NaN if none */
	const char *metric_name;
	int nmetrics;                  /* all metrics of the newest validation; those not finite are
	                                * left out */
	const struct ckpt_metric *metrics;
	const char *config, *program, *data;   /* texts for the manifest; NULL: "" */
	/* Called once, on the background thread, before the data of any tensor are read: it waits for
	 * or makes a copy of the state while training continues. If it fails, the save fails. NULL: the
	 * data are there. */
	int (*fill)(void *arg);
	void *fill_arg;
	int ntensors;
	const struct ckpt_tensor *tensor;
	int nscalars;
	const struct ckpt_scalar *scalar;
	int nmeta;                     /* number of key-value pairs for the plain file of weights:
	                                * ckpt/plain.h */
	const char *const *meta;
};

struct ckpt_store;
struct disk;

/* The ranks that write one version together. */
struct ckpt_share {
	int rank, ranks;
	const char *save;              /* text of at least 8 digits, equal on all ranks of a job and
	                                * different between jobs; used in names of packs */
	int world;                     /* number of ranks of the job, for manifests; 0: `ranks` */
	const char *run;               /* id of the run that saves; NULL: that in run.json, or a new
	                                * one */
};
/* Opens a store. dir: RUN/checkpoints; it and the store are created if missing, and leftovers of
 * interrupted saves are removed. share: NULL for a single process. Rank 0 must call this first,
 * because the other ranks expect its run.json. E_UNAVAILABLE if another process has dir open (rank
 * 0), E_CANTCREATE if no folder can be created, E_CONFIG if dir belongs to another run. */
int ckpt_open(struct ckpt_store **out, const char *dir, const struct ckpt_config *config,
              const struct ckpt_share *share);
const char *ckpt_run(const struct ckpt_store *s);        /* the run's id */
/* The id of the run in the folder dir, as this process sees it; "" if there is none. */
#define CKPT_RUN 64
void ckpt_run_of(const char *dir, char run[CKPT_RUN]);
/* From now on rank 0 writes all chunks itself, because other ranks do not see its files. */
void ckpt_alone(struct ckpt_store *s);
/* As ckpt_open, on a simulated disk of a test. */
int ckpt_open_on(struct ckpt_store **out, struct disk *disk, const char *dir,
                 const struct ckpt_config *config, const struct ckpt_share *share);
/* Waits for the save in flight and closes the store. A failure of a save that was not reported yet
 * becomes a warning. */
void ckpt_close(struct ckpt_store *s);
/* The age of the run's newest version, when no save is in flight. */
struct ckpt_age ckpt_newest(const struct ckpt_store *s);
/* Closes a store on a host's own disk whose versions are no longer needed, and removes its
 * files. */
void ckpt_discard(struct ckpt_store *s);
/* The version that training continues from: the parent of the next save. */
void ckpt_set_parent(struct ckpt_store *s, const char *id);
/* Starts a save in the background. The tensors' data are borrowed until ckpt_idle is true or the
 * next ckpt_wait, and must not change meanwhile; everything else is copied. If a save is in flight,
 * waits for it first. If that or an earlier save failed, returns its error and saves nothing; the
 * next call tries again. With several ranks all call it with the same state, of which the ranks
 * above 0 read only their share. No rank may call it before ckpt_wait has returned on every rank
 * for the save before: otherwise a rank might rely on a pack that rank 0 is about to remove. */
int ckpt_save(struct ckpt_store *s, const struct ckpt_state *state);
/* Whether no save is in flight. Never blocks. */
bool ckpt_idle(struct ckpt_store *s);
/* Add an entry to the log of the run: ckpt_resumed: a process continues from version id;
 * ckpt_ended: a process has completed its work. After RESUMES_MOST consecutive processes that
 * continued from a version and neither saved nor completed, "auto" selects the version's parent. A
 * log that cannot be written is only a warning. */
#define RESUMES_MOST 3
void ckpt_resumed(struct ckpt_store *s, const char *id);
void ckpt_ended(struct ckpt_store *s);
/* Waits for the save in flight and returns its outcome (once). */
int ckpt_wait(struct ckpt_store *s);

struct ckpt_done {                 /* a save that became durable */
	char id[64];
	int64_t step;
	uint64_t bytes;                /* bytes that the save added to the disk */
	uint64_t raw;                  /* bytes of the state */
	double seconds, staged;        /* seconds from ckpt_save until it was durable, and until the end
	                                * of state.fill */
};
/* True once for each save that became durable since the last call, oldest first. Never blocks. */
bool ckpt_poll(struct ckpt_store *s, struct ckpt_done *out);

/* Opens a version for reading and verifies all of it. which: "auto" (the version saved last; if it
 * is damaged, warns and tries the one before), "last" (the same, but there must be one), "best"
 * (that with the best validation, by the metric of the newest version that has one; if damaged, the
 * next best), an id, a unique prefix of one (leading zeros may be left out), a tag, a step number,
 * or the path of a manifest. *out is NULL, and the result 0, if which is "auto" and the store has
 * no version. E_NOINPUT if there is no such version, E_USAGE if several match, E_DATA if it is
 * damaged ("auto", "last", "best": if all are). */
struct ckpt_version;
int ckpt_load(struct ckpt_version **out, const char *dir, const char *which);
/* As ckpt_load, with the help of other processes. read: called with all chunks of a version that is
 * tried, in the store at root. It sets `read` of those chunks whose bytes it has stored at `to`;
 * this process reads the others. */
struct ckpt_chunk {
	struct hash128 address;
	size_t n;                      /* raw bytes */
	char *to;
	bool read;
};
struct ckpt_helper {
	void (*read)(void *arg, const char *root, struct ckpt_chunk *chunk, int64_t n);
	void *arg;
};
int ckpt_load_helped(struct ckpt_version **out, const char *dir, const char *which,
                     const struct ckpt_helper *helper);
/* For helping processes: reads and verifies the n chunks, and sets `read` of those that could be
 * read. */
void ckpt_read_chunks(const char *root, struct ckpt_chunk *const *chunk, int64_t n);
int ckpt_load_on(struct ckpt_version **out, struct disk *disk, const char *dir, const char *which);
/* As ckpt_load, but reads and verifies only the manifest, no tensors. */
int ckpt_look(struct ckpt_version **out, const char *dir, const char *which);
/* Checks that the store exists: E_NOINPUT, with the store's name, if the run of dir has saved
 * versions, according to its log or the caller (saved), but its store has none. The functions above
 * make the same check. */
int ckpt_present(const char *dir, bool saved);
/* Prints a note if the run's folder seems to be a copy of another folder that uses the same store;
 * ckpt_open refuses to save as such a copy. */
void ckpt_note_copy(const char *dir);
/* Opens the parent of version id; if that is not in dir (removed since, or only on a host's disk),
 * the version before it. *out: NULL if there is none. */
int ckpt_look_before(struct ckpt_version **out, const char *dir, const char *id);
void ckpt_version_free(struct ckpt_version *v);
const char *ckpt_version_id(const struct ckpt_version *v);
const char *ckpt_version_parent(const struct ckpt_version *v);     /* or NULL; for tests */
const struct ckpt_state *ckpt_version_state(const struct ckpt_version *v);   /* also its age */
/* A tensor or scalar by name, or NULL. Weights are searched first. */
const struct ckpt_tensor *ckpt_version_find(const struct ckpt_version *v, const char *name);
const char *ckpt_version_scalar(const struct ckpt_version *v, const char *name);

#endif
