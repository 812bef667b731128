/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides what evaluations and predictions of a session see where that has another size than a
 * training sample. */
#ifndef DLX_PLAN_EXTENT_WHOLE_H
#define DLX_PLAN_EXTENT_WHOLE_H

#include "pass/receptive_field.h"
#include "plan/session.h"

/* Sets s->data.field and s->size[].field from the validation loaders, with the zeros that the
 * network needs; nothing is padded where the size is that of training. E_SHAPE where the network
 * takes one size alone. */
int whole_settle(struct session *s);
/* Whether training can take samples of each of several sizes; E_SHAPE, with what would make them
 * fit. */
int whole_check_training(const struct session *s);
/* Sets *f to what is seen of samples of these shapes, with the same zeros; if they are those of
 * training nothing else is seen, and f->input.nd is 0. */
int whole_field(const struct session *s, const struct shape *input, const struct shape *target,
                struct plan_field *f);
/* Sets the zeros that the network gets at the end of f's inputs. */
int whole_pad(const struct session *s, struct plan_field *f);
/* Whether evaluations see another size than training. */
bool whole_differs(const struct session *s);
/* The receptive field of the network on samples of shape `input` (C, spatial axes): on tiles, if
 * the graph of the whole is given. */
int whole_receptive_field(const struct session *s, const struct shape *input,
                          const struct graph_whole *whole, struct receptive_field *out);
/* The graph of the network on samples of shape `input`, for tiles of them; lists in a. */
int whole_shapes(const struct session *s, const struct shape *input, struct arena *a,
                 struct graph_whole *out);

#endif
