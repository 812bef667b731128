/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of all ops. The build generates table.inc from OPS in local.mk, with one OP(file) on
 * each line, so that a new op needs only its file and one word there. */
#include <string.h>

#include "graph/op.h"

#define OP(file) extern const struct opset opset_##file;
#include "op/table.inc"
#undef OP

static const struct opset *const sets[] = {
#define OP(file) &opset_##file,
#include "op/table.inc"
#undef OP
};
#define NSETS ((int)(sizeof sets / sizeof *sets))

const struct op *op_at(int i)
{
	for (int s = 0; s < NSETS; s++)
		for (const struct op *const *op = sets[s]->op; *op; op++)
			if (i-- == 0)
				return *op;
	return NULL;
}

const struct op *op_find(const char *name)
{
	const struct op *op;
	for (int i = 0; (op = op_at(i)) != NULL; i++)
		if (strcmp(op->name, name) == 0)
			return op;
	return NULL;
}
