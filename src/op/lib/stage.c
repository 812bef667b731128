/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of bf16 tensors as float32 on the stack. A range function addresses elements by their
 * index in the whole tensor (dropout numbers them by it). So it gets a pointer `lo` elements before
 * the piece. */
#include "op/lib/stage.h"

#include "base/err.h"
#include "base/half.h"

struct stage stage_of(const struct kplan *k, walk_range *range)
{
	const struct node *n = k->n;
	struct stage s = { .k = k, .range = range };
	int count = 0;
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && graph_t(k->g, n->in[i])->dtype == DTYPE_BF16) {
			s.in |= 1u << i;
			count++;
		}
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE && graph_t(k->g, n->out[i])->dtype == DTYPE_BF16) {
			s.out |= 1u << i;
			count++;
		}
	BUG_IF(count > STAGE_TENSORS || (s.in | s.out) >> STAGE_TENSORS, "'%s' in bf16", n->op->name);
	return s;
}

/* The pointer p for which p + lo is the piece's first element. */
static void *before(float *piece, int64_t lo)
{
	return (void *)((uintptr_t)piece - (uintptr_t)lo * sizeof(float));
}

static void run_piece(const struct stage *s, const struct kargs *a, int64_t lo, int64_t hi)
{
	_Alignas(64) float piece[STAGE_TENSORS][STAGE_FLOATS];
	void *in[STAGE_TENSORS], *out[STAGE_TENSORS];
	const struct kargs args = { in, out, a->ws };
	int used = 0, first_out;
	for (int i = 0; i < s->k->n->nin; i++) {
		in[i] = a->in[i];
		if (!(s->in >> i & 1))
			continue;
		bfloat_to_floats(piece[used], (const uint16_t *)a->in[i] + lo, hi - lo);
		in[i] = before(piece[used++], lo);
	}
	first_out = used;
	for (int i = 0; i < s->k->n->nout; i++)
		out[i] = s->out >> i & 1 ? before(piece[used++], lo) : a->out[i];
	s->range(s->k, &args, lo, hi);
	for (int i = 0; i < s->k->n->nout; i++)
		if (s->out >> i & 1)
			bfloat_from_floats((uint16_t *)a->out[i] + lo, piece[first_out++], hi - lo);
}

void stage_range(const struct stage *s, const struct kargs *a, int64_t lo, int64_t hi)
{
	if (!s->in && !s->out) {
		s->range(s->k, a, lo, hi);
		return;
	}
	for (int64_t i = lo; i < hi; i += STAGE_FLOATS)
		run_piece(s, a, i, hi - i < STAGE_FLOATS ? hi : i + STAGE_FLOATS);
}
