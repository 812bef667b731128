/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each row opens a session of its own, without data where that is not there. */
#include "cli/simulate/sim_row.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "plan/describe/describe.h"
#include "plan/memory/plan_memory.h"
#include "plan/time/step_time.h"
#include "train/run/opening.h"

static double gradient_bytes(const struct plan *p)
{
	double sum = 0;
	for (int i = 0; p->buckets && i < p->buckets->n; i++)
		sum += (double)p->buckets->bytes[i];
	return sum;
}

static double alone(const struct step_time *t, const struct plan *p)
{
	double sum = 0;
	for (int i = 0; p->buckets && i < p->buckets->n; i++)
		sum += linkmodel_seconds(&t->link, (double)p->buckets->bytes[i]);
	return sum;
}

static int64_t step_samples(const struct session *s, const struct plan *p)
{
	const struct micro_counts *m = &s->config->micros;
	return p->batch * (m->all ? m->all : s->grid.ranks / s->parts * s->config->train.accumulate);
}

/* --- the whole run --- */

static int64_t epoch_samples(const struct sim_given *g, const struct session *s)
{
	return g->samples ? g->samples : s->train_set ? dataset_info(s->train_set)->samples : 0;
}

static int64_t run_steps(const struct sim_given *g, const struct session *s, int64_t batch)
{
	const struct train_section *t = &s->config->train;
	const int64_t epoch = g->samples / batch, by_epochs = t->epochs * epoch;
	if (!g->samples)
		return step_time_steps(s);
	return by_epochs && (!t->steps || by_epochs < t->steps) ? by_epochs : t->steps;
}

/* The data as float32 is read once of the shared file system, and by each host written once or less
 * to its disk. */
static double staging(const struct sim_given *g, const struct session *s, const struct plan *p)
{
	const struct cluster_storage *c = &s->cluster->storage;
	const tid input = plan_in(p, "input");
	if (isnan(c->read) || input == NONE || epoch_samples(g, s) == 0)
		return NAN;
	const double bytes = (double)epoch_samples(g, s) * sizeof(float) *
	                     (double)(shape_count(&graph_t(p->g, input)->shape) / p->batch);
	const double read = bytes / c->read,
	             write = isnan(c->write) ? 0 : bytes / s->grid.hosts / c->write;
	return fmax(read, write);
}

static void add_run(struct sim_row *r, const struct sim_given *g, const struct session *s,
                    const struct plan *p)
{
	r->start = s->cluster->start;
	r->staging = staging(g, s, p);
	r->steps = run_steps(g, s, r->batch);
	const double before = (isnan(r->start) ? 0 : r->start) + (isnan(r->staging) ? 0 : r->staging);
	r->hours = r->steps ? (before + (double)r->steps * r->step) / 3600 : NAN;
	r->host_hours = r->hours * (double)r->hosts;
}

/* --- the row --- */

static void fill(struct sim_row *r, const struct sim_given *g, const struct session *s,
                 const struct step_time *t)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	const double computing = t->seconds - t->exposed;
	*r = (struct sim_row){ .ranks = s->grid.ranks, .hosts = s->grid.hosts, .parts = s->parts,
		.micro_batch = p->batch, .step = t->seconds,
		.exposed = t->exposed, .slowest = t->slowest, .computing = computing,
		.efficiency = computing / t->seconds, .low = computing / t->high,
		.high = computing / t->low, .batch = step_samples(s, p), .bytes = gradient_bytes(p),
		.link = alone(t, p), .buckets = p->buckets ? p->buckets->n : 0, .lag = s->ranks.lag,
		.grouping = arena_strdup(g->arena, s->config->parallel.grouping),
		.source = arena_strdup(g->arena, t->source), .noise = cluster_noise(s->cluster) };
	struct plan_memory m;
	plan_memory(p, &m);
	r->memory = m.peak;
	r->samples = (double)r->batch / t->seconds;
	r->flops = r->samples * s->parts * 3 * describe_forward_flops(p);
	add_run(r, g, s, p);
}

/* Measured times hold for the batch and the rows that were measured. */
static const struct op_times *times_for(const struct sim_given *g, const struct session *s,
                                        int local)
{
	const struct sim_kept *k = &g->kept;
	const bool fits = k->ranks == local && k->times.batch == session_plan(s, PLAN_TRAIN)->batch &&
	                  memcmp(&k->grid, &s->cut.grid, sizeof k->grid) == 0;
	return g->profile ? g->profile : fits ? &k->times : NULL;
}

static int simulate(struct sim_row *r, struct sim_given *g, struct session *s, int local)
{
	struct step_time t;
	if (g->profile && s->parts > 1)
		return ERR(E_DATA, NULL, "'--times' are of whole samples, but 'parallel.spatial' cuts "
		           "them");
	s->times = times_for(g, s, local);
	int rc = step_time_predict(&t, s, session_plan(s, PLAN_TRAIN));
	if (rc == 0 && !step_time_known(&t))
		rc = ERR(E_UNAVAILABLE, NULL, "the rates of the device '%s' are not known; give '--times'",
		         s->dev->name);
	if (rc == 0 && t.trials.kinds && !s->times)
		g->kept = (struct sim_kept){ local, s->cut.grid, *op_times_take(g->arena,
		          session_plan(s, PLAN_TRAIN), t.node, t.source) };
	if (rc == 0)
		fill(r, g, s, &t);
	step_time_release(&t);
	return rc;
}

static int load_config(struct run_config **out, const struct sim_given *g, const char *set)
{
	const char **all = mem_calloc((size_t)g->set.n + 1, sizeof *all);
	int n = 0;
	for (; n < g->set.n; n++)
		all[n] = g->set.v[n];
	if (set)
		all[n++] = set;
	int rc = config_load(out, g->config, n, all);
	mem_free(all);
	return rc;
}

static int on_a_host(const char *cluster, struct arena *a, int64_t ranks, int *local)
{
	struct cluster *c;
	TRY(cluster_load(&c, a, cluster));
	*local = (int)(ranks < c->ranks ? ranks : c->ranks);
	return cluster_check_ranks(c, ranks);
}

int sim_row(struct sim_row *out, struct sim_given *g, int64_t ranks, const char *set)
{
	struct run_config *config;
	struct session *s;
	int local;
	TRY(on_a_host(g->cluster, g->arena, ranks, &local));
	TRY(load_config(&config, g, set));
	const struct session_options so = { .ranks = (int)ranks, .quiet = true, .device = g->device,
		.gpu = g->gpu, .cluster = g->cluster, .noise = g->noise,
		.need = SESSION_TRAIN | SESSION_NO_DATA };
	TRY(session_open(&s, config, &so));
	int rc = simulate(out, g, s, local);
	session_close(s);
	return rc;
}
