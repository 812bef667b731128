/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times are those of the predicted step (plan/time/step_time.h): an all-reduce begins at its place
 * in the schedule and takes the time that the link model gives. */
#include "plan/describe/describe_parts.h"

#include <inttypes.h>

#include "op/update/all_reduce.h"
#include "pass/sync_batch_norm.h"
#include "plan/sums/sync_group.h"

static const struct node *start_of(const struct plan *p, int bucket)
{
	for (int i = 0; i < p->g->nnode; i++) {
		const struct all_reduce_attr *at = all_reduce_begins(p->g->node[i]);
		if (at && at->group == bucket + 1)
			return p->g->node[i];
	}
	return NULL;
}

/* Those of batch normalisation are made in each micro-batch. */
static int statistics(const struct session *s, const struct graph *g)
{
	int64_t bytes;
	return sync_batch_norm_count(g, &bytes) * (int)s->config->train.accumulate;
}

/* Sums of a step on every rank: of gradients, of the loss, of batch statistics. */
static int sums(const struct session *s, const struct graph *g)
{
	int n = statistics(s, g);
	for (int i = 0; i < g->nnode; i++)
		n += all_reduce_begins(g->node[i]) != NULL;
	return n;
}

/* Whether the ranks that normalise together with rank 0 are on several hosts. */
static bool sync_group_is_apart(const struct session *s)
{
	int group, ranks = s->grid.ranks;
	return s->grid.hosts > 1 && sync_group_size(s->config, ranks, s->parts, &group) == 0 &&
	       (s->grid.host[0].n < group || s->grid.host[0].rank[group - 1] != group - 1);
}

/* Of a step, by the first rank of a host. */
static int messages(const struct session *s, const struct graph *g)
{
	int n = sync_group_is_apart(s) ? statistics(s, g) : 0;
	for (int i = 0; i < g->nnode; i++) {
		const struct all_reduce_attr *at = all_reduce_begins(g->node[i]);
		if (at)
			n += rank_grid_messages(&s->grid, s->config->micros.all || at->wire != 0);
	}
	return n;
}

/* The bucket that takes longest. */
static double largest(const struct buckets *k)
{
	int64_t most = 0;
	for (int i = 0; i < k->n; i++)
		most = k->bytes[i] > most ? k->bytes[i] : most;
	return (double)most;
}

static void describe_grid(const struct session *s, const struct graph *g, struct buf *out)
{
	const struct rank_grid *grid = &s->grid;
	buf_puts(out, "grid          ");
	rank_grid_text(grid, out);
	buf_printf(out, "\nsums          %d a step, in each host in shared memory", sums(s, g));
	if (grid->hosts > 1 && grid->shards > 1)
		buf_printf(out, ", then between hosts in %d shards,\n              each by the ranks of "
		           "one place; %d messages a step", grid->shards, messages(s, g));
	else if (grid->hosts > 1)
		buf_printf(out, ", then between the first ranks of hosts;\n"
		           "              %d messages a step", messages(s, g));
	buf_putc(out, '\n');
}

/* Sums of a step, and their bytes. */
static int64_t statistics_of(const struct session *s, const struct plan *p, int64_t *bytes)
{
	int64_t micros = s->config->train.accumulate, n = sync_batch_norm_count(p->g, bytes);
	*bytes *= micros;
	return n * micros;
}

static void describe_statistics(const struct session *s, const struct plan *p,
                                const struct step_time *t, struct buf *out)
{
	int64_t bytes, n = statistics_of(s, p, &bytes);
	if (n)
		buf_printf(out, "batch norm    statistics of %s%d ranks: %" PRId64
		           " sums more, %.3g KiB; predicted: %.3g ms are waited for\n",
		           s->ranks.sync_group == s->ranks.ranks ? "all " : "each ", s->ranks.sync_group, n,
		           (double)bytes / 1024, 1e3 * t->statistics);
}

static void statistics_json(const struct session *s, const struct plan *p, struct buf *out)
{
	int64_t bytes, n = statistics_of(s, p, &bytes);
	buf_printf(out, "{\"ranks\": %d, \"reductions\": %" PRId64 ", \"bytes\": %" PRId64 "}",
	           n ? s->ranks.sync_group : 1, n, bytes);
}

