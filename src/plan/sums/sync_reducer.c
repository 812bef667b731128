/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each node has a bucket in a reducer of its own. It is separate from the gradients' reducer, whose
 * sums are only needed at the update. A group of fewer than all ranks has its own communicator. On
 * GPUs NCCL all-reduces, on the stream of the kernels, with a communicator separate from the
 * gradients' (comm/nccl.h explains why the two cannot block each other). */
#include "plan/sums/sync_reducer.h"

#include "backend/device.h"
#include "base/err.h"
#include "comm/nccl.h"
#include "comm/reducer_nccl.h"
#include "graph/attr.h"
#include "pass/sync_batch_norm.h"

struct sync_reducer {
	struct arena *arena;
	struct comm *subgroup;       /* NULL: the group is all ranks */
	struct reducer *sums;        /* of one plan alone */
	struct nccl *nccl;           /* of GPUs */
	struct reducer_bucket *group;
	int n;
	int64_t bytes;
};

static const char *bucket_name(struct arena *a, const struct node *n)
{
	return arena_printf(a, "%s: %s", n->name, n->phase == PHASE_FORWARD ? "batch statistics" :
	                    "gradient of batch statistics");
}

static struct sync_reducer *lay_out(const struct graph *g)
{
	struct arena *a = arena_new();
	struct sync_reducer *s = ARENA_NEW(a, struct sync_reducer);
	int64_t unused;
	s->arena = a;
	s->group = ARENA_ARRAY(a, struct reducer_bucket, sync_batch_norm_count(g, &unused));
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		if (!node_meets(n))
			continue;
		s->group[s->n++] = (struct reducer_bucket){ .offset = s->bytes,
			.n = sync_batch_norm_values(g, n), .dtype = DTYPE_F64,
			.name = bucket_name(a, n) };
		s->bytes += (sync_batch_norm_values(g, n) * (int64_t)sizeof(double) + 63) & ~INT64_C(63);
	}
	return s;
}

/* Checks that this plan's nodes are in the same order, and
 * as many and as large, as those of the first plan. */
static int check_order(const struct sync_reducer *s, const struct plan *p)
{
	int k = 0;
	bool same = true;
	for (int i = 0; i < p->g->nnode && same; i++) {
		const struct node *n = p->g->node[i];
		if (!node_meets(n))
			continue;
		same = k < s->n && *(int64_t *)attr_find(n->op, n->attr, "group", FT_INT) == k &&
		       s->group[k].n == sync_batch_norm_values(p->g, n);
		k++;
	}
	if (same && k == s->n)
		return 0;
	return ERR(E_BUG, NULL, "the plan for batches of %lld has its batch statistics in another "
	           "order than that of the first", (long long)p->batch);
}

static int open_sums(struct sync_reducer *s, struct reduction *r, int size)
{
	const struct device *dev = r->dev;
	if (size < r->comm->size)
		comm_subgroup(&s->subgroup, r->comm, r->comm->rank / size);
	struct comm *c = s->subgroup ? s->subgroup : r->comm;
	if (!dev->driver)
		return reducer_new(&r->sums.statistics, c, (size_t)s->bytes, s->group, s->n, false);
	TRY(nccl_open(&s->nccl, c, dev, r->nccl));
	const struct reducer_place gpu = { dev, c, s->nccl, false };
	return reducer_new_gpu(&r->sums.statistics, &gpu, (size_t)s->bytes, s->group, s->n);
}

int sync_reducer_open(struct sync_reducer **out, struct reduction *r, const struct plan *p,
                      int size)
{
	int64_t unused;
	if (!r->comm || size < 2 || (!*out && sync_batch_norm_count(p->g, &unused) == 0))
		return 0;
	if (*out)
		return check_order(*out, p);
	*out = lay_out(p->g);
	TRY(check_order(*out, p));
	return open_sums(*out, r, size);
}

static int open_plan_sums(struct sync_reducer *s, const struct reducer_place *where)
{
	if (where->dev->driver)
		return reducer_new_gpu(&s->sums, where, (size_t)s->bytes, s->group, s->n);
	return reducer_new(&s->sums, where->comm, (size_t)s->bytes, s->group, s->n, false);
}

int sync_reducer_open_plan(struct sync_reducer **out, struct reducer **sums,
                           const struct reducer_place *where, const struct plan *p)
{
	struct sync_reducer *s = lay_out(p->g);
	*out = NULL;
	*sums = NULL;
	if (s->n == 0) {
		arena_free(s->arena);
		return 0;
	}
	*out = s;
	TRY(check_order(s, p));
	TRY(open_plan_sums(s, where));
	*sums = s->sums;
	return 0;
}

int64_t sync_reducer_plan_bytes(const struct plan *p, const struct device *dev, int ranks)
{
	int64_t bytes = 0;
	if (!dev->driver)
		return 0;
	struct sync_reducer *s = lay_out(p->g);
	if (s->n)
		bytes = (int64_t)reducer_nccl_bytes((size_t)s->bytes, s->group, s->n, ranks);
	arena_free(s->arena);
	return bytes;
}

void sync_reducer_close_plan(struct sync_reducer *s)
{
	if (!s)
		return;
	reducer_free(s->sums);
	arena_free(s->arena);
}

const struct comm *sync_reducer_team(const struct sync_reducer *s, const struct reduction *r)
{
	return !s ? NULL : s->subgroup ? s->subgroup : r->comm;
}

int64_t sync_reducer_bytes(const struct sync_reducer *s, const struct reduction *r)
{
	return s && r->dev->driver ? (int64_t)reducer_nccl_bytes((size_t)s->bytes, s->group, s->n,
	                                                         sync_reducer_team(s, r)->size) : 0;
}

void sync_reducer_close(struct sync_reducer *s, struct reduction *r)
{
	if (!s)
		return;
	reducer_free(r->sums.statistics);
	r->sums.statistics = NULL;
	nccl_close(s->nccl);
	comm_subgroup_close(s->subgroup);
	arena_free(s->arena);
}
