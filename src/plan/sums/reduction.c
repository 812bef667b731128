/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each all_reduce_start node defines a bucket, whose tensors are contiguous in the reducer's block
 * of memory. Values that are sent without conversion (float32, or float64 on the reference device)
 * are stored permanently in this block, so they are not copied. 16-bit values are converted to and
 * from the block by the nodes. On GPUs the block is in device memory and NCCL sums it
 * (comm/reducer_nccl.h). */
#include "plan/sums/reduction.h"

#include <unistd.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/trace.h"
#include "comm/nccl.h"
#include "comm/reducer_nccl.h"
#include "comm/sum.h"
#include "op/update/all_reduce.h"

bool reduction_wanted(const struct comm *c)
{
	return c && (c->size > 1 || debug.nccl_alone || debug.ranks > 1);
}

int reduction_meet(struct reduction *r)
{
	return r->comm && r->dev->driver ? nccl_open(&r->nccl, r->comm, r->dev, NULL) : 0;
}

/* What links are known to be. */
static void assume(struct linkmodel *link, const struct run_config *c, const struct device *dev,
                   const struct rank_grid *grid)
{
	if (dev->driver)
		linkmodel_of_gpus(link, grid->hosts, grid->most, dev);
	else
		linkmodel_of_hosts(link, grid->hosts, grid->most, grid->shards, c->precision.wire != 0 ||
		                   c->micros.all > 0, (int)sysconf(_SC_NPROCESSORS_ONLN));
}

/* What is measured corrects it. Other groupings do not ask for the cost, and leave NCCL the time
 * of planning to connect. */
static int measure(const struct ranks_plan *p, struct linkmodel *link, const struct reduction *r)
{
	double start = io_seconds();
	if (!r->dev->driver)
		TRY(linkmodel_measure(link, r->comm));
	else if (r->nccl && p->grouping.kind == GROUPING_AUTO)
		TRY(linkmodel_measure_gpus(link, r->comm, r->dev, r->nccl));
	trace_mark(TRACE_RUN, "cost of sums", start);
	return 0;
}

int reduction_plan(struct ranks_plan *out, struct linkmodel *link, const struct run_config *c,
                   const struct reduction *r, const struct rank_grid *grid)
{
	const struct plan_env env = plan_env_of(c, NULL);
	*out = (struct ranks_plan){ .ranks = grid->ranks, .lag = (int)c->parallel.gradient_lag,
		.wire = c->precision.wire,
		.link = link, .rates = node_rates_nominal(r->dev, &env) };
	TRY(grouping_parse(c->parallel.grouping, config_place(c, "parallel", "grouping"),
	                   &out->grouping));
	out->summed = grid->ranks > 1 || r->comm;
	assume(link, c, r->dev, grid);
	return r->comm ? measure(out, link, r) : 0;
}

struct layout_of_block {
	struct reducer_bucket *group;
	int n;
	int64_t bytes;
};

/* In float64 there is one float type. */
static enum dtype wire_type(const struct device *dev, const struct node *n)
{
	const struct all_reduce_attr *at = n->attr;
	return backend_is_double(dev->backend) ? DTYPE_F64 : all_reduce_dtype(at->wire);
}

static bool in_place(const struct device *dev, const struct node *n)
{
	return wire_type(dev, n) == device_dtype(dev, DTYPE_F32);
}

static int64_t tensor_wire_bytes(const struct device *dev, const struct graph *g,
                                 const struct node *n, int i)
{
	return all_reduce_bytes(layout_elements(&graph_t(g, n->in[i])->layout), wire_type(dev, n));
}

static int count_buckets(const struct graph *g)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		n += all_reduce_begins(g->node[i]) != NULL;
	return n;
}

static void lay_out(struct layout_of_block *b, const struct device *dev, const struct graph *g,
                    bool ordered)
{
	b->n = count_buckets(g);
	b->group = ARENA_ARRAY(g->arena, struct reducer_bucket, b->n);
	bool *waited = ARENA_ARRAY(g->arena, bool, b->n);
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		const struct all_reduce_attr *begins = all_reduce_begins(n), *waits = all_reduce_waits(n);
		if (waits)
			waited[waits->group] = true;
		if (!begins)
			continue;
		int64_t bytes = 0;
		for (int j = 0; j < n->nin; j += 2)
			bytes += tensor_wire_bytes(dev, g, n, j);
		b->group[begins->group] = (struct reducer_bucket){ .ordered = ordered,
			.n = bytes / (int64_t)dtype_size(wire_type(dev, n)), .dtype = wire_type(dev, n),
			.name = n->name,
			.lagged = waited[begins->group] };
	}
	for (int i = 0; i < b->n; i++) {
		b->group[i].offset = b->bytes;
		b->bytes += b->group[i].n * (int64_t)dtype_size(b->group[i].dtype);
	}
}

static void place(const struct reducer *r, const struct device *dev, struct store *store,
                  const struct graph *g)
{
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		const struct all_reduce_attr *begins = all_reduce_begins(n);
		if (!begins || !in_place(dev, n))
			continue;
		char *at = reducer_bucket_memory(r, (int)begins->group);
		for (int j = 0; j < n->nin; j += 2) {
			store_place(store, graph_t(g, graph_root(g, n->in[j]))->name, at);
			at += tensor_wire_bytes(dev, g, n, j);
		}
	}
}

