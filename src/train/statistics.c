/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A node that normalises by several ranks' batches waits for them where it stands, so all ranks
 * have to come to these nodes in one order. They are numbered when they are made; scheduling keeps
 * their order, in plans for full and for short batches alike; and each has a group of a reducer of
 * its own, beside that of the gradients, whose sums nobody waits for before the update. A team that
 * is not all ranks is a communicator. On GPUs the sums are NCCL's, in the order of the kernels
 * around them, by a communicator beside that of the gradients (comm/nccl.h says why the two do not
 * wait for each other). */
#include "train/statistics.h"

#include <string.h>

#include "backend/device.h"
#include "base/err.h"
#include "base/mem.h"
#include "comm/nccl.h"
#include "comm/reducer.h"
#include "comm/reducer_nccl.h"
#include "graph/attr.h"
#include "op/norm_team.h"

#define MOST_RANKS (1 << 24)

/* --- which ranks --- */

int statistics_parse(const struct ynode *n, int *team)
{
	int64_t ranks;
	bool all;
	*team = 1;
	if (y_bool(n, &all)) {
		*team = all ? 0 : 1;
		return 0;
	}
	if (y_int(n, &ranks) && ranks >= 1 && ranks <= MOST_RANKS) {
		*team = (int)ranks;
		return 0;
	}
	return ERR(E_CONFIG, &n->loc, "'sync_batch_norm' must be false, true (all ranks together), or how many ranks a group "
	           "has, from 1 to %d", MOST_RANKS);
}

int statistics_team(const struct run_config *c, int ranks, int *team)
{
	TRY(statistics_parse(c->parallel.sync_batch_norm, team));
	if (*team == 0 || ranks == 1)
		*team = ranks;
	if (ranks % *team == 0)
		return 0;
	return ERR(E_CONFIG, &c->parallel.sync_batch_norm->loc, "%d ranks cannot be divided into groups of %d, which 'sync_batch_norm' asks for", ranks, *team);
}

/* --- the pass --- */

static const struct {
	const char *from, *to;
} forms[] = {
	{ "batch_norm", "sync_batch_norm" },
	{ "batch_norm_relu", "sync_batch_norm_relu" },
	{ "batch_norm_grad", "sync_batch_norm_grad" },
	{ "batch_norm_relu_grad", "sync_batch_norm_relu_grad" },
	{ "batch_norm_add_relu_grad", "sync_batch_norm_add_relu_grad" },
};

static const struct op *form_of(const struct node *n)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strcmp(forms[i].from, n->op->name) == 0)
			return op_find(forms[i].to);
	return NULL;
}

static int change(struct graph *g, struct node *n, const struct op *op, tid share, int group)
{
	tid *in = ARENA_ARRAY(g->arena, tid, op->max_in);
	void *attr = arena_alloc(g->arena, op->attr_size);
	TRY(schema_read(g->arena, NULL, op->attrs, op->name, &n->loc, attr));
	bool carried = attr_carry(op, attr, n->op, n->attr);
	BUG_IF(!carried, "'%s' lacks an attribute of '%s'", op->name, n->op->name);
	*(int64_t *)attr_find(op, attr, "group", FT_INT) = group;
	for (int i = 0; i < op->max_in; i++)
		in[i] = i < n->nin ? n->in[i] : NONE;
	in[op->max_in - 1] = share;
	n->op = op;
	n->attr = attr;
	n->in = in;
	n->nin = op->max_in;
	return 0;
}

int statistics_emit(struct graph *g, tid share)
{
	int group = 0;
	for (int i = 0; i < g->nnode; i++) {
		const struct op *op = form_of(g->node[i]);
		if (op)
			TRY(change(g, g->node[i], op, share, group++));
	}
	return 0;
}

/* --- their sums --- */

struct statistics {
	struct arena *arena;
	struct comm *part;           /* NULL: the team is all ranks */
	struct nccl *nccl;           /* of GPUs */
	struct reducer_group *group;
	int n;
	int64_t bytes;
};

static int64_t message(const struct graph *g, const struct node *n)
{
	return norm_team_message(node_in_shape(g, n, 0)->d[1]);
}

int statistics_count(const struct graph *g, int64_t *bytes)
{
	int messages = 0;
	*bytes = 0;
	for (int i = 0; i < g->nnode; i++)
		if (g->node[i]->op->flags & OP_MEET) {
			*bytes += message(g, g->node[i]) * (int64_t)sizeof(double);
			messages++;
		}
	return messages;
}

static const char *group_name(struct arena *a, const struct node *n)
{
	return arena_printf(a, "%s: %s", n->name, n->phase == PHASE_FORWARD ? "batch statistics" : "gradient of batch statistics");
}

static struct statistics *lay_out(const struct graph *g)
{
	struct arena *a = arena_new();
	struct statistics *s = ARENA_NEW(a, struct statistics);
	int64_t unused;
	s->arena = a;
	s->group = ARENA_ARRAY(a, struct reducer_group, statistics_count(g, &unused));
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		if (!(n->op->flags & OP_MEET))
			continue;
		s->group[s->n++] = (struct reducer_group){ .offset = s->bytes, .n = message(g, n), .dtype = DTYPE_F64,
			.name = group_name(a, n) };
		s->bytes += (message(g, n) * (int64_t)sizeof(double) + 63) & ~INT64_C(63);
	}
	return s;
}

/* That this plan's nodes come in their order, and as many and as large as those of the first plan. */
static int check_order(const struct statistics *s, const struct plan *p)
{
	int k = 0;
	bool same = true;
	for (int i = 0; i < p->g->nnode && same; i++) {
		const struct node *n = p->g->node[i];
		if (!(n->op->flags & OP_MEET))
			continue;
		same = k < s->n && *(int64_t *)attr_find(n->op, n->attr, "group", FT_INT) == k && s->group[k].n == message(p->g, n);
		k++;
	}
	if (same && k == s->n)
		return 0;
	return ERR(E_BUG, NULL, "the plan for batches of %lld has its batch statistics in another order than that of the first",
	           (long long)p->batch);
}

static int open_sums(struct statistics *s, struct device *dev, int team)
{
	if (team < dev->comm->size)
		comm_part(&s->part, dev->comm, team);
	struct comm *c = s->part ? s->part : dev->comm;
	if (!dev->driver)
		return reducer_new(&dev->statistics, c, (size_t)s->bytes, s->group, s->n, false);
	TRY(nccl_open(&s->nccl, c, dev));
	const struct reducer_place gpu = { dev, c, s->nccl, false };
	return reducer_new_gpu(&dev->statistics, &gpu, (size_t)s->bytes, s->group, s->n);
}

int statistics_open(struct statistics **out, struct device *dev, const struct plan *p, int team)
{
	int64_t unused;
	if (!dev->comm || team < 2 || (!*out && statistics_count(p->g, &unused) == 0))
		return 0;
	if (*out)
		return check_order(*out, p);
	*out = lay_out(p->g);
	TRY(check_order(*out, p));
	return open_sums(*out, dev, team);
}

int64_t statistics_bytes(const struct statistics *s, const struct device *dev)
{
	int ranks = !s ? 0 : s->part ? s->part->size : dev->comm->size;
	return s && dev->driver ? (int64_t)reducer_nccl_bytes((size_t)s->bytes, s->group, s->n, ranks) : 0;
}

void statistics_close(struct statistics *s, struct device *dev)
{
	if (!s)
		return;
	reducer_free(dev->statistics);
	dev->statistics = NULL;
	nccl_close(s->nccl);
	comm_part_close(s->part);
	arena_free(s->arena);
}
