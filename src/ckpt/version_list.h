/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The versions of a run, as reader and writer see them: which there are, in what order, which of
 * them the keep policy drops. */
#ifndef DLX_CKPT_VERSION_LIST_H
#define DLX_CKPT_VERSION_LIST_H

#include "base/disk.h"
#include "ckpt/manifest.h"
#include "ckpt/refs.h"
#include "ckpt/run_link.h"

struct version {
	char id[CKPT_ID];
	char *path;                    /* of the manifest; owned */
	bool own;                      /* of the run, and no other one's in the store */
	int64_t serial, step, time;
	uint64_t metric_key;           /* hash of the metric's name; 0: none */
	double metric;
	char parent[CKPT_ID];          /* or "" */
	char *damage;                  /* what is wrong with the manifest, or NULL; owned */
};

struct version_list {
	struct version *v;             /* others', then damaged ones, then the run's own by serial */
	int n, cap;
	int first;                     /* of the run's own that are not damaged */
};

/* Every version in the link's store. A missing folder has none; without a run (run_link.h) all are
 * the run's. E_IO if a folder cannot be read. */
int version_list_read(struct version_list *out, struct disk *d, const struct run_link *link);
void version_list_release(struct version_list *l);
/* Whether any is the run's own, damaged ones included. */
bool version_list_any(const struct version_list *l);
/* A version that the run has just written. */
void version_list_add(struct version_list *l, const char *id, const char *path,
                      const struct manifest *m);
/* The index of the oldest version that neither the policy nor a tag or pin protects, or -1. Only
 * versions of the newest one's metric compete for best. Damaged ones are never named. */
int version_list_expired(const struct version_list *l, const struct ckpt_keep *keep,
                         const struct refs *refs);
/* The index of the best version of the newest one's metric, the first of equal ones; -1: none has
 * one. */
int version_list_best(const struct version_list *l);
void version_list_remove(struct version_list *l, int i);

/* Removes the version from the disk, durably and never half; its chunks stay (collect.h). */
int version_remove(struct disk *d, const struct version *v);
/* Removes what interrupted saves and deletions left in the store and in dir (RUN/checkpoints). age:
 * of temporary files in seconds; younger ones may be of processes that run. */
int version_clean(struct disk *d, const struct run_link *link, const char *dir, int64_t age);

#endif
