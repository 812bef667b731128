/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tiny interpreter of the element-wise toy ops, for tests that ask what a graph computes: every
 * tensor is a vector of doubles. */
#ifndef DLX_TEST_TOY_EVAL_H
#define DLX_TEST_TOY_EVAL_H

#include "toy_ops.h"

#include "base/mem.h"

struct values {
	const struct graph *g;
	double **v;
	int n;
};

static inline int64_t elements(const struct graph *g, tid t)
{
	return shape_count(&graph_t(g, t)->shape);
}

/* Where element i of a 2-D transpose comes from. */
static inline int64_t transposed(const struct graph *g, const struct node *n, int64_t i)
{
	const struct transpose_attr *p = n->attr;
	const struct shape *y = node_out_shape(g, n, 0);
	return p->perm.v[0] == 0 ? i : i % y->d[1] * y->d[0] + i / y->d[1];
}

static inline void compute(struct values *s, const struct node *n)
{
	const struct graph *g = s->g;
	const char *op = n->op->name;
	const double *a = n->nin ? s->v[n->in[0]] : NULL, *b = n->nin > 1 ? s->v[n->in[1]] : NULL;
	double *y = s->v[n->out[0]];
	int64_t m = elements(g, n->out[0]), in = n->nin ? elements(g, n->in[0]) : 0;
	for (int64_t i = 0; i < m; i++) {
		if (!strcmp(op, "add"))
			y[i] = a[i] + b[i];
		else if (!strcmp(op, "multiply"))
			y[i] = a[i] * b[i];
		else if (!strcmp(op, "reshape") || !strcmp(op, "hard"))
			y[i] = a[i];
		else if (!strcmp(op, "transpose"))
			y[i] = a[transposed(g, n, i)];
		else if (!strcmp(op, "sgd"))
			y[i] = a[i] - 0.1 * b[i];
		else if (!strcmp(op, "relu"))
			y[i] = a[i] > 0 ? a[i] : 0;
		else if (!strcmp(op, "relu_grad"))
			y[i] = a[i] > 0 ? b[i] : 0;
		else if (!strcmp(op, "scale"))
			y[i] = a[i] * ((struct scale_attr *)n->attr)->factor +
			       ((struct scale_attr *)n->attr)->shift;
		else if (!strcmp(op, "fill"))
			y[i] = ((struct fill_attr *)n->attr)->value;
		else if (!strcmp(op, "spread"))
			y[i] = a[0];
		else if (!strcmp(op, "sum"))
			for (int64_t k = 0; k < in; k++)
				y[0] = k ? y[0] + a[k] : a[k];
		else
			fail_msg("no interpreter for '%s'", op);
	}
	/* an update leaves nothing of the old value */
	if (n->op->flags & OP_UPDATE)
		memcpy(s->v[graph_root(g, n->out[0])], y, (size_t)m * sizeof *y);
}

static inline void values_run(struct values *s)
{
	for (int t = 0; t < s->g->ntensor; t++)
		if (graph_t(s->g, t)->role == ROLE_CONSTANT)
			for (int64_t i = 0; i < elements(s->g, t); i++)
				s->v[t][i] = dtype_get(graph_t(s->g, t)->dtype,
				                       graph_t(s->g, t)->value, i);
	for (int i = 0; i < s->g->nnode; i++)
		compute(s, s->g->node[i]);
}

static inline void values_init(struct values *s, const struct graph *g)
{
	s->g = g;
	s->n = g->ntensor;
	s->v = mem_calloc((size_t)s->n, sizeof *s->v);
	for (int t = 0; t < s->n; t++) {
		s->v[t] = mem_calloc((size_t)elements(g, t), sizeof(double));
		for (int64_t i = 0; i < elements(g, t); i++)
			s->v[t][i] = 0.3 + 0.37 * (double)((i * 7 + t * 3) % 5) -
			             0.9 * (double)((i + t) % 2);
	}
}

static inline void values_release(struct values *s)
{
	for (int t = 0; t < s->n; t++)
		mem_free(s->v[t]);
	mem_free(s->v);
}

#endif
