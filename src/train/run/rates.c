/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The first step cannot be the best one: it touches memory for the first time, and with a gradient
 * lag it makes no update. */
#include "train/run/rates.h"

#include "base/io.h"
#include "comm/comm.h"
#include "plan/sums/reduction.h"
#include "report/progress.h"

#define PERIOD 10.0              /* seconds between updates: one per line of a batch log */

void rates_begin(struct rates *r, const struct session *s)
{
	*r = (struct rates){ .s = s, .looked_at = io_seconds(),
		.waited = session_waited(s) };
	if (comm_many(s->comm))
		r->counts = comm_counts(s->comm);
}

void rates_step(struct rates *r, double seconds, double waited, double samples)
{
	double rate = samples / seconds;
	data_rates_step(&r->data, seconds, waited);
	r->steps++;
	r->seconds += seconds;
	if (r->all_steps++ > 0 && rate > r->best)
		r->best = rate;
}

bool rates_due(const struct rates *r)
{
	return io_seconds() - r->looked_at >= PERIOD;
}

static void gather_spread(struct rates *r, struct comm *c)
{
	double n = (double)r->steps, waited = session_waited(r->s),
	       alone = r->s->config->report.one_rank;
	struct comm_counts now = comm_counts(c);
	spread_gather(&r->spread, c, r->seconds / n, (waited - r->waited) / n);
	r->waited = waited;
	r->sums = (double)(now.step_reductions - r->counts.step_reductions) / n;
	r->messages = (double)(now.messages - r->counts.messages) / n;
	r->counts = now;
	double batch = (double)(config_rank_batch(r->s->config) * config_step_batches(r->s->config));
	r->efficiency = alone > 0 ? batch / alone / r->spread.step : 1 - r->spread.exposed;
}

void rates_update(struct rates *r, struct comm *c, int64_t samples, double seconds)
{
	r->looked_at = io_seconds();
	if (r->steps == 0)
		return;
	r->sustained = (double)samples / seconds;
	data_rates_gather(&r->data, r->s);
	if (comm_many(c))
		gather_spread(r, c);
	r->looked_steps = r->steps;
	r->steps = 0;
	r->seconds = 0;
}

void rates_text(const struct rates *r, double flops, struct buf *out)
{
	const struct spread *s = &r->spread;
	if (r->sustained <= 0)
		return;
	buf_printf(out, "sustained     %.4g samples/s", r->sustained);
	if (flops > 0) {
		buf_puts(out, ", ");
		progress_put_flops(out, r->sustained * flops);
	}
	if (r->best > 0)
		buf_printf(out, "; the best step %.4g", r->best);
	if (r->best > 0 && flops > 0) {
		buf_puts(out, ", ");
		progress_put_flops(out, r->best * flops);
	}
	buf_putc(out, '\n');
	if (s->ranks)
		buf_printf(out, "ranks         %.3g to %.3g ms of own work in a step of %.3g, most on rank "
		           "%d (%s); %.2g %% exposed, efficiency %.1f %%\n", 1e3 * s->least, 1e3 * s->most,
		           1e3 * s->step, s->slowest, s->host, 100 * s->exposed, 100 * r->efficiency);
	data_rates_text(&r->data, out);
}
