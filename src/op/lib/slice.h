/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attributes of slice, pad and concat. Each of these ops occurs in the gradient of another
 * one. */
#ifndef DLX_OP_LIB_SLICE_H
#define DLX_OP_LIB_SLICE_H

#include "yaml/schema.h"

struct slice {
	int64_t axis, begin, size;
};

struct pad {
	struct ints before, after;   /* one per axis */
	double value;
};

struct concat {
	int64_t axis;
};

#endif
