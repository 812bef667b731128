/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cache of compiled cuDNN engines, in the folder FILE.compiled next to the wisdom file FILE:
 * compiling an engine takes about 0.8 s, loading one (84 kB of cuDNN's JSON) 1 ms. Each engine has
 * a file, named by the hash of its key, that holds the key, the content's hash and the content.
 * Rank 0 writes, all ranks read; without a wisdom file each rank compiles the same engines. */
#ifndef DLX_BACKEND_CUDA_CUDNN_KEPT_H
#define DLX_BACKEND_CUDA_CUDNN_KEPT_H

#include <stdbool.h>

#include "base/buf.h"

struct cudnn_kept_key {
	const char *problem, *device, *library, *engine;
};
/* Appends the engine's content to out. False if the file is missing or damaged. */
bool cudnn_kept_read(const char *folder, const struct cudnn_kept_key *k, struct buf *out);
/* Writes atomically: the file is complete or absent. Makes the folder, not those above it. Warns
 * once if writing fails. */
void cudnn_kept_write(const char *folder, const struct cudnn_kept_key *k,
                      const struct buf *content);

#endif
