/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulates a step with one clock for computing, one for all-reduces, which run in the order in
 * which they are started, and one for the messages that this rank receives. With a gradient lag a
 * step waits for all-reduces of the previous step, so two steps are simulated.
 *
 * The ranks of a sample compute about equal subdomains, so a message is taken to be sent when this
 * rank reaches the node that sends its own. */
#include "plan/time/step_time.h"

#include <math.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/round.h"
#include "op/exchange.h"
#include "op/update/all_reduce.h"
#include "pass/sync_batch_norm.h"
#include "plan/sums/messages.h"
#include "plan/time/cluster.h"
#include "plan/time/rank_noise.h"
#include "plan/time/op_times.h"

/* Bytes that a node gives to the sum it begins. */
static double sum_bytes(const struct graph *g, const struct node *n)
{
	const struct all_reduce_attr *at = all_reduce_begins(n);
	int64_t bytes = 0;
	for (int i = 0; i < n->nin; i += 2)
		bytes += all_reduce_bytes(layout_elements(&graph_t(g, n->in[i])->layout),
		                          all_reduce_dtype(at->wire));
	return (double)bytes;
}

struct clocks {
	double now, sums;            /* of computing; when the sums begun so far are done */
	double messages;             /* when the link has sent the messages waited for so far */
	double waited, began;        /* for sums and messages; when backward began */
	double *done;                /* by bucket of sums, 0: that of the mean's terms */
	double *sent;                /* by node: when it had sent its messages */
};

/* Seconds in which the processors of a host add for a sum, and which its kernels lack. In the model
 * of GPUs (LINK_GPUS) kernels lack none. */
static double adding(const struct step_time *t, double bytes)
{
	struct linkmodel inside = t->link;
	inside.hosts = 1;
	return t->link.kind == LINK_HOSTS ? linkmodel_seconds(&inside, bytes) : 0;
}

static void begin_sum(struct step_time *t, struct clocks *c, const struct graph *g,
                      const struct node *n)
{
	const int64_t k = all_reduce_begins(n)->group;
	const double bytes = sum_bytes(g, n), busy = adding(t, bytes);
	c->sums = fmax(c->sums, c->now) + linkmodel_seconds(&t->link, bytes);
	c->done[k] = c->sums;
	if (k > 0 && k <= t->buckets) {
		t->ready[k - 1] = c->now - c->began;
		t->done[k - 1] = c->sums - c->began;
	}
	c->now += busy;
	c->waited += busy;
}

/* Returns how long. */
static double wait_for(struct clocks *c, double done)
{
	const double waited = fmax(done - c->now, 0);
	c->waited += waited;
	c->now += waited;
	return waited;
}

/* Of the messages that a node waits for: seconds in which their bytes occupy the link, and by which
 * the last of them arrives later. */
struct arrival {
	double busy, latency;
};

static struct arrival arrival_of(const struct step_time *t, const struct session *s,
                                 const struct graph *g, const struct node *n)
{
	const struct exchange_attr *at = exchange_waits(n);
	const int first = s->team * s->parts,
	          here = rank_grid_host_of(&s->grid, first + s->cut.subdomain);
	struct arrival a = { 0, 0 };
	for (int i = 0; i < at->from.n; i++) {
		const bool on_host = here == rank_grid_host_of(&s->grid, first + (int)at->from.v[i]);
		const double latency = linkmodel_message(&t->link, on_host, 0),
		             bytes = (double)message_bytes(g, s->dev, n, i);
		a.busy += linkmodel_message(&t->link, on_host, bytes) - latency;
		a.latency = fmax(a.latency, latency);
	}
	return a;
}

static void receive(struct step_time *t, struct clocks *c, const struct session *s,
                    const struct graph *g, const struct node *n)
{
	const struct arrival a = arrival_of(t, s, g, n);
	const double sent = c->sent[graph_t(g, n->in[0])->producer];
	if (exchange_waits(n)->from.n == 0)
		return;
	c->messages = fmax(c->messages, sent) + a.busy;
	t->sending += a.busy + a.latency;
	t->messages += wait_for(c, c->messages + a.latency);
}