int64_t reduction_block(const struct reduction *r, const struct plan *p)
{
	const struct device *dev = r->dev;
	const int ranks = r->comm ? r->comm->size : r->planned;
	struct layout_of_block b = { 0 };
	if ((!r->comm && ranks < 2) || !p->buckets)
		return 0;
	lay_out(&b, dev, p->g, p->micro_sums.levels > 0);
	return dev->driver ? (int64_t)reducer_nccl_bytes((size_t)b.bytes, b.group, b.n, ranks) :
	       b.bytes;
}

static int64_t own_bytes(const struct graph *g, tid t)
{
	return (int64_t)store_padded((size_t)graph_t(g, t)->bytes);
}

int64_t reduction_bytes(const struct reduction *r, const struct plan *p)
{
	int64_t block = r->sums.gradients ? 0 : reduction_block(r, p), moved = 0;
	for (int i = 0; block && i < p->g->nnode; i++) {
		const struct node *n = p->g->node[i];
		for (int j = 0; all_reduce_begins(n) && in_place(r->dev, n) && j < n->nin; j += 2)
			moved += own_bytes(p->g, graph_root(p->g, n->in[j]));
	}
	return block - moved;
}

int reduction_open(struct reduction *r, struct store *store, const struct plan *p)
{
	const struct device *dev = r->dev;
	struct layout_of_block b = { 0 };
	if (r->sums.gradients || !r->comm || !p->buckets)
		return 0;
	lay_out(&b, dev, p->g, p->micro_sums.levels > 0);
	const struct reducer_place gpu = { dev, r->comm, r->nccl, true };
	TRY(dev->driver ? reducer_new_gpu(&r->sums.gradients, &gpu, (size_t)b.bytes, b.group, b.n)
	                : reducer_new(&r->sums.gradients, r->comm, (size_t)b.bytes, b.group,
	                              b.n, true));
	place(r->sums.gradients, dev, store, p->g);
	return 0;
}

/* A tensor that travels in 16 bits, from the block into its state or the other way. */
static int convert(const struct device *dev, enum dtype wire, const struct store_entry *e,
                   void *block, bool to_block)
{
	int64_t n = layout_elements(&e->layout);
	size_t wide = (size_t)n * sizeof(float), narrow = (size_t)n * dtype_size(wire);
	float *x = mem_alloc(wide);
	void *w = mem_alloc(narrow);
	int rc = to_block ? device_get(dev, x, e->data, wide) : device_get(dev, w, block, narrow);
	if (rc == 0 && to_block) {
		sum_narrow(wire, w, x, n);
		rc = device_put(dev, block, w, narrow);
	} else if (rc == 0) {
		sum_widen(wire, x, w, n);
		rc = device_put(dev, e->data, x, wide);
	}
	mem_free(x);
	mem_free(w);
	return rc;
}

static int convert_bucket(const struct reducer *r, const struct device *dev,
                          const struct store *store, const struct graph *g, const struct node *n,
                          bool to_block)
{
	const struct all_reduce_attr *at = n->attr;
	char *block = reducer_bucket_memory(r, (int)at->group);
	if (in_place(dev, n))
		return 0;
	for (int j = 0; j < n->nin; j += 2) {
		const struct store_entry *e = store_find(store, graph_t(g, graph_root(g, n->in[j]))->name);
		TRY(convert(dev, wire_type(dev, n), e, block, to_block));
		block += tensor_wire_bytes(dev, g, n, j);
	}
	return 0;
}

/* Whether the node begins a sum that is under way. */
static bool under_way(const struct reducer *r, const struct node *n)
{
	const struct all_reduce_attr *begins = all_reduce_begins(n);
	return begins && reducer_under_way(r, (int)begins->group);
}

int reduction_flush(struct reduction *r, const struct store *store, const struct plan *p)
{
	struct reducer *sums = r->sums.gradients;
	if (!sums || !p->buckets)
		return 0;
	for (int i = 0; i < p->g->nnode; i++) {
		const struct node *n = p->g->node[i];
		if (!under_way(sums, n))
			continue;
		TRY(reducer_wait(sums, (int)all_reduce_begins(n)->group));
		TRY(convert_bucket(sums, r->dev, store, p->g, n, false));
	}
	return 0;
}

int reduction_keep(const struct reduction *r)
{
	return r->sums.gradients ? reducer_keep(r->sums.gradients) : 0;
}

int reduction_resume(struct reduction *r, const struct store *store, const struct plan *p)
{
	struct reducer *sums = r->sums.gradients;
	if (!sums || !r->dev->driver || !p->buckets)
		return 0;
	for (int i = 0; i < p->g->nnode; i++)
		if (under_way(sums, p->g->node[i]))
			TRY(convert_bucket(sums, r->dev, store, p->g, p->g->node[i], true));
	return reducer_keep(sums);
}

double reduction_waited(const struct reduction *r)
{
	const struct reducer *own[] = { r->sums.gradients, r->sums.statistics };
	double sum = 0;
	for (int i = 0; i < 2; i++)
		sum += own[i] ? reducer_stats(own[i]).waited : 0;
	return sum;
}

void reduction_close(struct reduction *r)
{
	reducer_free(r->sums.gradients);
	nccl_close(r->nccl);
	*r = (struct reduction){ .dev = r->dev, .comm = r->comm, .planned = r->planned };
}
