/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All forms have the same numbers. What is not known is "-" in the table and null in JSON. */
#include "cli/simulate/sim_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/figure.h"

bool sim_fits(const struct cluster *c, const struct sim_row *row)
{
	return c->device.memory == 0 || row->memory <= c->device.memory;
}

/* --- text --- */

static void put(struct buf *out, int width, const char *form, double v)
{
	char text[32];
	snprintf(text, sizeof text, form, v);
	buf_printf(out, " %*s", width, isnan(v) ? "-" : text);
}

/* "12.5 ms", "1.30 s". */
static void put_seconds(struct buf *out, int width, double v)
{
	char text[32];
	snprintf(text, sizeof text, v < 1 ? "%.3g ms" : v < 1000 ? "%.3g s" : "%.0f s",
	         v < 1 ? 1e3 * v : v);
	buf_printf(out, " %*s", width, isnan(v) ? "-" : text);
}

static void put_noise(struct buf *out, const struct sim_result *r)
{
	const double noise = r->row[0].noise;
	buf_printf(out, "noise         %.4g of a rank's time", noise);
	if (r->fit_efficiency > 0)
		buf_printf(out, ", fitted: an efficiency of %g at %" PRId64 " ranks was given",
		           r->fit_efficiency, r->fit_ranks);
	else if (r->given->noise)
		buf_puts(out, ", as given by --noise");
	else if (isnan(r->cluster->noise))
		buf_puts(out, ": the cluster's file has none, so the slowest rank is as fast as others");
	else
		buf_puts(out, ", of the cluster's file");
	buf_putc(out, '\n');
}

static void put_given(struct buf *out, const struct sim_result *r)
{
	const struct cluster *c = r->cluster;
	const struct sim_row *last = &r->row[r->n - 1];
	buf_printf(out, "config        %s\ncluster       %s: %s, %" PRId64 " hosts of %" PRId64
	           " rank%s", r->given->config, c->file, c->name, c->hosts, c->ranks,
	           c->ranks == 1 ? "" : "s");
	if (c->device.name)
		buf_printf(out, " (%s)", c->device.name);
	buf_printf(out, "\ntimes         kernels by %s\n", last->source);
	put_noise(out, r);
	buf_printf(out, "gradients     %.4g MB a step in %d sums (grouping: %s, lag: %d)\n",
	           last->bytes / 1e6, last->buckets, last->grouping, last->lag);
	if (last->parts > 1)
		buf_printf(out, "spatial       %d ranks share each sample\n", last->parts);
	if (!sim_fits(c, last))
		buf_printf(out, "memory        about %.3g GiB of a rank; the device has %.3g\n",
		           (double)last->memory / (1 << 30), (double)c->device.memory / (1 << 30));
	if (!last->steps)
		buf_puts(out, "run           how long it takes is not known without the data, or "
		         "--samples and 'train.epochs'\n");
}

static void put_row(struct buf *out, const struct sim_row *r)
{
	buf_printf(out, "%7" PRId64 " %6" PRId64, r->ranks, r->hosts);
	put_seconds(out, 8, r->step);
	put_seconds(out, 8, r->exposed - r->slowest);
	put_seconds(out, 8, r->slowest);
	put(out, 6, "%.3f", r->efficiency);
	buf_printf(out, " %.3f-%.3f", r->low, r->high);
	put(out, 10, "%.4g", r->samples);
	put(out, 9, "%.4g", r->flops / 1e12);
	put_seconds(out, 7, r->start);
	put_seconds(out, 8, r->staging);
	put(out, 8, "%.3g", r->hours);
	put(out, 9, "%.4g", r->host_hours);
	buf_putc(out, '\n');
}

static void put_changes(struct buf *out, const struct sim_result *r)
{
	const struct sim_row *last = &r->row[r->n - 1];
	if (r->nchange == 0) {
		buf_printf(out, "\nNo other grouping, lag, batch or cut is faster at %" PRId64 " ranks.\n",
		           last->ranks);
		return;
	}
	buf_printf(out, "\nAt %" PRId64 " ranks, each planned again:\n", last->ranks);
	for (int i = 0; i < r->nchange; i++) {
		const struct sim_change *c = &r->change[i];
		char set[80];
		snprintf(set, sizeof set, strchr(c->set, '[') ? "'%s'" : "%s", c->set);
		buf_printf(out, "  --set %-32s %+.1f %% samples/s, efficiency %.3f%s%s\n", set,
		           100 * (c->row.samples / last->samples - 1), c->row.efficiency,
		           c->note ? "; " : "", c->note ? c->note : "");
	}
}

