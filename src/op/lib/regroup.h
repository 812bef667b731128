/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One layout expressed over different axes. The weights of a grouped convolution are a tensor (O,
 * I/g, ...); their layout may be given over these axes or over (g, O/g, I/g, ...), which is the
 * form that vendor libraries expect. */
#ifndef DLX_OP_LIB_REGROUP_H
#define DLX_OP_LIB_REGROUP_H

#include "graph/layout.h"

/* The layout l with its first axis split into (groups, rest). Returns false if that axis is blocked
 * or is no multiple of groups. */
bool layout_split_first(const struct layout *l, int64_t groups, struct layout *out);

#endif
