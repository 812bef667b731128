/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The place of an entry in a `layers` list: its scope, which resolves names, and the use of the
 * block that it is part of, which gives parameters their values. A value of a parameter belongs to
 * the scope in which it is written: the name of a layer in it is resolved there. Private to
 * model/. */
#ifndef DLX_MODEL_LAYER_SCOPE_H
#define DLX_MODEL_LAYER_SCOPE_H

#include "model/layer_block.h"

struct layer_scope {
	const struct layer_scope *outer;
	const char *prefix;          /* prefix of the layers' names, as "u." */
	const struct layer_use *use; /* the use of the block that the list belongs to, or NULL */
	int input, previous;         /* indices of the layers that are the scope's input and the
	                              * previous entry */
	int *count;                  /* number of layers of each kind so far, for generated names */
};

/* A parameter of a block in one of its uses. */
struct layer_argument {
	const char *name;
	const struct ynode *written;     /* the value as written in `scope`; it may contain parameters
	                                  * of that scope */
	const struct layer_scope *scope;
	struct ynode *value;             /* the value after substitution of these parameters */
};

/* A block's layers in the place of one entry. */
struct layer_use {
	const struct layer_block *block;
	struct loc loc;                /* location of the entry */
	const struct layer_use *outer; /* the use of the block that the entry is part of, or NULL */
	struct layer_argument *arg;    /* block->nparameter */
};

/* Copies `in`, a node written in scope s, to *out and replaces $NAME, and expressions of integers
 * and $NAMEs, by values. `except` (may be NULL), a node below `in`, stays as it is. Nodes without
 * parameters are shared, not copied. Every mistake is reported: E_CONFIG. */
int layer_substitute(struct arena *a, const struct layer_scope *s, struct ynode *in,
                     const struct ynode *except, struct ynode **out);
/* While *n is a single $NAME, replaces *n by what was written for that parameter, and *s by the
 * scope in which it was written. All these parameters must have values. */
void layer_written(const struct layer_scope **s, const struct ynode **n);

#endif
