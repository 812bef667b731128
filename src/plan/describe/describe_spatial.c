/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows and gathered layers are those that the pass has noted (pass/cut.h); bytes are counted in the
 * final graph, whose layouts decide what a message takes. */
#include "plan/describe/describe_spatial.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/mem.h"
#include "op/exchange.h"
#include "plan/describe/sizes.h"
#include "plan/memory/memory_budget.h"
#include "plan/program.h"
#include "plan/spatial/plan_cut.h"
#include "plan/sums/messages.h"

/* --- counting --- */

enum direction { FORWARD, BACKWARD, DIRECTIONS };
static const char *const direction_name[] = { "forward", "backward" };

/* The messages of one exchange in a micro-batch. */
struct traffic {
	struct {
		int64_t sent, received;      /* bytes */
		int messages;                /* sent and received */
	} way[DIRECTIONS];
};

/* Numbers of the gradients' messages follow from those of the messages forward. */
static void count_node(const struct session *s, const struct graph *g, const struct node *n,
                       struct traffic *all)
{
	const struct exchange_attr *sends = exchange_sends(n), *at = sends ? sends : exchange_waits(n);
	const struct ints *id = !at ? NULL : sends ? &at->to_id : &at->from_id;
	for (int i = 0; id && i < id->n; i++) {
		struct traffic *t = &all[id->v[i] % EXCHANGE_GRADIENT];
		const enum direction way = id->v[i] < EXCHANGE_GRADIENT ? FORWARD : BACKWARD;
		const int64_t bytes = message_bytes(g, s->dev, n, i);
		t->way[way].messages++;
		if (sends)
			t->way[way].sent += bytes;
		else
			t->way[way].received += bytes;
	}
}

/* By number of the exchange; freed by the caller. */
static struct traffic *count(const struct session *s, const struct plan *p)
{
	struct traffic *t = mem_calloc((size_t)p->cut->exchanges + 1, sizeof *t);
	for (int i = 0; i < p->g->nnode; i++)
		count_node(s, p->g, p->g->node[i], t);
	return t;
}

/* Bytes that this rank sends for each sample of its team. */
struct sum {
	double way[DIRECTIONS], gathered;
	int messages;                    /* sent and received in a micro-batch */
};

static struct sum add_up(const struct plan *p, const struct traffic *t)
{
	struct sum s = { .messages = 0 };
	for (int i = 0; i < p->cut->exchanges; i++)
		for (int w = 0; w < DIRECTIONS; w++) {
			double *to = p->cut->exchange[i].gathers ? &s.gathered : &s.way[w];
			*to += (double)t[i].way[w].sent / (double)p->batch;
			s.messages += t[i].way[w].messages;
		}
	return s;
}

static int64_t rows(const struct cut *c, int k, int j)
{
	return c->bound[k][j + 1] - c->bound[k][j];
}

static bool is_interior(const struct session *s, const int place[])
{
	bool inside = true;
	for (int k = 0; k < s->cut.grid.axes; k++)
		inside &= s->cut.grid.parts[k] == 1 ||
		          (place[k] > 0 && place[k] + 1 < s->cut.grid.parts[k]);
	return inside;
}

/* --- text --- */

/* "7 x 64, 67": equal neighbours together. */
static void rows_text(const struct cut *c, int k, struct buf *out)
{
	for (int j = 0, n; j < c->grid.parts[k]; j += n) {
		for (n = 1; j + n < c->grid.parts[k] && rows(c, k, j + n) == rows(c, k, j); n++)
			;
		buf_puts(out, j ? ", " : "");
		if (n > 1)
			buf_printf(out, "%d x ", n);
		buf_printf(out, "%" PRId64, rows(c, k, j));
	}
}

