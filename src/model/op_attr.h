/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets attributes of an op by name. Builders write "stride" and "pad_lo" and need not know the op's
 * struct, which is private to the op's file. The op's field table says where a key is stored and
 * what its default is. A key that the op does not have, or one of another type, is a bug (BUG). */
#ifndef DLX_MODEL_OP_ATTR_H
#define DLX_MODEL_OP_ATTR_H

#include "graph/op.h"

struct op_attr {
	const struct op *op;
	struct arena *arena;
	void *data; /* op->attr_size bytes; NULL if the op has none. For graph_emit */
};

/* The defaults of the named op's table; required keys start as zero or empty. */
struct op_attr op_attr_new(struct arena *a, const char *op);
/* Integers, booleans, and the index of a choice. */
void op_attr_int(struct op_attr *t, const char *key, int64_t v);
void op_attr_float(struct op_attr *t, const char *key, double v);
void op_attr_ints(struct op_attr *t, const char *key, int n, const int64_t *v); /* copied */
/* Has the op this key? */
bool op_attr_has(const struct op_attr *t, const char *key);

#endif
