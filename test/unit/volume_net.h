/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model section built on a cube of two samples, for tests of the zoo's networks on volumes: what
 * it counts, how large its layers' outputs are, what feeds what. */
#ifndef TEST_VOLUME_NET_H
#define TEST_VOLUME_NET_H

#include "graph/op.h"
#include "model_net.h"

static inline int net_build_as(struct net *n, const char *yaml, int64_t channels, int64_t side,
                               int64_t classes)
{
	struct shape s = { 5, { 2, channels, side, side, side } };
	return net_try(n, yaml, true, classes, s);
}

static inline void net_build(struct net *n, const char *yaml, int64_t channels, int64_t side,
                             int64_t classes)
{
	net_new(n, yaml, classes, (struct shape){ 5, { 2, channels, side, side, side } });
}

struct counts {
	int64_t parameters, tensors;
	double conv, dense; /* forward flops of one sample; conv: transposed ones too */
};

static inline struct counts net_count(const struct net *n)
{
	struct counts c = { 0 };
	for (int i = 0; i < n->g->ntensor; i++)
		if (n->g->tensor[i]->role == ROLE_PARAM) {
			c.parameters += shape_count(&n->g->tensor[i]->shape);
			c.tensors++;
		}
	for (int i = 0; i < n->g->nnode; i++) {
		const struct node *node = n->g->node[i];
		double flops = op_cost(n->g, node).flops / 2; /* two samples */
		if (strcmp(node->op->name, "conv") == 0 || strcmp(node->op->name, "conv_grad_input") == 0)
			c.conv += flops;
		else if (strcmp(node->op->name, "dense") == 0)
			c.dense += flops;
	}
	return c;
}

/* The output of the layer `name`; side 0: there is no such layer. */
struct row {
	const char *name;
	int64_t channels, side;
};

static inline void net_rows(const char *yaml, int64_t channels, int64_t side, const struct row *row)
{
	struct net n;
	net_build(&n, yaml, channels, side, 3);
	for (; row->name; row++) {
		const struct node *node = net_node(&n, row->name);
		if (row->side == 0) {
			if (node)
				fail_msg("%s has '%s'", yaml, row->name);
			continue;
		}
		if (!node)
			fail_msg("%s has no '%s'", yaml, row->name);
		const struct shape *s = &graph_t(n.g, node->out[0])->shape;
		for (int a = 2; a < 5; a++)
			if (s->d[1] != row->channels || s->d[a] != row->side)
				fail_msg("%s '%s': %lld of %lld", yaml, row->name, (long long)s->d[1],
				         (long long)s->d[a]);
	}
	net_release(&n);
}

/* Name of the layer that makes the first input of layer `name`. */
static inline const char *net_feeds(const struct net *n, const char *name)
{
	const struct node *node = net_node(n, name);
	assert_non_null(node);
	nid from = graph_t(n->g, node->in[0])->producer;
	return from == NONE ? "" : n->g->node[from]->name;
}

static inline void net_refused(const char *yaml, int64_t channels, int64_t side, const char *why)
{
	struct net n;
	assert_true(net_build_as(&n, yaml, channels, side, 4) < 0);
	if (!strstr(err_get(0)->text, why))
		fail_msg("%s: %s", yaml, err_get(0)->text);
	net_release(&n);
}

#endif
