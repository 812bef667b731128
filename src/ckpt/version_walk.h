/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading the manifests of all versions that a store has, one after the other: their lists of
 * chunks may be large, and a store may have thousands. */
#ifndef DLX_CKPT_VERSION_WALK_H
#define DLX_CKPT_VERSION_WALK_H

#include "base/disk.h"
#include "ckpt/manifest.h"

/* All of it is good during the call alone. */
struct version_seen {
	const char *id;
	const char *path;              /* of the manifest */
	const struct manifest *m;      /* NULL: it cannot be read */
	const char *damage;            /* why */
};
typedef void version_visit(void *arg, const struct version_seen *v);

/* Calls visit for every version in the store at root. What counts as a version is its name alone;
 * one that vanishes meanwhile, since another process removes what it no longer keeps, is none. A
 * missing folder has none. E_IO if a folder cannot be read. */
int version_walk(struct disk *d, const char *root, version_visit *visit, void *arg);

#endif
