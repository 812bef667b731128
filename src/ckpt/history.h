/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All versions of a store as a graph: which come from which, over runs and forks. */
#ifndef DLX_CKPT_HISTORY_H
#define DLX_CKPT_HISTORY_H

#include "ckpt/manifest.h"
#include "ckpt/refs.h"

struct history_edge {
	int from;                      /* index of a version; -1: nothing of what it is from is left */
	bool gone;                     /* versions between the two have been removed */
};

struct history_version {
	char id[CKPT_ID];
	const char *path;              /* of the manifest */
	const char *damage;            /* what is wrong with the manifest; NULL: nothing. Else what
	                                * follows is empty, but for m.step, which the id has, and
	                                * m.time, which is the file's */
	struct manifest m;             /* without tensors and scalars */
	uint64_t raw;                  /* bytes of its tensors */
	int ntensors;
	const struct history_edge *edge;   /* one for each parent */
};

struct history {
	struct arena *a;
	int n;
	struct history_version *v;     /* oldest first */
	struct refs refs;
};

/* Every version in root. A missing folder has none; a manifest that is damaged is a version with
 * the reason. E_IO; E_DATA for tags and pins that cannot be read. */
int history_read(struct history *out, struct disk *d, const char *root);
void history_release(struct history *h);           /* a zeroed one is fine */

/* The indices of all versions such that each comes before what it comes from, lines that part one
 * after the other, newest first; n of them, in h->a. */
const int *history_order(const struct history *h);
/* mark[i]: version i, or what it comes from, or what comes from it, is of the run. */
void history_mark_run(const struct history *h, const char *run, bool *mark);
/* The index of the newest intact version of the run (NULL: of all), or of the one whose validation
 * is best by the metric of the newest that has any; -1: there is none. */
int history_last(const struct history *h, const char *run);
int history_best(const struct history *h, const char *run);
/* The index of the version that a word names: last, best, a tag, an id, a step, or the unique
 * beginning of an id (leading zeros may be left out), as dlx-train's --resume has it. Steps, last
 * and best are those of the run, unless that is NULL. E_NOINPUT, E_USAGE if several fit. */
int history_find(const struct history *h, const char *run, const char *word, int *out);

#endif