static void describe_grid(const struct session *s, const struct cut *c, struct buf *out)
{
	int place[CUT_AXES];
	cut_place(&c->grid, s->cut.subdomain, place);
	buf_puts(out, "spatial       ");
	spatial_text(&c->grid, out);
	buf_printf(out, ": %d team%s of %d ranks, which share each sample\n", s->nteams,
	           s->nteams == 1 ? "" : "s", s->parts);
	for (int k = 0; k < c->grid.axes; k++) {
		buf_printf(out, "              rows along axis %d: ", k);
		rows_text(c, k, out);
		buf_putc(out, '\n');
	}
	buf_printf(out, "              figures here are of subdomain %d of 0 to %d, ", s->cut.subdomain,
	           s->parts - 1);
	buf_puts(out, is_interior(s, place) ? "in the interior\n" : "at a border of the sample\n");
}

static void input_text(const struct cut *c, const struct cut_whole *w, struct buf *out)
{
	if (w->summed)
		buf_puts(out, "its input is summed over the team");
	for (int k = 0; k < c->grid.axes && !w->summed; k++)
		buf_printf(out, "%s%" PRId64, k ? " x " : "its input of ", w->extent[k]);
	buf_puts(out, w->summed ? "" : " is gathered");
}

/* The first of them; what follows reads its output. */
static void describe_whole(const struct cut *c, struct buf *out)
{
	buf_puts(out, "whole         ");
	if (c->wholes == 0)
		buf_puts(out, "no layer is computed by all ranks of a team");
	for (int i = 0; i < c->wholes; i++) {
		const struct cut_whole *w = &c->whole[i];
		buf_printf(out, i ? ";\n              also '%s' (%s): " :
		           "from '%s' (%s) on all ranks of a team compute whole layers:\n              ",
		           w->layer, w->op);
		input_text(c, w, out);
	}
	buf_putc(out, '\n');
}

static void describe_sums(const struct session *s, const struct sum *m, const struct step_time *t,
                          struct buf *out)
{
	char a[32], b[32], c[32], d[32];
	buf_printf(out, "messages      for a sample this rank sends halos of %s (%s forward, "
	           "%s backward)\n              and %s of what is gathered\n",
	           bytes_text(m->way[FORWARD] + m->way[BACKWARD], a), bytes_text(m->way[FORWARD], b),
	           bytes_text(m->way[BACKWARD], c), bytes_text(m->gathered, d));
	buf_printf(out, "              %d messages a micro-batch; buffers of %" PRId64 " bytes, of %"
	           PRId64 " that the run takes\n", m->messages, memory_messages(s),
	           memory_budget_run(s));
	if (step_time_known(t))
		buf_printf(out, "              predicted: %.3g ms a step on their links, of which %.3g ms "
		           "are waited for\n", 1e3 * t->sending, 1e3 * t->messages);
}

static void describe_table(const struct session *s, const struct plan *p, const struct traffic *t,
                           struct buf *out)
{
	const int64_t micros = s->config->train.accumulate;
	buf_printf(out, "%15s %14s %14s %14s %14s  %s\n", "axis", "forward sent", "received",
	           "backward sent", "received", "bytes a step, for layer");
	for (int i = 0; i < p->cut->exchanges; i++) {
		const struct cut_exchange *x = &p->cut->exchange[i];
		buf_printf(out, "%15d", x->axis);
		for (int w = 0; w < DIRECTIONS; w++)
			buf_printf(out, " %14" PRId64 " %14" PRId64, t[i].way[w].sent * micros,
			           t[i].way[w].received * micros);
		buf_printf(out, "  %s%s\n", x->layer, x->gathers ? ", gathered" : "");
	}
}

void describe_spatial_text(const struct session *s, const struct step_time *t, bool table,
                           struct buf *out)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	if (s->cut_why)
		buf_printf(out, "spatial auto  %s\n", s->cut_why);
	if (!p->cut)
		return;
	struct traffic *all = count(s, p);
	const struct sum sum = add_up(p, all);
	describe_grid(s, p->cut, out);
	describe_whole(p->cut, out);
	describe_sums(s, &sum, t, out);
	if (table)
		describe_table(s, p, all, out);
	mem_free(all);
}

