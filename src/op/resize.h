/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attributes of resize and resize_grad. */
#ifndef DLX_OP_RESIZE_H
#define DLX_OP_RESIZE_H

#include "yaml/schema.h"

struct resize {
	struct ints size;
	int mode;                    /* enum resize_mode */
	bool align_corners;
};

#endif