static int64_t step_samples(const struct session *s, const struct plan *p)
{
	const struct micro_counts *l = &s->config->micros;
	return p->batch * (l->all ? l->all : s->nteams * s->config->train.accumulate);
}

void describe_ranks_text(const struct session *s, const struct plan *p, const struct step_time *t,
                         struct buf *out)
{
	const struct buckets *k = p->buckets;
	const struct micro_counts *l = &s->config->micros;
	int64_t bytes = 0;
	if (p->micro_sums.levels)
		buf_printf(out, "reproducible  %" PRId64 " micro-batches of %" PRId64
		           " samples a step are summed as a tree, %" PRId64 " of them on "
		           "a rank,\n              in memory of %d times the gradients\n", l->all, p->batch,
		           l->each, p->micro_sums.levels);
	if (!k)
		return;
	for (int i = 0; i < k->n; i++)
		bytes += k->bytes[i];
	buf_printf(out, "ranks         %d, batches of %" PRId64 ": %" PRId64 " samples a step%s\n",
	           s->ranks.ranks, p->batch, step_samples(s, p),
	           s->ranks.lag ? "; updates are one step late" : "");
	describe_grid(s, p->g, out);
	buf_puts(out, "links         ");
	linkmodel_text(&t->link, largest(k), out);
	buf_putc(out, '\n');
	buf_printf(out, "gradients     %.3g MiB as %s in %d messages a step (grouping: %s)\n",
	           (double)bytes / (1 << 20), all_reduce_wires[s->ranks.wire], k->n,
	           s->config->parallel.grouping);
	if (s->ranks.lag)
		buf_puts(out,
		         "              none of them is waited for unless it takes longer than a step\n");
	else
		buf_printf(out, "              predicted: %.3g ms of backward, after which %.3g ms are "
		           "waited for\n", 1e3 * t->backward,
		           1e3 * (t->exposed - t->statistics - t->messages));
	describe_statistics(s, p, t, out);
	buf_printf(out, "%15s %12s %10s %10s  %s\n", "group", "bytes", "ready ms", "done ms",
	           "gradients");
	for (int i = 0; i < k->n; i++)
		buf_printf(out, "%15d %12" PRId64 " %10.3f %10.3f  %s\n", i + 1, k->bytes[i],
		           1e3 * t->ready[i], 1e3 * t->done[i], start_of(p, i)->name);
}

static void buckets_json(const struct plan *p, const struct step_time *t, struct buf *out)
{
	const struct buckets *k = p->buckets;
	buf_putc(out, '[');
	for (int i = 0; k && i < k->n; i++) {
		const struct node *n = start_of(p, i);
		buf_printf(out, "%s\n  {\"tensors\": [", i ? "," : "");
		for (int j = 0; j < n->nin; j += 2) {
			buf_puts(out, j ? ", " : "");
			buf_json_string(out, graph_t(p->g,
			                             graph_t(p->g, graph_root(p->g, n->in[j]))->grad_of)->name);
		}
		buf_printf(out, "], \"bytes\": %" PRId64
		           ", \"ready_seconds\": %.9g, \"done_seconds\": %.9g}", k->bytes[i],
		           t->ready[i], t->done[i]);
	}
	buf_putc(out, ']');
}

void describe_ranks_json(const struct session *s, const struct plan *p, const struct step_time *t,
                         struct buf *out)
{
	buf_puts(out, " \"ranks\": ");
	rank_grid_json(&s->grid, out);
	buf_printf(out, ",\n \"sums\": %d, \"messages\": %d,\n \"batch_statistics\": ", sums(s, p->g),
	           messages(s, p->g));
	statistics_json(s, p, out);
	buf_puts(out, ",\n \"links\": ");
	if (p->buckets)
		linkmodel_json(&t->link, largest(p->buckets), out);
	else
		buf_puts(out, "null");
	buf_puts(out, ",\n \"groups\": ");
	buckets_json(p, t, out);
}
