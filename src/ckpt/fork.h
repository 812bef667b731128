/* SPDX-License-Identifier: BSD-3-Clause
 *
 * New runs in a store: forks, which continue from a version of another run, and runs whose first
 * version is made of tensors from elsewhere. */
#ifndef DLX_CKPT_FORK_H
#define DLX_CKPT_FORK_H

#include "ckpt/manifest.h"

struct new_version {
	char id[CKPT_ID];
	char run[HASH128_TEXT];
};

/* Makes a new run in the folder `dir` (RUN/checkpoints, created if missing). Its first version has
 * the tensors, the clock and the scalars of version `id` of the store at root, which becomes its
 * parent. No tensor data are read or written. An interrupted fork in the same folder is completed.
 * E_NOINPUT if the version does not exist, E_DATA if its manifest is damaged, E_USAGE if dir
 * belongs to a run already, E_UNAVAILABLE while another process removes chunks, E_CANTCREATE,
 * E_IO. */
int fork_version(struct new_version *out, struct disk *d, const char *root, const char *id,
                 const char *dir);

/* Makes a new run in dir whose first version has tensors from elsewhere. m: everything except run,
 * serial, time and the tensors' chunks, which are computed. data: of each of m's tensors,
 * row-major. Errors as above. */
int graft_version(struct new_version *out, struct disk *d, const char *root, struct manifest *m,
                  const void *const *data, int level, const char *dir);

#endif
