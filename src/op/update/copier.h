/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of float32 weights in another layout, as float32 or bf16, made piece by piece: an
 * optimizer's update rewrites them while a piece of the new weights is in the cache. */
#ifndef DLX_OP_UPDATE_COPIER_H
#define DLX_OP_UPDATE_COPIER_H

#include "graph/graph.h"

struct copier;

/* From the buffer of `from` to that of `to`, whose padding is zero and stays so, or, with `fill`,
 * is made so by copier_all, which is not for layouts without blocks; in the arena. *out is NULL
 * where the layouts group their axes in ways that have nothing to do with each other. */
struct copier_side {
	const struct tensor *tensor;
	enum dtype type;             /* that the device stores */
};
void copier_new(struct copier **out, struct arena *arena, struct copier_side from,
                struct copier_side to, bool fill);

/* Elements [lo, hi) of from's buffer can be copied by themselves where lo is a multiple of this,
 * and hi too, or the end. 0: all at once. */
int64_t copier_grain(const struct copier *c);
void copier_range(const struct copier *c, const void *from, void *to, int64_t lo, int64_t hi);
/* Copies the whole tensor with all threads. */
void copier_all(const struct copier *c, const void *from, void *to);
const char *copier_name(const struct copier *c);

#endif
