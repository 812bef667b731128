/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of nodes: arithmetic by the op's own rule, traffic by the sizes of inputs and outputs;
 * and functions by which kernels query their node. */
#include "graph/cost.h"
#include "graph/view.h"

static double tensor_bytes(const struct graph *g, tid t)
{
	const struct tensor *x;
	if (t == NONE)
		return 0;
	x = g->tensor[t];
	return (double)shape_count(&x->shape) * (double)dtype_size(x->dtype);
}

struct cost op_cost(const struct graph *g, const struct node *n)
{
	struct cost c = { 0 };
	if (!node_runs(g, n))
		return c;
	for (int i = 0; i < n->nin; i++)
		c.bytes += tensor_bytes(g, n->in[i]);
	for (int i = 0; i < n->nout; i++)
		c.bytes += tensor_bytes(g, n->out[i]);
	if (n->op->cost)
		n->op->cost(g, n, &c);
	return c;
}

struct cost graph_cost(const struct graph *g, unsigned phases)
{
	struct cost sum = { 0 };
	for (int i = 0; i < g->nnode; i++) {
		if (!(phases >> g->node[i]->phase & 1))
			continue;
		struct cost c = op_cost(g, g->node[i]);
		sum.flops += c.flops;
		sum.bytes += c.bytes;
	}
	return sum;
}

double cost_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

bool kernel_takes_bf16(const struct kernel *k, bool output, int i)
{
	return (output ? k->bf16_out : k->bf16_in) >> (i < 31 ? i : 31) & 1;
}

bool kernel_takes_narrow(const struct kernel *k, const struct node *n, int i)
{
	return k->takes_narrow && k->takes_narrow(n, i);
}

static int64_t elements(const struct tensor *t)
{
	return t->view == NONE ? layout_elements(&t->layout) : shape_count(&t->shape);
}

int64_t kplan_in_elements(const struct kplan *k, int i)
{
	return elements(k->g->tensor[k->n->in[i]]);
}

int64_t kplan_out_elements(const struct kplan *k, int i)
{
	return k->piece ? k->piece : elements(k->g->tensor[k->n->out[i]]);
}
