/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the same events to every open sink. */
#include "train/save/journal.h"

#include <config.h>

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/launcher.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "graph/cost.h"
#include "plan/describe/describe.h"
#include "plan/program.h"
#include "report/tfevents.h"
#include "train/diagnose/account.h"
#include "train/run/target.h"


struct journal {
	struct jsonl *lines;
	struct tfevents *events;      /* NULL: not requested */
	const struct session *session;        /* of the start line; NULL once it is written */
	struct journal_begin begin;
	double time;                  /* when that was, in seconds since 1970 */
};

int journal_open(struct journal **out, const char *dir, bool tensorboard, int64_t resumed_step)
{
	struct journal *j = mem_calloc(1, sizeof *j);
	char *path = io_join(dir, "metrics.jsonl");
	int rc = jsonl_open(&j->lines, path, resumed_step > 0 ? resumed_step : JSONL_FRESH);
	if (rc == 0 && tensorboard)
		rc = tfevents_open(&j->events, dir, resumed_step > 0 ? resumed_step : TFEVENTS_FRESH);
	mem_free(path);
	if (rc < 0) {
		journal_close(j);
		return rc;
	}
	*out = j;
	return 0;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	jsonl_close(j->lines);
	tfevents_close(j->events);
	mem_free(j);
}

void journal_begin(struct journal *j, const struct session *s, const struct journal_begin *b)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	j->session = s;
	j->begin = *b;
	j->time = (double)now.tv_sec;
}

/* The members that describe the network: its identity, by which runs are recognised as comparable,
 * and its cost. */
static void describe_network(const struct session *s, struct jsonl_start *line,
                             char input[SHAPE_TEXT], char plan[20], struct buf *memory)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	snprintf(plan, 20, "%016" PRIx64, graph_fingerprint(p->g));
	account_json(s, memory);
	line->model = s->config->model.v->name;
	line->input = shape_text(&s->data.input, input);
	line->plan = plan;
	line->metric = target_metric(s->config);
	line->parameters = plan_parameters(p);
	line->forward_flops = describe_forward_flops(p);
	line->memory = memory->data;
}

int journal_start(struct journal *j)
{
	if (!j || !j->session)
		return 0;
	const struct session *s = j->session;
	const struct journal_begin *b = &j->begin;
	struct device *d = s->dev;
	struct launcher_job job = { NULL };
	struct buf memory = BUF_INIT;
	char host[256] = "", input[SHAPE_TEXT], plan[20];
	j->session = NULL;
	gethostname(host, sizeof host - 1);
	launcher_job(&job);
	struct jsonl_start line = { .step = b->step, .time = j->time, .name = s->config->run.name,
		.version = PACKAGE_VERSION, .ranks = comm_count(s->comm),
		.hosts = s->comm ? s->comm->hosts : 1,
		.threads = d->threads, .host = host, .device = d->name,
		.device_description = d->description,
		.precision = dtype_name(config_compute(s->config)), .batch = b->batch,
		.samples = b->samples,
		.sample_flops = b->sample_flops, .best = b->best, .best_step = b->best_step,
		.peak_flops = device_measure_peak(d, config_compute(s->config),
		                                  s->config->precision.tf32),
		.scheduler = job.scheduler, .job = job.id, .element = job.element,
		.restarts = job.restarts };
	describe_network(s, &line, input, plan, &memory);
	int rc = jsonl_start(j->lines, &line);
	buf_release(&memory);
	return rc;
}

int journal_step(struct journal *j, const struct jsonl_step *s)
{
	TRY(jsonl_step(j->lines, s));
	if (!j->events)
		return 0;
	TRY(tfevents_scalar(j->events, s->step, "train/loss", s->loss));
	TRY(tfevents_scalar(j->events, s->step, "train/learning_rate", s->learning_rate));
	for (int i = 0; i < s->nvalues; i++) {
		char tag[128];
		snprintf(tag, sizeof tag, "train/%s", s->value[i].name);
		TRY(tfevents_scalar(j->events, s->step, tag, s->value[i].v));
	}
	return tfevents_scalar(j->events, s->step, "train/samples_per_second", s->samples_per_second);
}

int journal_validation(struct journal *j, const struct journal_at *at, const struct evaluation *e)
{
	TRY(journal_start(j));
	struct jsonl_metric m[METRICS_MOST];
	const int n = e->nmetric;
	char tag[64];
	for (int i = 0; i < n; i++)
		m[i] = evaluation_metric(&e->metric[i]);
	struct jsonl_validation line = { at->step, at->epoch, at->samples, at->seconds, e->loss, m, n };
	TRY(jsonl_validation(j->lines, &line));
	if (!j->events)
		return 0;
	TRY(tfevents_scalar(j->events, at->step, "validation/loss", e->loss));
	for (int i = 0; i < n; i++) {
		if (m[i].list)
			continue;
		snprintf(tag, sizeof tag, "validation/%s", m[i].name);
		TRY(tfevents_scalar(j->events, at->step, tag, m[i].value[0]));
	}
	return 0;
}

int journal_rates(struct journal *j, const struct journal_at *at, const struct rates *r,
                  double flops)
{
	struct buf ranks = BUF_INIT, data = BUF_INIT;
	data_rates_json(&r->data, &data);
	if (r->spread.ranks) {
		buf_printf(&ranks, "{\"steps\": %lld", (long long)r->looked_steps);
		spread_json(&r->spread, &ranks);
		buf_puts(&ranks, ", \"efficiency\": ");
		buf_json_double(&ranks, r->efficiency);
		buf_printf(&ranks, ", \"sums\": %g, \"messages\": %g}", r->sums, r->messages);
	}
	struct jsonl_rates line = { at->step, at->samples, at->seconds, r->sustained, r->best, flops,
		data.data, r->spread.ranks ? ranks.data : NULL };
	int rc = jsonl_rates(j->lines, &line);
	buf_release(&data);
	buf_release(&ranks);
	return rc;
}

int journal_slow(struct journal *j, const struct journal_at *at, const char *evidence)
{
	return jsonl_slow(j->lines, at->step, at->samples, at->seconds, evidence);
}

int journal_nonfinite(struct journal *j, int64_t step, const char *members)
{
	return jsonl_nonfinite(j->lines, step, members);
}

int journal_skipped(struct journal *j, int64_t step, const char *members)
{
	return jsonl_skipped(j->lines, step, members);
}

int journal_checkpoint(struct journal *j, const struct ckpt_done *d, const char *durable,
                       double stall, double interval)
{
	return jsonl_checkpoint(j->lines, &(struct jsonl_checkpoint){ .step = d->step, .id = d->id,
		.durable = durable, .bytes = d->bytes, .raw = d->raw, .seconds = d->seconds,
		.staged = d->staged, .stall = stall, .interval = interval });
}
