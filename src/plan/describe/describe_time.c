/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both forms print the same numbers; what is not known is said to be so, and is null in JSON. */
#include "plan/describe/describe_parts.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "plan/time/cluster.h"
#include "report/progress.h"

static double exposed_share(const struct step_time *t)
{
	return t->seconds > 0 ? t->exposed / t->seconds : 0;
}

static double run_hours(const struct session *s, const struct step_time *t)
{
	return (double)step_time_steps(s) * t->seconds / 3600;
}

/* --- text --- */

/* Of the rates. */
static const char *source(const struct session *s)
{
	const struct device *d = s->dev;
	return d->imagined || (s->cluster && s->cluster->device.f32 > 0) ? "published" :
	       device_rates_described(d) ? "described" : "measured";
}

static void basis(const struct session *s, const struct step_time *t, struct buf *out)
{
	const struct node_rates *r = &t->ceilings;
	buf_puts(out, "              by ");
	progress_put_flops(out, r->f32);
	if (dtype_is_16bit(config_compute(s->config))) {
		buf_puts(out, " in f32, ");
		progress_put_flops(out, r->bits16);
		buf_printf(out, " in %s", dtype_name(config_compute(s->config)));
	}
	const bool measured = strcmp(source(s), "measured") == 0;
	buf_printf(out, " and %.4g GB/s, %s%s%s", r->bytes / 1e9, measured ? "" : "as ", source(s),
	           measured ? " just now" : "");
	if (t->trials.kinds)
		buf_printf(out,
		           ";\n              of %d kinds of nodes the %d with %.0f %% of the time were run",
		           t->trials.kinds, t->trials.tried, 100 * t->trials.share);
	buf_putc(out, '\n');
	if (s->cluster)
		buf_printf(out, "              on %s: kernels by %s; the slowest of %d ranks takes %.3g s "
		           "longer (%.3g to %.3g s a step)\n", s->cluster->name, t->source, s->grid.ranks,
		           t->slowest, t->low, t->high);
}

static void run_text(const struct session *s, const struct step_time *t, struct buf *out)
{
	const struct train_section *c = &s->config->train;
	int64_t steps = step_time_steps(s);
	if (steps)
		buf_printf(out, "              %" PRId64 " steps to the end of the run: %.3g hours\n",
		           steps, run_hours(s, t));
	else if (c->epochs)
		buf_printf(out, "              how long %" PRId64
		           " epochs take is not known without the data\n", c->epochs);
}

void describe_time_text(const struct session *s, const struct step_time *t, struct buf *out)
{
	if (!step_time_known(t))
		return;
	double computing = t->seconds - t->exposed;
	buf_printf(out, "predicted     %.3g s a step: forward %.3g, backward %.3g, update %.3g",
	           t->seconds, t->phase[PHASE_FORWARD], t->phase[PHASE_BACKWARD],
	           t->phase[PHASE_UPDATE]);
	if (s->ranks.summed)
		buf_printf(out, ",\n              waiting for %s %.3g (%.1f %%)",
		           s->parts > 1 ? "sums and messages" : "sums", t->exposed,
		           100 * exposed_share(t));
	buf_printf(out, "\n              convolutions and dense layers %.3g, the rest %.3g\n",
	           t->products, computing - t->products);
	basis(s, t, out);
	run_text(s, t, out);
}

/* --- JSON --- */

static void run_json(const struct session *s, const struct step_time *t, struct buf *out)
{
	int64_t epoch = step_time_epoch(s), steps = step_time_steps(s);
	buf_puts(out, ",\n  \"steps_per_epoch\": ");
	buf_printf(out, epoch ? "%" PRId64 : "null", epoch);
	buf_puts(out, ", \"steps\": ");
	buf_printf(out, steps ? "%" PRId64 : "null", steps);
	if (steps)
		buf_json_member(out, "hours", run_hours(s, t));
	else
		buf_puts(out, ", \"hours\": null");
}

void describe_time_json(const struct session *s, const struct step_time *t, struct buf *out)
{
	if (!step_time_known(t)) {
		buf_puts(out, " \"predicted\": null,\n");
		return;
	}
	buf_puts(out, " \"predicted\": {\"step_seconds\": ");
	buf_json_double(out, t->seconds);
	buf_json_member(out, "forward_seconds", t->phase[PHASE_FORWARD]);
	buf_json_member(out, "backward_seconds", t->phase[PHASE_BACKWARD]);
	buf_json_member(out, "update_seconds", t->phase[PHASE_UPDATE]);
	buf_json_member(out, "product_seconds", t->products);
	buf_json_member(out, "exposed_seconds", t->exposed);
	buf_json_member(out, "exposed_share", exposed_share(t));
	run_json(s, t, out);
	buf_puts(out, ",\n  \"rates\": {\"f32\": ");
	buf_json_double(out, t->ceilings.f32);
	buf_json_member(out, "half", t->ceilings.bits16);
	buf_json_member(out, "bytes", t->ceilings.bytes);
	buf_printf(out, ", \"source\": \"%s\"}, \"kinds\": %d, \"kinds_run\": %d",
	           source(s), t->trials.kinds, t->trials.tried);
	buf_json_member(out, "share_run", t->trials.share);
	buf_puts(out, ", \"cluster\": ");
	if (s->cluster)
		buf_json_string(out, s->cluster->name);
	else
		buf_puts(out, "null");
	buf_printf(out, ", \"times\": \"%s\"", t->source);
	buf_json_member(out, "slowest_seconds", t->slowest);
	buf_puts(out, "},\n");
}
