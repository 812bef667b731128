/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/task_nodes.h"

#include <limits.h>
#include <string.h>

#include "backend/device.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"
#include "bench/tb_kernel.h"
#include "bench/tb_task.h"

static _Thread_local struct task_rank *planned;

void task_nodes_of(struct task_rank *r)
{
	planned = r;
}

/* --- shapes --- */

#define MOST (INT64_C(1) << 50)
static const struct field task_fields[] = {
	FIELD_INT(struct task_attr, graph, NULL, 0, MOST, "the graph"),
	FIELD_INT(struct task_attr, column, NULL, 0, MOST, "the column"),
	FIELD_INT(struct task_attr, step, NULL, 0, MOST, "the step of the plan"),
	FIELD_INTS(struct task_attr, from, "", 0, MOST, "the columns of the inputs"),
	FIELD_END
};
static const struct field message_fields[] = {
	FIELD_INT(struct message_attr, edge, NULL, 0, MOST, "the edge of the exchange"),
	FIELD_INT(struct message_attr, bytes, NULL, 0, MOST, "bytes of a payload"),
	FIELD_INT(struct message_attr, n, NULL, 0, MOST, "payloads of a message"),
	FIELD_END
};

static int task_shape(struct graph *g, struct node *n)
{
	const struct task_attr *at = n->attr;
	const struct shape s = { 1, { planned->app->graph[at->graph].output_bytes } };
	return graph_out(g, n, 0, DTYPE_U8, &s);
}

static int task_kept_shape(struct graph *g, struct node *n)
{
	return graph_out_alias(g, n, 0, n->nin - 1);
}

static int post_shape(struct graph *g, struct node *n)
{
	return 0;
}

static int take_shape(struct graph *g, struct node *n)
{
	const struct message_attr *at = n->attr;
	const struct shape s = { 1, { at->bytes } };
	for (int i = 0; i < at->n; i++)
		TRY(graph_out(g, n, i, DTYPE_U8, &s));
	return 0;
}

static int take_kept_shape(struct graph *g, struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		TRY(graph_out_alias(g, n, i, i));
	return 0;
}

/* --- the record --- */

void task_record_begin(struct task_record *c)
{
	*c = (struct task_record){ .last = io_nanoseconds() };
}

void task_record_end(struct task_record *c, enum task_part part)
{
	const int64_t now = io_nanoseconds();
	c->time[part] += now - c->last;
	c->stamps[part]++;
	c->last = now;
}

static inline void end_part(const struct task_rank *r, enum task_part part)
{
	if (r->record)
		task_record_end(r->record, part);
}

/* --- tasks --- */

struct task {
	const struct tb_graph *g;
	struct task_rank *rank;
	int64_t step, column;
	const int64_t *from;
	int n;
	bool even;                   /* all columns exist at all steps of the run */
	void *scratch;
};

static int task_plan(struct kplan *k)
{
	const struct task_attr *at = k->n->attr;
	const struct tb_graph *g = &planned->app->graph[at->graph];
	const int64_t place = at->column - planned->columns[at->graph].first;
	char *scratch = planned->scratch[at->graph];
	struct task *s = arena_alloc(k->arena, sizeof *s);
	*s = (struct task){ .g = g, .rank = planned, .step = at->step, .column = at->column,
		.from = at->from.v, .n = at->from.n,
		.even = tb_is_even(g) && g->steps == planned->steps,
		.scratch = scratch ? scratch + place * g->scratch_bytes : NULL };
	k->state = s;
	return 0;
}

/* Where only some columns exist, the others' payloads are no inputs. */
static int validate(const struct task *s, int64_t t, void *const *in)
{
	const struct tb_range last = s->even ? (struct tb_range){ 0, t > 0 ? s->g->width : 0 } :
	                             tb_active(s->g, t - 1);
	for (int j = 0; j < s->n; j++)
		if (tb_within(last, s->from[j]) &&
		    !tb_holds(in[j], s->g->output_bytes, t - 1, s->from[j]))
			return tb_refuse(s->g, t, s->column, s->from[j], in[j]);
	return 0;
}

