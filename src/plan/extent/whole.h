/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides the shape and padding of the samples of evaluations and predictions, if these have
 * another size than training samples. */
#ifndef DLX_PLAN_EXTENT_WHOLE_H
#define DLX_PLAN_EXTENT_WHOLE_H

#include "pass/receptive_field.h"
#include "plan/session.h"

/* Sets s->data.field and s->size[].field from the validation loaders, with the padding that the
 * network needs. Samples of training size are not padded. E_SHAPE if the network takes only one
 * size. */
int whole_settle(struct session *s);
/* Checks that the network can be trained on each of several sizes. E_SHAPE, with a remedy, if it
 * cannot. */
int whole_check_training(const struct session *s);
/* Sets *f for samples of these shapes, with the padding that the network needs. For the shapes of
 * training, f->input.nd is 0. */
int whole_field(const struct session *s, const struct shape *input, const struct shape *target,
                struct plan_field *f);
/* Sets f->pad, the zeros that the network needs at the end of f's inputs. */
int whole_pad(const struct session *s, struct plan_field *f);
/* Whether evaluations read another size of samples than training. */
bool whole_differs(const struct session *s);
/* Computes the receptive field of the network on samples of shape `input` (C, spatial axes). whole:
 * if these are tiles, the graph of the whole field; else NULL. */
int whole_receptive_field(const struct session *s, const struct shape *input,
                          const struct graph_whole *whole, struct receptive_field *out);
/* Describes the graph of the network on whole samples of shape `input`, for plans of their tiles.
 * Lists are in arena a. */
int whole_shapes(const struct session *s, const struct shape *input, struct arena *a,
                 struct graph_whole *out);

#endif
