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
 * A save writes its new chunks as a pack and makes it durable, and only then the manifest: data,
 * sync, rename, sync of the folder; manifest, sync, rename, sync of the folder; log. No file is
 * ever written over. Every byte is covered by a hash in the manifest, which carries a hash of
 * itself. Old versions are removed only after the new one is durable, and only whole ones: damaged
 * versions stay for inspection; packs go when no manifest names a chunk of theirs. Saving returns
 * at once; coding and writing happen on a background thread; one save is in flight at most. A
 * failed write (a full disk) leaves the older versions alone and is reported by the next ckpt_save
 * or ckpt_wait. With several ranks each writes its share of the new chunks as a pack of its own;
 * rank 0 looks at the folder until all packs are there, then writes the manifest: no messages are
 * needed, and what a rank fails to write rank 0 writes itself. RUN/checkpoints is locked against
 * other processes; reading needs no lock. Where the file system has no locks, a warning says so,
 * and nothing is taken for the leftover of a killed process before it is a day old: two processes
 * that save in one folder then go on side by side, and harm no version of each other.
 *
 * Calls come from one thread. */
#ifndef DLX_CKPT_CKPT_H
#define DLX_CKPT_CKPT_H

#include "base/hash.h"
#include "yaml/schema.h"

/* Section 'checkpoint': the table describes the struct as it is. */
struct ckpt_every {                /* any of them combined; all 0 (`every: null`): never */
	int64_t steps;
	double seconds, minutes;       /* their sum is the interval */
	int64_t epochs;
	double failures;               /* mean seconds between them, for the caller's interval */
};
struct ckpt_keep {
	int64_t last, best;
	int64_t every;                 /* versions at multiples of this many steps stay; 0: none */
};
enum ckpt_plain { PLAIN_NONE, PLAIN_WEIGHTS };
struct ckpt_local {                /* versions on hosts' own disks, too; see train/save/levels.h */
	const char *dir;               /* NULL: none */
	struct ckpt_every every;       /* `failures` is 0 */
	int64_t keep, copies;          /* versions on a host; hosts that have each */
};
struct ckpt_config {
	struct ckpt_every every;
	struct ckpt_keep keep;
	int64_t compression;           /* zstd level */
	double reserve;                /* seconds */
	const char *metric;            /* that says which version is best; NULL: see target_metric */
	const char *store;             /* a folder that runs share; NULL: the run's */
	int plain;                     /* enum ckpt_plain */
	struct ckpt_local local;
};
extern const struct field ckpt_fields[];

/* Where training stands: the numbers of steps and of epochs done. */
struct ckpt_clock {
	int64_t step, epoch;
	bool epoch_end;                /* an epoch ended with this step */
	double seconds;                /* since the last save, or since the start */
	double interval;               /* that `failures` asks for now (train/run/pace.h); 0: none */
};
/* Whether a save is due now. What depends on `seconds` may differ between ranks: ask one only. */
bool ckpt_due(const struct ckpt_every *every, const struct ckpt_clock *now);

struct ckpt_tensor {
	const char *name;
	enum dtype dtype;
	struct shape shape;
	const void *data;              /* plain row-major; any alignment in a loaded version */
	bool weight;                   /* of the model: an export has it */
	const char *plain;             /* the weight that it stands for in the plain file; NULL: none */
};

/* Scalars travel as UTF-8 text, so that they come back exactly. */
struct ckpt_scalar {
	const char *name, *value;
};

/* Names differ among weights, among other tensors, and among scalars. */
struct ckpt_metric {
	const char *name;
	double value;
};
/* Which of two versions of a run is newer, also in two stores: the later one; of one time that of
 * the greater serial number. */
struct ckpt_age {
	int64_t time, serial;          /* 0 or less: none */
};
struct ckpt_state {
	int64_t step, epoch;
	struct ckpt_age age;           /* at least; 0: the time is the disk's */
	double metric;                 /* larger is better, for keep.best; NaN if none */
	const char *metric_name;
	int nmetrics;                  /* all of the newest validation; those not finite are left out */
	const struct ckpt_metric *metrics;
	const char *config, *program, *data;   /* texts for the manifest; NULL: "" */
	/* Called once, on the background thread, before any tensor's data are read: for a copy that is
	 * made while training goes on. Its failure is the save's. NULL: the data are there. */
	int (*fill)(void *arg);
	void *fill_arg;
	int ntensors;
	const struct ckpt_tensor *tensor;
	int nscalars;
	const struct ckpt_scalar *scalar;
	int nmeta;                     /* pairs for the plain file of weights: ckpt/plain.h */
	const char *const *meta;
};

struct ckpt_store;
struct disk;

/* The ranks that write one version together. */
struct ckpt_share {
	int rank, ranks;
	const char *save;              /* text of 8 or more digits that all ranks of a job have and no
	                                * other job does; names packs */
	int world;                     /* ranks of the job, for manifests; 0: those */
	const char *run;               /* whose versions they are; NULL: what run.json says, or a new
	                                * one */
};
/* dir: RUN/checkpoints; it and the store are made if missing; leftovers of interrupted saves are
 * removed. share: NULL for a process alone. Rank 0 first: the others expect its run.json.
 * E_UNAVAILABLE if another process has dir open (rank 0), E_CANTCREATE if no
 * folder can be made, E_CONFIG if it is another run's. */