void sim_print_text(const struct sim_result *r, struct buf *out)
{
	put_given(out, r);
	buf_puts(out, "\n  ranks  hosts     step    links  slowest   eff. 5-95 %       samples/s"
	         "   TFLOP/s   start  staging    hours host hours\n");
	for (int i = 0; i < r->n; i++)
		put_row(out, &r->row[i]);
	put_changes(out, r);
}

/* --- JSON --- */

static void json_row(const struct sim_row *r, struct buf *out)
{
	buf_printf(out, "{\"ranks\": %" PRId64 ", \"hosts\": %" PRId64 ", \"subdomains\": %d", r->ranks,
	           r->hosts, r->parts);
	buf_json_member(out, "step_seconds", r->step);
	buf_json_member(out, "exposed_seconds", r->exposed);
	buf_json_member(out, "slowest_seconds", r->slowest);
	buf_json_member(out, "sums_seconds", r->link);
	buf_json_member(out, "efficiency", r->efficiency);
	buf_json_member(out, "efficiency_low", r->low);
	buf_json_member(out, "efficiency_high", r->high);
	buf_json_member(out, "samples_per_second", r->samples);
	buf_json_member(out, "flops_per_second", r->flops);
	buf_printf(out, ", \"batch\": %" PRId64 ", \"gradient_bytes\": %.0f, \"sums\": %d, "
	           "\"lag\": %d, \"grouping\": ", r->batch, r->bytes, r->buckets, r->lag);
	buf_json_string(out, r->grouping);
	buf_puts(out, ", \"times\": ");
	buf_json_string(out, r->source);
	buf_json_member(out, "noise", r->noise);
	buf_printf(out, ", \"memory\": %" PRId64, r->memory);
	buf_json_member(out, "start_seconds", r->start);
	buf_json_member(out, "staging_seconds", r->staging);
	buf_printf(out, r->steps ? ", \"steps\": %" PRId64 : ", \"steps\": null", r->steps);
	buf_json_member(out, "hours", r->hours);
	buf_json_member(out, "host_hours", r->host_hours);
}

void sim_print_json(const struct sim_result *r, struct buf *out)
{
	buf_puts(out, "{\"config\": ");
	buf_json_string(out, r->given->config);
	buf_puts(out, ", \"cluster\": ");
	buf_json_string(out, r->cluster->name);
	if (r->fit_efficiency > 0)
		buf_printf(out, ", \"fit\": {\"efficiency\": %.9g, \"ranks\": %" PRId64 "}",
		           r->fit_efficiency, r->fit_ranks);
	buf_puts(out, ",\n \"rows\": [");
	for (int i = 0; i < r->n; i++) {
		buf_puts(out, i ? ",\n  " : "\n  ");
		json_row(&r->row[i], out);
		buf_putc(out, '}');
	}
	buf_puts(out, "],\n \"changes\": [");
	for (int i = 0; i < r->nchange; i++) {
		buf_puts(out, i ? ",\n  " : "\n  ");
		json_row(&r->change[i].row, out);
		buf_puts(out, ", \"set\": ");
		buf_json_string(out, r->change[i].set);
		buf_putc(out, '}');
	}
	buf_puts(out, "]}\n");
}

/* --- the picture --- */

int sim_print_picture(const struct sim_result *r, const char *path)
{
	static const char across[] = "log2 of the number of ranks";
	double *v = mem_calloc((size_t)r->n * 6 + 1, sizeof *v);
	double *x = v, *e = x + r->n, *low = e + r->n, *high = low + r->n, *rate = high + r->n,
	       *ideal = rate + r->n;
	for (int i = 0; i < r->n; i++) {
		const struct sim_row *a = &r->row[i];
		x[i] = log2((double)a->ranks);
		e[i] = a->efficiency;
		low[i] = a->low;
		high[i] = a->high;
		rate[i] = log10(a->samples);
		ideal[i] = log10((double)a->batch / a->computing);
	}
	const struct figure_curve efficiency = { .name = "5-95 %", .colour = 1, .n = r->n, .x = x,
		.y = e, .low = low, .high = high };
	const struct figure_curve rates[] = {
		{ .name = "simulated", .colour = 1, .n = r->n, .x = x, .y = rate },
		{ .name = "without waiting", .colour = 2, .dashed = true, .n = r->n, .x = x, .y = ideal },
	};
	const struct figure_panel panels[] = {
		{ .title = "efficiency", .x_label = across, .n = 1, .curve = &efficiency },
		{ .title = "log10 samples/s", .x_label = across, .n = 2, .curve = rates },
	};
	int rc = figure_write(path, panels, 2, 2);
	mem_free(v);
	return rc;
}
