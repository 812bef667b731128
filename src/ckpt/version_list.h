/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folder of versions, as reader and writer see it: which versions there are, in what order,
 * which of them the keep policy drops. Names that start with a dot are never versions. */
#ifndef DLX_CKPT_VERSION_LIST_H
#define DLX_CKPT_VERSION_LIST_H

#include "ckpt/manifest.h"

struct version {
	char id[CKPT_ID];              /* the folder's name */
	int64_t serial, step;
	uint64_t metric_key;           /* hash of the metric's name; 0: none */
	double metric;
	char *damage;                  /* what is wrong with the manifest, or NULL; owned */
};

struct version_list {
	struct version *v;             /* damaged ones first, then by serial */
	int n, cap;
};

/* Every version in dir; a missing folder has none. E_IO if dir cannot be read. */
int version_list_read(struct version_list *out, const char *dir);
void version_list_release(struct version_list *l);
void version_list_add(struct version_list *l, const char *id, const struct manifest *m);
/* The index of the oldest version that neither keep.last nor keep.best protects, or -1. Only
 * versions of the newest one's metric compete for best. Damaged ones are never named. */
int version_list_expired(const struct version_list *l, const struct ckpt_keep *keep);
/* The index of the best version of the newest one's metric, the first of equal ones; -1: none has
 * one. */
int version_list_best(const struct version_list *l);
void version_list_remove(struct version_list *l, int i);

/* Renames folder id of dir to a hidden name, then deletes it: never half there. */
int version_remove(const char *dir, const char *id);
/* Removes what interrupted saves and deletions left behind. */
int version_clean(const char *dir);

/* The hidden names. */
#define STORE_TMP ".tmp-"
#define STORE_DEL ".del-"

#endif
