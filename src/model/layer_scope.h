/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where an entry of a `layers` list is: its scope, for names, and the use of a block it is
 * part of, for parameters. A value given to a parameter belongs to the scope it is written in:
 * a layer named there is looked for there. Inside of model/. */
#ifndef DLX_MODEL_LAYER_SCOPE_H
#define DLX_MODEL_LAYER_SCOPE_H

#include "model/layer_block.h"

struct layer_scope {
	const struct layer_scope *outer;
	const char *prefix;          /* "u." */
	const struct layer_use *use; /* of the block that the list is part of, or NULL */
	int input, previous;         /* layers */
	int *count;                  /* of each variant, for made-up names */
};

/* A parameter of a block in one of its uses. */
struct layer_argument {
	const char *name;
	const struct ynode *written;     /* in `scope`, where it may name parameters in turn */
	const struct layer_scope *scope;
	struct ynode *value;             /* without them */
};

/* A block's layers in the place of one entry. */
struct layer_use {
	const struct layer_block *block;
	struct loc loc;                /* of the entry */
	const struct layer_use *outer; /* the use of the block that the entry is part of, or NULL */
	struct layer_argument *arg;    /* block->nparameter */
};

/* *out: `in`, which is in s, with the values of parameters in place of $NAME and of
 * expressions of integers and $NAMEs; `except` (may be NULL), a node below `in`, stays as it is.
 * Nodes without parameters are shared. Every mistake is reported: E_CONFIG. */
int layer_substitute(struct arena *a, const struct layer_scope *s, struct ynode *in,
                     const struct ynode *except, struct ynode **out);
/* Goes from *n, as long as it is one $NAME, to what was written for it, and to the scope of that.
 * The parameters have values. */
void layer_written(const struct layer_scope **s, const struct ynode **n);

#endif