static void walk(struct step_time *t, struct clocks *c, const struct session *s,
                 const struct graph *g)
{
	bool backward = false;
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		if (n->phase == PHASE_BACKWARD && !backward)
			c->began = c->now;
		backward |= n->phase == PHASE_BACKWARD;
		if (all_reduce_waits(n))
			wait_for(c, c->done[all_reduce_waits(n)->group]);
		if (exchange_waits(n))
			receive(t, c, s, g, n);
		c->now += t->node[i];
		c->sent[i] = c->now;
		if (all_reduce_begins(n))
			begin_sum(t, c, g, n);
	}
}

/* The clock goes back to 0, for the next step. */
static void begin_step(struct step_time *t, struct clocks *c, int sums)
{
	for (int k = 0; k < sums; k++)
		c->done[k] -= c->now;
	c->sums -= c->now;
	c->now = c->waited = c->messages = 0;
	t->messages = t->sending = 0;
}

/* Leaves the last micro-batch in t->seconds and t->exposed. */
static void walk_steps(struct step_time *t, const struct session *s, const struct graph *g)
{
	int sums = 0;
	for (int i = 0; i < g->nnode; i++)
		sums += all_reduce_begins(g->node[i]) || all_reduce_waits(g->node[i]);
	struct clocks c = { .done = mem_calloc((size_t)sums + 1, sizeof(double)),
		.sent = mem_calloc((size_t)g->nnode + 1, sizeof(double)) };
	for (int step = 0; step < 2; step++) {
		begin_step(t, &c, sums);
		walk(t, &c, s, g);
	}
	t->seconds = c.now;
	t->exposed = c.waited;
	mem_free(c.done);
	mem_free(c.sent);
}

/* Those of batch normalisation are waited for where they are made, in each micro-batch. */
static double statistics_seconds(const struct step_time *t, const struct graph *g)
{
	int64_t bytes, n = sync_batch_norm_count(g, &bytes);
	return n ? (double)n * linkmodel_seconds(&t->link, (double)bytes / (double)n) : 0;
}

static int64_t micro_batches(const struct run_config *c)
{
	return c->micros.all ? c->micros.each : c->train.accumulate;
}

static void add_up(struct step_time *t, const struct session *s, const struct graph *g)
{
	double micro = statistics_seconds(t, g) + t->messages;
	int64_t micros = micro_batches(s->config);
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		double often = n->phase == PHASE_UPDATE ? 1 : (double)micros, seconds = t->node[i] * often;
		t->phase[n->phase] += seconds;
		t->products += n->op->flags & OP_COUNTED ? seconds : 0;
		micro += n->phase == PHASE_UPDATE ? 0 : t->node[i];
	}
	t->backward = t->phase[PHASE_BACKWARD] / (double)micros;
	t->statistics = statistics_seconds(t, g) * (double)micros;
	t->exposed += t->statistics + t->messages * (double)(micros - 1);
	t->messages *= (double)micros;
	t->sending *= (double)micros;
	t->seconds += statistics_seconds(t, g) + (double)(micros - 1) * micro;
}

/* A step takes as long as the slowest rank, whose kernels all take a share longer. */
static void add_noise(struct step_time *t, const struct session *s)
{
	const double ranks = s->grid.ranks, computing = t->seconds - t->exposed,
	             one = s->cluster ? cluster_noise(s->cluster) * computing : 0;
	t->slowest = one * rank_noise_largest(ranks);
	t->low = t->seconds + one * rank_noise_quantile(ranks, 0.05);
	t->high = t->seconds + one * rank_noise_quantile(ranks, 0.95);
	t->exposed += t->slowest;
	t->seconds += t->slowest;
}

/* --- the times of nodes --- */

/* Scales all nodes so that one rank alone has this many samples/s; a rank of several that share a
 * sample computes its share of it. */
static void scale(struct step_time *t, const struct session *s, const struct plan *p, double rate)
{
	const int64_t micros = micro_batches(s->config);
	double sum = 0;
	for (int i = 0; i < p->g->nnode; i++)
		sum += t->node[i] * (p->g->node[i]->phase == PHASE_UPDATE ? 1 : (double)micros);
	for (int i = 0; i < p->g->nnode; i++)
		t->node[i] *= (double)(p->batch * micros) / rate / s->parts / sum;
}

