/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Definitions of blocks in the `layers` family: a list of layers, or {parameters, layers}. */
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
	const struct field *fields; /* keys of a use of the block: one for each parameter, read as a
	                             * YAML node (NULL: not given) */
};

/* Reads a map of definitions (NULL: none). It reports every mistake and returns the first error
 * code; *out then has the definitions that could be read. */
int layer_blocks_read(struct arena *a, const struct ynode *map, struct layer_block **out, int *n);

/* The length of "$name" at text, without the '$'; 0 if there is none. */
int layer_parameter_at(const char *text);
/* The index of the parameter whose name is the n characters at name, or -1. Parameters that the
 * block's layers and defaults refer to always exist. */
int layer_parameter_find(const struct layer_block *b, const char *name, int n);

#endif
