/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of the `layers` family as they are defined: a list of layers, or {parameters, layers}. */
#ifndef DLX_MODEL_LAYER_BLOCK_H
#define DLX_MODEL_LAYER_BLOCK_H

#include "yaml/schema.h"

struct layer_parameter {
	const char *name;
	struct loc loc;
	struct ynode *dflt; /* NULL: required; may name parameters before this one */
};

struct layer_block {
	const char *name;
	struct loc loc;
	int last_line;            /* of the definition */
	const struct ynode *layers;
	int nparameter;
	struct layer_parameter *parameter;
	const struct field *fields; /* a node for each parameter, NULL where none is given */
};

/* Reads a map of definitions (NULL: none). Every mistake is reported, the first code returned;
 * then what could be read is in *out all the same. */
int layer_blocks_read(struct arena *a, const struct ynode *map, struct layer_block **out, int *n);

/* The length of "$name" at text, without the '$'; 0 if there is none. */
int layer_parameter_at(const char *text);
/* The parameter called by the n letters at name, or -1. Those that are in a block's
 * layers and defaults are there. */
int layer_parameter_find(const struct layer_block *b, const char *name, int n);

#endif
