/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parsing and construction of YAML nodes; internal to yaml/. */
#ifndef DLX_YAML_YTREE_PARSE_H
#define DLX_YAML_YTREE_PARSE_H

#include "yaml/ytree.h"

/* Like ytree_parse, for text that is part of the user's file: its first character is at at->line,
 * at->col of at->file. The source is not kept for err_print. fixed: every node gets exactly the
 * position *at (for a default, which has no position of its own: that of the section that lacks the
 * key). */
int ytree_parse_at(struct arena *a, const struct loc *at, bool fixed, const char *text,
                   struct ynode **root);

/* Whether text, unquoted, reads back as the same text in block and flow context. */
bool yscalar_plain(const char *text);
/* text as a YAML double-quoted scalar. */
void yscalar_quote(struct buf *out, const char *text);
/* A scalar node for text, quoted where it would otherwise read as null, a boolean or a number. */
struct ynode *ynode_string(struct arena *a, const char *text);
/* A scalar node, unquoted: numbers, booleans, names. */
struct ynode *ynode_plain(struct arena *a, const char *text);
struct ynode *ynode_new(struct arena *a, enum ykind kind);
/* Appends to a map or a sequence. Quadratic in the number of members: for short ones. */
void ynode_add_pair(struct arena *a, struct ynode *map, const char *key, struct ynode *value);
void ynode_add_item(struct arena *a, struct ynode *seq, struct ynode *item);

#endif
