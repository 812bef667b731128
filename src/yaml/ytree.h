/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The YAML file as a tree in which every key and value knows its line and column. The only file
 * that includes <yaml.h> is ytree.c. Rejected with a place: syntax errors, duplicate keys, several
 * documents, keys that are not scalars, tags. Anchors, aliases and merge keys ("<<") work; an
 * alias shares the node of its anchor. Nodes live in the tree's arena. */
#ifndef DLX_YAML_YTREE_H
#define DLX_YAML_YTREE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/types.h"

enum ykind { Y_NULL, Y_SCALAR, Y_SEQ, Y_MAP };

struct ypair {
	const char *key;
	struct loc key_loc;
	struct ynode *value;     /* never NULL */
};

struct ynode {
	enum ykind kind;
	struct loc loc;          /* position of the value; .len is the width of a scalar */
	const char *text;        /* Y_SCALAR: the value, else "" */
	bool quoted;             /* a quoted or block scalar is always a string */
	const char *source;      /* for a Y_SCALAR whose source differs from `text` (it has escapes or
	                          * several lines): the source text; else NULL */
	int n;                   /* Y_SEQ, Y_MAP: members */
	struct ynode **item;     /* Y_SEQ */
	struct ypair *pair;      /* Y_MAP, in the order written */
};

/* Parses text (NUL-terminated) known to the user as `file` (kept for err_print). On failure every
 * mistake found is in the error record, and *root is NULL only where the syntax is broken: a tree
 * with, say, a duplicate key can still be read for further mistakes. */
int ytree_parse(struct arena *a, const char *file, const char *text, struct ynode **root);
int ytree_load(struct arena *a, const char *path, struct ynode **root);   /* E_NOINPUT if missing */

/* The value under key of a map, or NULL. */
struct ynode *ytree_find(const struct ynode *map, const char *key);
struct ypair *ytree_pair(const struct ynode *map, const char *key);
/* Applies one "--set KEY=VALUE": key is a path, value is YAML; missing maps on the way are made. An
 * index ("layers[2]", "layers.2") addresses a sequence item, and a key after it, as in
 * "layers[2].filters", also one of the type that the item is a map of. Errors are placed in
 * "--set". */
int ytree_set(struct arena *a, struct ynode *root, const char *assignment);

/* The same with a value that is a tree already, which is shared; loc: the place of the key. */
int ytree_put(struct arena *a, struct ynode *root, const char *key, const struct loc *loc,
              struct ynode *value);

/* The position in the user's file of bytes offset .. offset + bytes - 1 of a scalar's text; the
 * position of the whole scalar if no finer one is known (a default). The end of the text is a valid
 * offset. */
struct loc ynode_place(const struct ynode *n, size_t offset, size_t bytes);

/* The tree as YAML (block style, flow style for short leaves), parsable back to the same tree. */
void ytree_write(struct buf *out, const struct ynode *root);
/* The tree in flow style, on one line. */
void ytree_write_flow(struct buf *out, const struct ynode *root);
/* The tree as JSON; unquoted scalars become numbers, booleans or null where they read as such. */
void ytree_write_json(struct buf *out, const struct ynode *root);

/* Scalars by YAML 1.2's core rules. Return false if the text is not of that form. Floats accept
 * 1e-4, .inf and .nan. */
bool y_is_null(const struct ynode *n);
bool y_bool(const struct ynode *n, bool *v);
bool y_int(const struct ynode *n, int64_t *v);
bool y_float(const struct ynode *n, double *v);    /* an integer text is a float too */
/* Whether n has the syntax of a number, even one outside the range of a double. */
bool y_float_form(const struct ynode *n);

#endif
