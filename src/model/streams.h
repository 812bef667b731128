/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derivatives with respect to coordinates, propagated forward through dense layers together with
 * the value (Taylor mode). A stream is the value or one derivative. The streams of one tensor are
 * stored one after another as its rows, so that each layer is one matrix product and one op
 * (op/taylor.h). A derivative of an activation is a polynomial in the derivatives of its argument
 * up to the same order. A sum of second derivatives is propagated as a single stream ("collapsed"),
 * because layers are linear in second derivatives. */
#ifndef DLX_MODEL_STREAMS_H
#define DLX_MODEL_STREAMS_H

#include "op/taylor.h"

#define STREAM_ORDER 6           /* highest order of a derivative */
#define STREAM_AXES 16           /* most coordinates of a sum of second derivatives */
#define STREAMS_MOST 100         /* most streams through one network; op/taylor then has room for
                                  * gradients */

struct stream {
	bool sum;                        /* the sum of the second derivatives with respect to each of
	                                  * by[] */
	int n;                           /* number of entries of by[], the order of the derivative; 0:
	                                  * the value */
	tid by[STREAM_AXES];             /* coordinates, ascending */
};

struct streams {
	struct arena *arena;
	int n, cap;
	struct stream *v;
};

/* The derivative of stream s with respect to x. Returns false if there is none, or its order is too
 * high. */
bool stream_derive(const struct stream *s, tid x, struct stream *out);
bool stream_equal(const struct stream *a, const struct stream *b);
void streams_add(struct streams *list, const struct stream *s);      /* if it is not there */
/* Adds all streams from which a layer computes s; if list is empty, the value first. */
void streams_add_all(struct streams *list, const struct stream *s);

/* Emits y (out->n P, units) = an activation of (x weight^T + bias), for x (in->n P, width). Streams
 * that `in` lacks are zero; in->v[0] is the value. */
int streams_layer(struct graph *g, enum taylor_of f, const struct streams *in,
                  const struct streams *out, tid x, tid weight, tid bias, tid *y);

#endif
