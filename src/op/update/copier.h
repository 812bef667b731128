/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of float32 weights in another layout, as float32 or bf16, made piece by piece: an
 * optimizer's update rewrites a piece of the copy while the new weights are in the cache. */
#ifndef DLX_OP_UPDATE_COPIER_H
#define DLX_OP_UPDATE_COPIER_H

#include "graph/graph.h"

struct copier;

/* Makes a copier from the buffer of `from` to that of `to`, in the arena. The padding of `to` is
 * zero and stays zero; with `fill`, copier_all writes it (not for layouts without blocks). *out is
 * NULL if the two layouts group their axes in incompatible ways. */
struct copier_side {
	const struct tensor *tensor;
	enum dtype type;             /* type in which the device stores it */
};
void copier_new(struct copier **out, struct arena *arena, struct copier_side from,
                struct copier_side to, bool fill);

/* The alignment of pieces: elements [lo, hi) of from's buffer can be copied separately if lo is a
 * multiple of it, and hi is a multiple or the end. 0: only the whole buffer can be copied. */
int64_t copier_grain(const struct copier *c);
void copier_range(const struct copier *c, const void *from, void *to, int64_t lo, int64_t hi);
/* Copies the whole tensor, on all threads. */
void copier_all(const struct copier *c, const void *from, void *to);
const char *copier_name(const struct copier *c);

#endif