static void damage(struct task_rank *r, void *payload)
{
	if (fault_hits("payload", ++r->tasks))
		*(int64_t *)payload ^= 4;
}

static int task_run(const struct kplan *k, const struct kargs *a)
{
	const struct task *s = k->state;
	struct task_rank *r = s->rank;
	const int64_t t = *(const int64_t *)a->in[0] + s->step;
	if (!s->even && (t >= s->g->steps || !tb_within(tb_active(s->g, t), s->column)))
		return 0;
	end_part(r, PART_DISPATCH);
	TRY(validate(s, t, a->in + 1));
	tb_fill(a->out[0], s->g->output_bytes, t, s->column);
	if (r->faults)
		damage(r, a->out[0]);
	end_part(r, PART_PAYLOAD);
	r->sink = s->g->kernel->run(s->g, t, s->column, s->scratch);
	end_part(r, PART_KERNEL);
	return 0;
}

/* --- messages --- */

static int message_plan(struct kplan *k)
{
	k->state = planned;
	return 0;
}

static int post_run(const struct kplan *k, const struct kargs *a)
{
	const struct message_attr *at = k->n->attr;
	struct task_rank *r = k->state;
	void *p;
	end_part(r, PART_DISPATCH);
	TRY(exchange_room(r->links.messages, (int)at->edge, &p));
	end_part(r, PART_WAIT);
	for (int64_t i = 0; i < at->n; i++)
		memcpy((char *)p + i * at->bytes, a->in[i], (size_t)at->bytes);
	exchange_send(r->links.messages, (int)at->edge);
	end_part(r, PART_COPY);
	return 0;
}

static int take_run(const struct kplan *k, const struct kargs *a)
{
	const struct message_attr *at = k->n->attr;
	struct task_rank *r = k->state;
	const void *p;
	end_part(r, PART_DISPATCH);
	TRY(exchange_wait(r->links.messages, (int)at->edge, &p));
	end_part(r, PART_WAIT);
	for (int64_t i = 0; i < at->n; i++)
		memcpy(a->out[i], (const char *)p + i * at->bytes, (size_t)at->bytes);
	exchange_taken(r->links.messages, (int)at->edge);
	end_part(r, PART_COPY);
	return 0;
}

/* --- records --- */

#define KERNEL(plan_, run_) \
	.kernel = { [BACKEND_CPU] = { .layouts = KL_PLAIN, .plan = plan_, .run = run_ } }
#define TASK .attr_size = sizeof(struct task_attr), .attrs = task_fields, \
	KERNEL(task_plan, task_run)
#define MESSAGE(run) .attr_size = sizeof(struct message_attr), .attrs = message_fields, \
	KERNEL(message_plan, run)

static const struct op tasks[] = {
	{ .name = "task", .flags = OP_NODCE, .min_in = 1, .max_in = INT_MAX, .nout = 1,
	  .shape = task_shape, TASK },
	{ .name = "task_kept", .flags = OP_UPDATE, .min_in = 2, .max_in = INT_MAX, .nout = 1,
	  .shape = task_kept_shape, TASK },
	{ .name = "post", .flags = OP_NODCE | OP_BEGINS, .min_in = 1, .max_in = INT_MAX, .nout = 0,
	  .shape = post_shape, MESSAGE(post_run) },
	{ .name = "take", .flags = OP_NODCE | OP_AWAITS, .min_in = 0, .max_in = 0, .nout = -1,
	  .shape = take_shape, MESSAGE(take_run) },
	{ .name = "take_kept", .flags = OP_UPDATE | OP_AWAITS, .min_in = 1, .max_in = INT_MAX,
	  .nout = -1, .shape = take_kept_shape, MESSAGE(take_run) },
};
#define NTASK ((int)(sizeof tasks / sizeof *tasks))

const struct op *op_at(int i)
{
	return i < NTASK ? &tasks[i] : NULL;
}

const struct op *op_find(const char *name)
{
	for (int i = 0; i < NTASK; i++)
		if (strcmp(tasks[i].name, name) == 0)
			return &tasks[i];
	return NULL;
}
