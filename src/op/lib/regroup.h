/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One layout said over other axes. Grouped convolution weights are a tensor (O, I/g, ...) whose
 * layout may be over (O, I/g, ...) or (g, O/g, I/g, ...); vendor libraries want the second form. */
#ifndef DLX_OP_LIB_REGROUP_H
#define DLX_OP_LIB_REGROUP_H

#include "graph/layout.h"

/* The layout with its first axis split in (groups, rest). False if that axis is blocked or does not
 * divide. */
bool layout_split_first(const struct layout *l, int64_t groups, struct layout *out);

#endif