/* --- JSON --- */

static void auto_json(const struct session *s, struct buf *out)
{
	buf_puts(out, " \"spatial\": {\"auto\": ");
	if (s->cut_why)
		buf_json_string(out, s->cut_why);
	else
		buf_puts(out, "null");
}

static void grid_json(const struct session *s, const struct cut *c, struct buf *out)
{
	int place[CUT_AXES];
	cut_place(&c->grid, s->cut.subdomain, place);
	buf_puts(out, ", \"grid\": ");
	spatial_text(&c->grid, out);
	buf_printf(out, ", \"teams\": %d, \"subdomain\": %d, \"interior\": %s, \"rows\": [", s->nteams,
	           s->cut.subdomain, is_interior(s, place) ? "true" : "false");
	for (int k = 0; k < c->grid.axes; k++) {
		buf_puts(out, k ? ", [" : "[");
		for (int j = 0; j < c->grid.parts[k]; j++)
			buf_printf(out, "%s%" PRId64, j ? ", " : "", rows(c, k, j));
		buf_puts(out, "]");
	}
	buf_puts(out, "]");
}

static void whole_json(const struct cut *c, struct buf *out)
{
	buf_puts(out, ",\n  \"whole\": [");
	for (int i = 0; i < c->wholes; i++) {
		const struct cut_whole *w = &c->whole[i];
		buf_puts(out, i ? ", {\"layer\": " : "{\"layer\": ");
		buf_json_string(out, w->layer);
		buf_printf(out, ", \"op\": \"%s\", \"size\": ", w->op);
		for (int k = 0; k < c->grid.axes && !w->summed; k++)
			buf_printf(out, "%s%" PRId64, k ? ", " : "[", w->extent[k]);
		buf_puts(out, w->summed ? "null}" : "]}");
	}
	buf_puts(out, "]");
}

static void table_json(const struct session *s, const struct cut *c, const struct traffic *t,
                       struct buf *out)
{
	const int64_t micros = s->config->train.accumulate;
	buf_puts(out, ",\n  \"exchanges\": [");
	for (int i = 0; i < c->exchanges; i++) {
		buf_puts(out, i ? ",\n   {\"layer\": " : "\n   {\"layer\": ");
		buf_json_string(out, c->exchange[i].layer);
		buf_printf(out, ", \"axis\": %d, \"gathers\": %s", c->exchange[i].axis,
		           c->exchange[i].gathers ? "true" : "false");
		for (int w = 0; w < DIRECTIONS; w++)
			buf_printf(out, ", \"%s\": {\"messages\": %" PRId64 ", \"sent\": %" PRId64
			           ", \"received\": %" PRId64 "}", direction_name[w],
			           t[i].way[w].messages * micros, t[i].way[w].sent * micros,
			           t[i].way[w].received * micros);
		buf_puts(out, "}");
	}
	buf_puts(out, "]");
}

void describe_spatial_json(const struct session *s, const struct step_time *t, struct buf *out)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	if (s->cut_why || p->cut)
		auto_json(s, out);
	if (!p->cut) {
		buf_puts(out, s->cut_why ? ", \"grid\": null},\n" : "");
		return;
	}
	struct traffic *all = count(s, p);
	const struct sum sum = add_up(p, all);
	grid_json(s, p->cut, out);
	whole_json(p->cut, out);
	table_json(s, p->cut, all, out);
	buf_printf(out, ",\n  \"halo\": %.0f, \"gathered\": %.0f, \"buffers\": %" PRId64,
	           sum.way[FORWARD] + sum.way[BACKWARD], sum.gathered, memory_messages(s));
	if (step_time_known(t)) {
		buf_json_member(out, "link_seconds", t->sending);
		buf_json_member(out, "exposed_seconds", t->messages);
	} else {
		buf_puts(out, ", \"link_seconds\": null, \"exposed_seconds\": null");
	}
	buf_puts(out, "},\n");
	mem_free(all);
}
