/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds weights of torchvision's ResNets on this machine. */
#ifndef DLX_CLI_PRETRAINED_H
#define DLX_CLI_PRETRAINED_H

#include <stdbool.h>

#include "base/arena.h"

struct pretrained {
	const char *file;
	int depth;
	bool safetensors;              /* true: safetensors; false: PyTorch's own format, which
	                                * init_from cannot read */
};
/* Searches the current folder, then PyTorch's download cache. Returns false if there are none.
 * out->file is in arena a. */
bool pretrained_find(struct pretrained *out, struct arena *a);

#endif
