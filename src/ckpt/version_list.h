/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of a run's versions, for reader and writer: their order, and which of them the keep
 * policy removes. */
#ifndef DLX_CKPT_VERSION_LIST_H
#define DLX_CKPT_VERSION_LIST_H

#include "base/disk.h"
#include "ckpt/manifest.h"
#include "ckpt/refs.h"
#include "ckpt/run_link.h"

struct version {
	char id[CKPT_ID];
	char *path;                    /* of the manifest; owned */
	bool own;                      /* it belongs to this run, not to another one in the store */
	int64_t serial, step, time;
	uint64_t metric_key;           /* hash of the metric's name; 0: none */
	double metric;
	char parent[CKPT_ID];          /* or "" */
	char *damage;                  /* what is wrong with the manifest, or NULL; owned */
};

struct version_list {
	struct version *v;             /* sorted: those of other runs, then damaged ones, then the run's
	                                * own by serial */
	int n, cap;
	int first;                     /* index of the first of the run's own that are not damaged */
};

/* Reads the list of every version in the link's store. A missing folder has none. Without a run
 * (run_link.h) all versions count as the run's own. E_IO if a folder cannot be read. */
int version_list_read(struct version_list *out, struct disk *d, const struct run_link *link);
void version_list_release(struct version_list *l);
/* Whether any version is the run's own, damaged ones included. */
bool version_list_any(const struct version_list *l);
/* Adds a version that the run has just written. */
void version_list_add(struct version_list *l, const char *id, const char *path,
                      const struct manifest *m);
/* The index of the oldest version that neither the policy nor a tag or pin protects, or -1. "Best"
 * is determined only among versions with the metric of the newest one. Damaged versions are never
 * returned. */
int version_list_expired(const struct version_list *l, const struct ckpt_keep *keep,
                         const struct refs *refs);
/* The index of the best version by the metric of the newest one, the first of equal ones; -1: none
 * has that metric. */
int version_list_best(const struct version_list *l);
void version_list_remove(struct version_list *l, int i);

/* Removes the version's manifest from the disk, durably and atomically; its chunks stay
 * (collect.h). */
int version_remove(struct disk *d, const struct version *v);
/* Removes what interrupted saves and removals left in the store and in dir (RUN/checkpoints). age:
 * least age in seconds of temporary files to remove; younger ones may belong to running
 * processes. */
int version_clean(struct disk *d, const struct run_link *link, const char *dir, int64_t age);

#endif
