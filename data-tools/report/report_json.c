/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The report for programs: every run, all keys in which they differ, and the groups of seeds. */
#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "data-tools/report/report.h"
#include "yaml/ytree.h"

static void json_times(const struct rank_times *t, struct buf *b)
{
	buf_json_member(b, "step_seconds", t->step);
	buf_json_member(b, "work_min", t->least);
	buf_json_member(b, "work_median", t->median);
	buf_json_member(b, "work_max", t->most);
	buf_json_member(b, "exposed", t->exposed);
	buf_json_member(b, "efficiency_of_ranks", t->efficiency);
	buf_printf(b, ", \"slowest_rank\": %" PRId64 ", \"slowest_host\": ", t->slowest);
	buf_json_string(b, t->host);
}

static void json_text(struct buf *b, const char *key, const char *text)
{
	buf_printf(b, ", \"%s\": ", key);
	if (text)
		buf_json_string(b, text);
	else
		buf_puts(b, "null");
}

/* The value as the config has it: a number, a list, a text. */
static void json_key(const struct config_key *k, int run, struct buf *b)
{
	buf_json_string(b, k->path);
	buf_puts(b, ": ");
	if (k->value[run])
		ytree_write_json(b, k->node[run]);
	else
		buf_puts(b, "null");
}

static void json_config(const struct report *o, int run, struct buf *b)
{
	buf_puts(b, ", \"config\": {");
	for (int k = 0; k < o->nkey; k++) {
		buf_puts(b, k ? ", " : "");
		json_key(&o->key[k], run, b);
	}
	buf_puts(b, "}");
}

/* Best and last of every series of which one value is better than another. */
static void json_metrics(const struct run *r, struct buf *b)
{
	int n = 0;
	buf_puts(b, ", \"metrics\": {");
	for (int i = 0; i < r->validation.n + 1; i++) {
		const char *name = i < r->validation.n ? r->validation.v[i].name : "train_loss";
		if (!run_series(r, name))
			continue;
		struct report_best best = report_best(r, name);
		buf_puts(b, n++ ? ", " : "");
		buf_json_string(b, name);
		buf_puts(b, ": {\"best\": ");
		buf_json_double(b, best.best);
		buf_json_member(b, "best_step", best.step);
		buf_json_member(b, "last", best.last);
		buf_json_member(b, "last_step", best.last_step);
		buf_puts(b, "}");
	}
	buf_puts(b, "}");
}

static void json_comparison(const struct report *o, int i, struct buf *b)
{
	const struct run *r = &o->run[i];
	const struct comparison *c = &o->c[i];
	buf_json_member(b, "samples_per_second", c->step_rate);
	buf_json_member(b, "overall_samples_per_second", c->samples_per_second);
	buf_json_member(b, "speed_up", c->speedup);
	buf_json_member(b, "efficiency", c->efficiency);
	buf_json_member(b, "sustained_flops", c->sustained_flops);
	buf_json_member(b, "peak_flops", c->peak_flops);
	buf_json_member(b, "sustained_share_of_device", c->peak_share);
	if (o->obstacles[i].ranks)
		json_text(b, o->obstacles[i].work ? "not_compared" : "no_efficiency",
		          o->obstacles[i].ranks);
	if (r->times.steps > 0)
		json_times(&r->times, b);
	if (r->data.known) {
		buf_json_member(b, "data_read", r->data.read);
		buf_json_member(b, "data_sent", r->data.sent);
		buf_json_member(b, "data_decoded", r->data.decoded);
		buf_json_member(b, "data_waited", r->data.waited);
	}
	if (o->goal.metric) {
		buf_json_member(b, "target_seconds", c->target_seconds);
		buf_json_member(b, "target_samples", c->target_samples);
		buf_json_member(b, "learning_speed_up", c->learning_speedup);
		buf_json_member(b, "statistical_efficiency", c->statistical_efficiency);
		buf_json_member(b, "speed_up_times_statistical_efficiency", comparison_product(c));
	}
}

static void json_run(const struct report *o, int i, struct buf *b)
{
	const struct run *r = &o->run[i];
	buf_puts(b, "{\"run\": ");
	buf_json_string(b, r->dir);
	json_text(b, "name", r->name);
	json_text(b, "device", r->device);
	json_text(b, "precision", r->precision);
	buf_printf(b, ", \"ranks\": %" PRId64 ", \"hosts\": %" PRId64 ", \"threads\": %" PRId64
	           ", \"batch\": %" PRId64 ", \"starts\": %" PRId64, r->ranks, r->hosts, r->threads,
	           r->batch, r->starts);
	buf_json_member(b, "step", r->step);
	buf_json_member(b, "steps", r->steps > 0 ? r->steps : NAN);
	buf_json_member(b, "seconds", run_seconds(r));
	json_text(b, "decides", r->decides);
	json_comparison(o, i, b);
	json_config(o, i, b);
	json_metrics(r, b);
	buf_puts(b, "}");
}

static void json_mean(const struct report *o, const struct seeds *g, const char *key,
                      double (*number)(const struct report *, int), struct buf *b)
{
	double *v = ARENA_ARRAY(o->arena, double, g->n);
	for (int i = 0; i < g->n; i++)
		v[i] = number(o, g->run[i]);
	struct seeds_mean m = seeds_mean(v, g->n);
	buf_printf(b, ", \"%s\": {\"n\": %d", key, m.n);
	buf_json_member(b, "mean", m.mean);
	buf_json_member(b, "deviation", m.deviation);
	buf_puts(b, "}");
}

static double best(const struct report *o, int run)
{
	return report_best(&o->run[run], o->shown).best;
}

static double last(const struct report *o, int run)
{
	return report_best(&o->run[run], o->shown).last;
}

static double rate(const struct report *o, int run)
{
	return o->c[run].step_rate;
}

/* Groups of several runs; their names are under "members", since "run" begins a run. */
static void json_pools(const struct report *o, struct buf *b)
{
	int n = 0;
	buf_puts(b, ", \"pools\": [");
	for (int i = 0; i < o->nrow; i++) {
		const struct seeds *g = &o->row[i];
		if (g->n < 2)
			continue;
		buf_puts(b, n++ ? ", {\"members\": [" : "{\"members\": [");
		for (int k = 0; k < g->n; k++) {
			buf_puts(b, k ? ", " : "");
			buf_json_string(b, o->run[g->run[k]].dir);
		}
		buf_puts(b, "]");
		json_mean(o, g, "best", best, b);
		json_mean(o, g, "last", last, b);
		json_mean(o, g, "samples_per_second", rate, b);
		buf_puts(b, "}");
	}
	buf_puts(b, "]");
}

void report_json(const struct report *o, struct buf *b)
{
	buf_puts(b, "{\"base\": ");
	buf_json_string(b, o->run[o->first].dir);
	if (o->goal.metric) {
		buf_puts(b, ", \"target\": {\"metric\": ");
		buf_json_string(b, o->goal.metric);
		buf_json_member(b, "value", o->goal.value);
		buf_printf(b, ", \"window\": %d}", o->goal.window);
	}
	json_text(b, "metric", o->shown);
	buf_puts(b, ", \"differ\": [");
	for (int k = 0; k < o->nkey; k++) {
		buf_puts(b, k ? ", " : "");
		buf_json_string(b, o->key[k].path);
	}
	buf_puts(b, "], \"runs\": [");
	for (int i = 0; i < o->n; i++) {
		buf_puts(b, i ? ", " : "");
		json_run(o, i, b);
	}
	buf_puts(b, "]");
	json_pools(o, b);
	buf_puts(b, "}\n");
}
