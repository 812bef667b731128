/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The layers of a `layers` list in two stages: the kinds of layer there are (layer.c), and the
 * expanded list (layer_list.c), in which blocks and repeats are replaced by their layers, names are
 * unique and references are resolved. layers.c emits it. */
#ifndef DLX_MODEL_LAYER_H
#define DLX_MODEL_LAYER_H

#include "model/layers.h"

/* --- kinds --- */

/* A kind of layer that is not just one op: it owns parameters or depends on training. All have one
 * input. */
struct layer_kind {
	struct variant v; /* name, documentation, keys */
	/* Optional. Checks what the table of keys cannot. map: the YAML keys of the entry (may be
	 * NULL), for locations. */
	int (*check)(struct arena *a, const char *kind, const struct ynode *map, const struct loc *loc,
	             const void *data);
	int (*emit)(struct model_build *b, const char *path, const void *data, tid x, tid *y);
};
/* By name, or NULL. Any op flagged OP_LAYER is a layer too. */
const struct layer_kind *layer_kind_find(const char *name);
/* All kinds, then all ops flagged OP_LAYER, then room for `more` rows and the end; *n: rows filled.
 */
struct variant *layer_variants(struct arena *a, int more, int *n);

/* All kinds of entry that a list may have: the layers and `repeat`. For the help text. */
const struct variant *layer_entries(struct arena *a);

/* --- the expanded list --- */

struct layer_use;
#define LAYER_INPUT (-1) /* index that stands for the model's input */

struct layer {
	const char *path;           /* "unit1.conv" */
	struct variant_value value; /* the layer's kind or op, and its options */
	int nin;
	int *in; /* indices of earlier layers, or LAYER_INPUT */
	struct loc loc;              /* location of its entry in the config */
	const struct layer_use *use; /* of the block it is part of (layer_scope.h), or NULL */
};
struct layer_list {
	struct layer *layer;
	int n;
};
/* Reads c's list. All mistakes that it finds are reported in the error record. */
int layer_list_read(struct arena *a, const struct layers *c, const struct loc *loc,
                    struct layer_list *out);
/* Emits the layers on b->input. */
int layer_list_build(struct model_build *b, const struct layer_list *list, tid *out);

#endif
