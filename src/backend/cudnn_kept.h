/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What cuDNN compiled, in a folder beside the file of wisdom: an engine that it compiles takes the
 * better part of a second, to read one again a millisecond. A file each, named by the hash of its
 * key: the key, the content's hash, and the content, which is cuDNN's own. */
#ifndef DLX_BACKEND_CUDNN_KEPT_H
#define DLX_BACKEND_CUDNN_KEPT_H

#include <stdbool.h>

#include "base/buf.h"

struct cudnn_kept_key {
	const char *problem, *device, *library, *engine;
};
/* False: it is not there, or damaged, which is the same. */
bool cudnn_kept_read(const char *folder, const struct cudnn_kept_key *k, struct buf *out);
/* Whole under its name, or not there. Makes the folder, not those above it. Who cannot write is warned once. */
void cudnn_kept_write(const char *folder, const struct cudnn_kept_key *k, const struct buf *content);

#endif
