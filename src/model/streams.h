/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derivatives by coordinates that travel forward through dense layers, next to the value (Taylor
 * mode). What travels is a list of streams; those of one tensor are its rows, one after another, so
 * that each layer is one product and one op (op/taylor.h). A derivative of an activation is a
 * polynomial of derivatives of what it is applied to, up to the same order. A sum of second
 * derivatives is one stream, since layers are linear in them ("collapsed"). */
#ifndef DLX_MODEL_STREAMS_H
#define DLX_MODEL_STREAMS_H

#include "op/taylor.h"

#define STREAM_ORDER 6           /* the highest */
#define STREAM_AXES 16           /* most coordinates of a sum */
#define STREAMS_MOST 100         /* through one network, so that op/taylor has room for gradients */

struct stream {
	bool sum;                        /* of the second derivatives by each of by[] */
	int n;                           /* 0: the value */
	tid by[STREAM_AXES];             /* coordinates, ascending */
};

struct streams {
	struct arena *arena;
	int n, cap;
	struct stream *v;
};

/* The derivative of s by x. False: that is none, or of too high an order. */
bool stream_derive(const struct stream *s, tid x, struct stream *out);
bool stream_equal(const struct stream *a, const struct stream *b);
/* The index of s in list, or NONE. */
int streams_find(const struct streams *list, const struct stream *s);
void streams_add(struct streams *list, const struct stream *s);      /* if it is not there */
/* Adds all streams that s is made from in a layer: the value first, if list is empty. */
void streams_add_all(struct streams *list, const struct stream *s);

/* y (out->n P, units) of x (in->n P, width): an activation of (x weight^T + bias). What `in` lacks
 * of streams is zero; in->v[0] is the value. */
int streams_layer(struct graph *g, enum taylor_of f, const struct streams *in,
                  const struct streams *out, tid x, tid weight, tid bias, tid *y);

#endif
