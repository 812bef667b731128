/* SPDX-License-Identifier: BSD-3-Clause
 *
 * New runs in a store: forks, which go on from a version of another run, and versions that are made
 * of tensors from elsewhere. */
#ifndef DLX_CKPT_FORK_H
#define DLX_CKPT_FORK_H

#include "ckpt/manifest.h"

struct new_version {
	char id[CKPT_ID];
	char run[HASH128_TEXT];
};

/* A new run in the folder `dir` (RUN/checkpoints, made if missing), whose first version has the
 * tensors, the clock and the scalars of version `id` of the store at root, which is its parent. No
 * tensor's bytes are read or written. A folder in which a fork was interrupted is finished.
 * E_NOINPUT if the version is not there, E_DATA if its manifest is damaged, E_USAGE if dir is that
 * of a run already, E_UNAVAILABLE while another process removes chunks, E_CANTCREATE, E_IO. */
int fork_version(struct new_version *out, struct disk *d, const char *root, const char *id,
                 const char *dir);

/* A new run in dir whose first version has tensors from elsewhere. m: all but run, serial, time and
 * the tensors' chunks, which are computed; data: of each of m's tensors, row-major. As above. */
int graft_version(struct new_version *out, struct disk *d, const char *root, struct manifest *m,
                  const void *const *data, int level, const char *dir);

#endif