static int by_rates(struct step_time *t, const struct plan *p, const struct node_rates *r)
{
	for (int i = 0; i < p->g->nnode; i++)
		t->node[i] = node_seconds(r, p->g, p->g->node[i]);
	t->source = "published rates";
	return 0;
}

static int node_times(struct step_time *t, const struct session *s, const struct plan *p)
{
	const struct plan_env env = plan_env_of(s->config, NULL);
	struct node_rates rates;
	if (s->cluster && cluster_rates(s->cluster, &rates)) {
		TRY(by_rates(t, p, &rates));
	} else {
		rates = node_rates_reached(s->dev, &env);
		t->source = s->dev->imagined ? "published rates" :
		            device_rates_described(s->dev) ? "described rates" : "trials";
		if (s->times)
			TRY(by_rates(t, p, &rates));     /* of sums; other nodes have times */
		else
			TRY(trials_run(&t->trials, p, s->dev, &rates, t->node));
	}
	if (s->times) {
		t->source = s->times->source;
		TRY(op_times_apply(s->times, p, t->node));
	}
	if (s->cluster && s->config->report.one_rank > 0) {
		t->source = "report.one_rank";
		scale(t, s, p, s->config->report.one_rank);
	}
	return 0;
}

static void choose_link(struct step_time *t, const struct session *s)
{
	const struct run_config *c = s->config;
	if (s->cluster)
		cluster_linkmodel(&t->link, s->cluster, &s->grid,
		                  c->precision.wire != 0 || c->micros.all > 0);
	else
		t->link = s->link;
}

/* The cluster's published rates are known without a measurement. */
static struct node_rates ceilings(const struct session *s)
{
	const struct plan_env env = plan_env_of(s->config, NULL);
	const struct cluster_device *d = s->cluster ? &s->cluster->device : NULL;
	if (d && d->f32 > 0)
		return (struct node_rates){ d->f32, d->bits16, d->bandwidth, NULL };
	return node_rates_ceilings(s->dev, &env);
}

int step_time_predict(struct step_time *t, const struct session *s, const struct plan *p)
{
	size_t buckets = p->buckets ? (size_t)p->buckets->n : 0;
	*t = (struct step_time){ .ceilings = ceilings(s), .buckets = (int)buckets };
	t->node = mem_calloc((size_t)p->g->nnode + 1, sizeof *t->node);
	t->ready = mem_calloc(buckets + 1, sizeof *t->ready);
	t->done = mem_calloc(buckets + 1, sizeof *t->done);
	choose_link(t, s);
	if (!step_time_known(t))
		return 0;
	TRY(node_times(t, s, p));
	walk_steps(t, s, p->g);
	add_up(t, s, p->g);
	add_noise(t, s);
	return 0;
}

int step_time_sleep(const struct session *s, const struct plan *p)
{
	struct step_time t;
	int rc = step_time_predict(&t, s, p);
	if (rc == 0)
		exec_sleep(p->exec, t.node);
	step_time_release(&t);
	return rc;
}

void step_time_release(struct step_time *t)
{
	mem_free(t->node);
	mem_free(t->ready);
	mem_free(t->done);
}

bool step_time_known(const struct step_time *t)
{
	return t->ceilings.f32 > 0 && t->ceilings.bytes > 0;
}

/* As the loader of this many ranks cuts an epoch, size by size. */
int64_t step_time_epoch(const struct session *s)
{
	int64_t steps = 0, all = config_rank_batch(s->config) * s->nteams;
	if (!s->train_set)
		return 0;
	for (int k = 0; k < loader_sizes(s->train); k++) {
		int64_t n = loader_size(s->train, k).samples;
		int64_t batches = s->config->data.keep_short_batch ? (n + all - 1) / all : n / all;
		steps += ceil_div(batches, config_step_batches(s->config));
	}
	return steps;
}

int64_t step_time_steps(const struct session *s)
{
	const struct train_section *t = &s->config->train;
	int64_t by_epochs = t->epochs * step_time_epoch(s);
	return by_epochs && (!t->steps || by_epochs < t->steps) ? by_epochs : t->steps;
}
