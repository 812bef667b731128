/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Splits the first axis of a layout into groups and rest: rest keeps the stride, and the stride of
 * groups spans the rest. */
#include "op/lib/regroup.h"

#include <string.h>

bool layout_split_first(const struct layout *l, int64_t groups, struct layout *out)
{
	if (l->nd < 1 || l->nd >= MAXD || l->dims[0] % groups)
		return false;
	*out = *l;
	for (int b = 0; b < l->nblk; b++)
		if (out->blk_dim[b]++ == 0)
			return false;
	memmove(out->dims + 1, l->dims, sizeof *l->dims * (size_t)l->nd);
	memmove(out->stride + 1, l->stride, sizeof *l->stride * (size_t)l->nd);
	out->nd++;
	out->dims[0] = groups;
	out->dims[1] /= groups;
	out->stride[0] = out->dims[1] * out->stride[1];
	return true;
}
