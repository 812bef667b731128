/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the manifests of all versions of a store one at a time, because their lists of chunks may
 * be large and a store may have thousands of versions. */
#ifndef DLX_CKPT_VERSION_WALK_H
#define DLX_CKPT_VERSION_WALK_H

#include "base/disk.h"
#include "ckpt/manifest.h"

/* Valid only during the call. */
struct version_seen {
	const char *id;
	const char *path;              /* of the manifest */
	const struct manifest *m;      /* NULL: it cannot be read */
	const char *damage;            /* why */
};
typedef void version_visit(void *arg, const struct version_seen *v);

/* Calls visit for every version in the store at root. Every file with the name of a manifest counts
 * as a version; one that vanishes meanwhile, because another process removes it, is skipped. A
 * missing folder has none. E_IO if a folder cannot be read. */
int version_walk(struct disk *d, const char *root, version_visit *visit, void *arg);

#endif
