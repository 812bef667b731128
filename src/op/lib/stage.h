/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Support of bf16 for loops written in float32. A piece that fits in the first-level cache is
 * converted to float32 on the stack, the loop runs there, and its results are rounded to bf16. The
 * conversions cost less time than the halved memory traffic saves. */
#ifndef DLX_OP_LIB_STAGE_H
#define DLX_OP_LIB_STAGE_H

#include "op/lib/walk.h"

#define STAGE_TENSORS 4      /* inputs or outputs of a node that may be bf16 */
#define STAGE_FLOATS 1024    /* elements of a piece; a multiple of any alignment that ranges may
                              * need */

/* A loop over elements, and the tensors of its node that are bf16. */
struct stage {
	const struct kplan *k;
	walk_range *range;
	unsigned in, out;            /* bit i is set if in[i] (out[i]) is bf16 */
};

struct stage stage_of(const struct kplan *k, walk_range *range);
/* Runs the loop over elements lo .. hi - 1, piece by piece if a tensor is bf16. */
void stage_range(const struct stage *s, const struct kargs *a, int64_t lo, int64_t hi);

#endif
