/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests of models: the graph that a config's model section makes. */
#ifndef TEST_MODEL_NET_H
#define TEST_MODEL_NET_H

#include "cases.h"
#include "base/err.h"
#include "model/model.h"

struct net {
	struct arena *a;
	struct graph *g;
	tid in, out;
};

/* The model section `yaml` on an input of this shape. Returns model_build's code. */
static inline int net_try(struct net *n, const char *yaml, bool training, int64_t classes,
                          struct shape in)
{
	struct ynode *root;
	struct variant_value v;
	*n = (struct net){ .a = arena_new(), .g = graph_new() };
	err_clear();
	assert_int_equal(ytree_parse(n->a, "model.yaml", yaml, &root), 0);
	int rc = model_read(n->a, root, "'model'", &v);
	if (rc < 0)
		return rc;
	assert_int_equal(graph_input(n->g, "input", DTYPE_F32, &in, &n->in), 0);
	struct model_outputs made = { 0 };
	rc = model_build(n->g, n->a, &v, training, n->in, classes, &made);
	n->out = made.v[0].t;
	return rc;
}

/* The same in training, which must succeed. */
static inline void net_new(struct net *n, const char *yaml, int64_t classes, struct shape in)
{
	if (net_try(n, yaml, true, classes, in) < 0)
		fail_msg("%s: %d:%d: %s", yaml, err_get(0)->loc.line, err_get(0)->loc.col,
		         err_get(0)->text);
}

static inline void net_release(struct net *n)
{
	graph_free(n->g);
	arena_free(n->a);
	err_clear();
}

/* The first node of this name, or NULL. */
static inline const struct node *net_node(const struct net *n, const char *name)
{
	for (int i = 0; i < n->g->nnode; i++)
		if (n->g->node[i]->name && strcmp(n->g->node[i]->name, name) == 0)
			return n->g->node[i];
	return NULL;
}

#endif
