/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All versions of a store as a graph: which come from which, over runs and forks. */
#ifndef DLX_CKPT_HISTORY_H
#define DLX_CKPT_HISTORY_H

#include "ckpt/manifest.h"
#include "ckpt/refs.h"

struct history_edge {
	int from;                      /* index of the nearest ancestor that still exists; -1: none
	                                * does */
	bool gone;                     /* versions between the two were removed */
};

struct history_version {
	char id[CKPT_ID];
	const char *path;              /* of the manifest */
	const char *damage;            /* what is wrong with the manifest; NULL: nothing. If damaged,
	                                * the members below are empty, except m.step (from the id) and
	                                * m.time (from the file) */
	struct manifest m;             /* without tensors and scalars */
	uint64_t raw;                  /* uncompressed bytes of its tensors */
	int ntensors;
	const struct history_edge *edge;   /* one for each parent */
};

struct history {
	struct arena *a;
	int n;
	struct history_version *v;     /* oldest first */
	struct refs refs;
};

/* Reads every version in root. A missing folder has none; a damaged manifest gives a version with
 * `damage`. E_IO; E_DATA for tags and pins that cannot be read. */
int history_read(struct history *out, struct disk *d, const char *root);
void history_release(struct history *h);           /* a zeroed one is fine */

/* A topological order of all versions, for drawing: each version comes before its ancestors,
 * branches one after another, newest first. n indices, in h->a. */
const int *history_order(const struct history *h);
/* mark[i]: version i, an ancestor or a descendant of it belongs to the run. */
void history_mark_run(const struct history *h, const char *run, bool *mark);
/* history_last: the index of the newest intact version of the run (NULL: of all runs).
 * history_best: that with the best validation, by the metric of the newest version that has one.
 * -1: there is none. */
int history_last(const struct history *h, const char *run);
int history_best(const struct history *h, const char *run);
/* Finds the version that a word names, as --resume of dlx-train does: last, best, a tag, an id, a
 * step, or a unique prefix of an id (leading zeros may be left out). Steps, last and best are those
 * of the run, unless that is NULL. E_NOINPUT; E_USAGE if several match. */
int history_find(const struct history *h, const char *run, const char *word, int *out);

#endif
