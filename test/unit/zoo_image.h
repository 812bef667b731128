/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests of model families on images: a network built from its section of a config, and counting
 * in it. */
#ifndef TEST_ZOO_IMAGE_H
#define TEST_ZOO_IMAGE_H

#include "model_net.h"

/* Parameters and the tensors that hold them. */
static inline int64_t net_parameters(const struct net *n, int *tensors)
{
	int64_t sum = 0;
	*tensors = 0;
	for (int i = 0; i < n->g->ntensor; i++)
		if (n->g->tensor[i]->role == ROLE_PARAM) {
			sum += shape_count(&n->g->tensor[i]->shape);
			++*tensors;
		}
	return sum;
}

/* Of convolutions and dense layers. */
static inline double net_flops(const struct net *n)
{
	double sum = 0;
	for (int i = 0; i < n->g->nnode; i++)
		if (n->g->node[i]->op->flags & OP_COUNTED)
			sum += op_cost(n->g, n->g->node[i]).flops;
	return sum;
}

static inline const struct tensor *net_param(const struct net *n, const char *name)
{
	tid t = graph_find(n->g, name);
	if (t == NONE)
		fail_msg("no parameter '%s'", name);
	return graph_t(n->g, t);
}

static inline void net_assert_shape(const char *what, const struct shape *s, struct shape want)
{
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	if (!shape_equal(s, &want))
		fail_msg("%s: shape %s, expected %s", what, shape_text(s, a), shape_text(&want, b));
}

static inline void net_assert_param(const struct net *n, const char *name, struct shape want)
{
	net_assert_shape(name, &net_param(n, name)->shape, want);
}

/* The first output of the node that a layer emitted for op. */
static inline void net_assert_layer(const struct net *n, const char *layer, const char *op,
                                    struct shape want)
{
	for (int i = 0; i < n->g->nnode; i++) {
		const struct node *x = n->g->node[i];
		if (strcmp(x->name, layer) == 0 && strcmp(x->op->name, op) == 0) {
			net_assert_shape(layer, node_out_shape(n->g, x, 0), want);
			return;
		}
	}
	fail_msg("no '%s' in layer '%s'", op, layer);
}

#endif
