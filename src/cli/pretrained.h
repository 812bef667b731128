/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weights of torchvision's ResNets that are on this machine. */
#ifndef DLX_CLI_PRETRAINED_H
#define DLX_CLI_PRETRAINED_H

#include <stdbool.h>

#include "base/arena.h"

struct pretrained {
	const char *file;
	int depth;
	bool safetensors;              /* else a file of PyTorch's, which init_from does not read */
};
/* In the current folder, else where PyTorch keeps what it has fetched: false, there are none. The
 * name of the file is in a. */
bool pretrained_find(struct pretrained *out, struct arena *a);

#endif
