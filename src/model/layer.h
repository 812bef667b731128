/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One layer of a `layers` list on its two stations: the kinds of layer there are (layer.c), and the
 * list after blocks and repeats are expanded, names made unique and references resolved
 * (layer_list.c). layers.c emits it. */
#ifndef DLX_MODEL_LAYER_H
#define DLX_MODEL_LAYER_H

#include "model/layers.h"

/* --- kinds --- */

/* A layer that is more than one op: it owns parameters or depends on training. All have one input.
 */
struct layer_kind {
	struct variant v; /* name, documentation, keys */
	/* Optional. What the table cannot check; map: the entry's keys (may be NULL), for places. */
	int (*check)(struct arena *a, const char *kind, const struct ynode *map, const struct loc *loc,
	             const void *data);
	int (*emit)(struct model_build *b, const char *path, const void *data, tid x, tid *y);
};
/* By name, or NULL. Any op flagged OP_LAYER is a layer too. */
const struct layer_kind *layer_kind_find(const char *name);
/* All kinds, then all ops flagged OP_LAYER, then room for `more` rows and the end; *n: rows filled.
 */
struct variant *layer_variants(struct arena *a, int more, int *n);

/* What may be in a list: all layers and `repeat`; for the help. */
const struct variant *layer_entries(struct arena *a);

/* --- the expanded list --- */

struct layer_use;
#define LAYER_INPUT (-1) /* in place of a layer: the model's input */

struct layer {
	const char *path;           /* "unit1.conv" */
	struct variant_value value; /* of a kind, or of an op */
	int nin;
	int *in; /* indices of earlier layers, or LAYER_INPUT */
	struct loc loc;              /* of its entry */
	const struct layer_use *use; /* of the block it is part of (layer_scope.h), or NULL */
};
struct layer_list {
	struct layer *layer;
	int n;
};
/* Reads c's list; every mistake found is in the error record. */
int layer_list_read(struct arena *a, const struct layers *c, const struct loc *loc,
                    struct layer_list *out);
/* Emits the layers on b->input. */
int layer_list_build(struct model_build *b, const struct layer_list *list, tid *out);

#endif
