/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of a node by name, through the op's table: passes of this folder know a few names
 * ("factor", "perm") but no op's structs. Also copying and printing of attributes. */
#ifndef DLX_GRAPH_ATTR_H
#define DLX_GRAPH_ATTR_H

#include "base/buf.h"
#include "graph/op.h"

/* The member of attr under this key, or NULL if op has no such key of that type. */
void *attr_find(const struct op *op, void *attr, const char *key, enum field_type type);
/* A copy of attr in the arena; lists and strings are copied too. */
void *attr_copy(struct arena *a, const struct op *op, const void *attr);
/* Copies every attribute of from_attr to the member of to_attr with the same key; lists are shared,
 * not copied. Returns false if `to` lacks a key of `from`; the other keys are copied all the
 * same. */
bool attr_carry(const struct op *to, void *to_attr, const struct op *from, const void *from_attr);
/* Whether the keys that both ops have hold equal values. Strings count as equal only if they are
 * the same pointer. */
bool attr_agree(const struct op *a, void *a_attr, const struct op *b, void *b_attr);
/* Whether n communicates with other ranks: its op has the flag OP_MEET, and its attribute `group`
 * is not negative. */
bool node_meets(const struct node *n);
/* Appends "key: value, key: value" in table order; only what differs from the table's defaults if
 * `changed`. */
void attr_text(struct buf *out, const struct op *op, const void *attr, bool changed);

#endif