int ckpt_open(struct ckpt_store **out, const char *dir, const struct ckpt_config *config,
              const struct ckpt_share *share);
const char *ckpt_run(const struct ckpt_store *s);        /* the run's id */
/* The same of the folder dir as this process sees it; "" if there is none. */
#define CKPT_RUN 64
void ckpt_run_of(const char *dir, char run[CKPT_RUN]);
/* From now on rank 0 writes all chunks itself: other ranks do not see its files. */
void ckpt_alone(struct ckpt_store *s);
/* The same on a disk of a test. */
int ckpt_open_on(struct ckpt_store **out, struct disk *disk, const char *dir,
                 const struct ckpt_config *config, const struct ckpt_share *share);
/* Waits for the save in flight; if that failed and no caller has asked for the failure yet, it
 * becomes a warning. */
void ckpt_close(struct ckpt_store *s);
/* The age of the run's newest version, when no save is in flight. */
struct ckpt_age ckpt_newest(const struct ckpt_store *s);
/* Ends a store on a host's own disk, whose versions are not needed any more: removes its files. */
void ckpt_discard(struct ckpt_store *s);
/* The version that training continues from: the parent of the next save. */
void ckpt_set_parent(struct ckpt_store *s, const char *id);
/* Starts writing. The tensors' data are borrowed until ckpt_idle or the next ckpt_wait, and do not
 * change meanwhile; all else is copied. Waits first if a save is in flight. If that (or an earlier)
 * one failed, returns its error and saves nothing; the next call tries again. With several ranks
 * each calls it with the same state, of which the ranks above 0 read their share alone; none may
 * call it before the ckpt_wait of every rank for the save before has returned: a pack that rank 0
 * is about to remove must not be counted on. */
int ckpt_save(struct ckpt_store *s, const struct ckpt_state *state);
/* Whether no save is in flight. Never blocks. */
bool ckpt_idle(struct ckpt_store *s);
/* For the log of the run: a process goes on from version id; a process has done all that it was to
 * do. After RESUMES_MOST processes in a row that went on from a version and neither saved nor
 * ended, "auto" takes its parent. A log that cannot be written is a warning. */
#define RESUMES_MOST 3
void ckpt_resumed(struct ckpt_store *s, const char *id);
void ckpt_ended(struct ckpt_store *s);
/* Waits for the save in flight and returns its outcome (once). */
int ckpt_wait(struct ckpt_store *s);

struct ckpt_done {                 /* a save that became durable */
	char id[64];
	int64_t step;
	uint64_t bytes;                /* that the save added to the disk */
	uint64_t raw;                  /* of the state */
	double seconds, staged;        /* from ckpt_save to durable; to the end of state.fill */
};
/* True once for each save that became durable since the last call, oldest first. Never blocks. */
bool ckpt_poll(struct ckpt_store *s, struct ckpt_done *out);

/* A version opened for reading; everything is verified before this returns. which: "auto" (the one
 * saved last; a damaged one is named in a warning and the one before tried), "last" (the same, but
 * there must be one), "best" (that of the best validation by the metric of the newest version that
 * has any; of damaged ones the next), an id, a unique prefix of one (leading zeros may be left
 * out), a tag, a step number, or a path of a version's manifest. *out = NULL
 * and 0 if which is "auto" and the store has none. E_NOINPUT if there is no such version, E_USAGE
 * if several fit, E_DATA if it is damaged ("auto", "last", "best": if all are). */
struct ckpt_version;
int ckpt_load(struct ckpt_version **out, const char *dir, const char *which);
/* The same with the help of other processes. read: is given every chunk of a version that is tried,
 * in the store at root, and sets `read` of those whose bytes it has put at `to`; the others this
 * process reads. */
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
/* What a helper does: reads the n chunks, verified, and sets `read` of those that it could. */
void ckpt_read_chunks(const char *root, struct ckpt_chunk *const *chunk, int64_t n);
int ckpt_load_on(struct ckpt_version **out, struct disk *disk, const char *dir, const char *which);
/* The same without tensors: the manifest alone is read and verified. */
int ckpt_look(struct ckpt_version **out, const char *dir, const char *which);
/* E_NOINPUT with the store's name where the run of dir has saved versions, as its log says or the
 * caller knows (saved), and its store has none. So do all functions above that look into it. */
int ckpt_present(const char *dir, bool saved);
/* A note if the run of dir seems to be a copy of another folder's in a store that they share, which
 * ckpt_open refuses to save as. */
void ckpt_note_copy(const char *dir);
/* The parent of version id, or where that is not in dir (dropped since, or on a host's disk alone)
 * the version before it. *out: NULL if there is none. */
int ckpt_look_before(struct ckpt_version **out, const char *dir, const char *id);
void ckpt_version_free(struct ckpt_version *v);
const char *ckpt_version_id(const struct ckpt_version *v);
const char *ckpt_version_parent(const struct ckpt_version *v);     /* or NULL; for tests */
const struct ckpt_state *ckpt_version_state(const struct ckpt_version *v);   /* also its age */
/* Both return NULL if there is none of that name. Weights are looked through first. */
const struct ckpt_tensor *ckpt_version_find(const struct ckpt_version *v, const char *name);
const char *ckpt_version_scalar(const struct ckpt_version *v, const char *name);

#endif
