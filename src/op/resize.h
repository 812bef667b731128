/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attributes of resize and resize_grad. */
#ifndef DLX_OP_RESIZE_H
#define DLX_OP_RESIZE_H

#include "yaml/schema.h"

enum resize_mode { RESIZE_LINEAR, RESIZE_NEAREST };

struct resize {
	struct ints size;
	int mode;
	bool align_corners;
};

#endif
