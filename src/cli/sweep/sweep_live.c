/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines that are renewed are the last ones of the terminal; before anything else is printed
 * they are removed. */
#include "cli/sweep/sweep_live.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/sweep/sweep_median.h"
#include "report/progress.h"

#define LINES_MOST 16            /* runs under way that are shown */
#define LEAST_SECONDS 0.1        /* between two drawings */

struct sweep_live {
	const struct sweep *s;
	const char *metric;
	bool rises, live, quiet;
	pthread_mutex_t lock;        /* the lines on the terminal: other threads print warnings */
	int lines;
	double drawn;
};

static void clear(struct sweep_live *l)
{
	if (l->lines)
		printf("\033[%dA\r\033[J", l->lines);
	l->lines = 0;
	fflush(stdout);
}

/* Before a warning. */
static void clear_hook(void *self)
{
	struct sweep_live *l = self;
	pthread_mutex_lock(&l->lock);
	clear(l);
	pthread_mutex_unlock(&l->lock);
}

struct sweep_live *sweep_live_new(const struct sweep *s, const char *metric, bool rises, bool live,
                                  bool quiet)
{
	struct sweep_live *l = mem_calloc(1, sizeof *l);
	*l = (struct sweep_live){ .s = s, .metric = metric, .rises = rises, .live = live && !quiet,
		.quiet = quiet };
	pthread_mutex_init(&l->lock, NULL);
	if (l->live)
		log_hook(clear_hook, l);
	return l;
}

void sweep_live_free(struct sweep_live *l)
{
	if (!l)
		return;
	if (l->live) {
		log_hook(NULL, NULL);
		clear(l);
	}
	pthread_mutex_destroy(&l->lock);
	mem_free(l);
}

static int ended(const struct sweep *s, const struct sweep_row *row)
{
	int n = 0;
	for (int i = 0; i < s->n; i++)
		n += row[i].state > SWEEP_RUNS;
	return n;
}

static void put_steps(struct buf *b, const struct sweep_row *r)
{
	if (r->steps)
		buf_printf(b, "step %" PRId64 "/%" PRId64 ", loss %.4g", r->step, r->steps, r->loss);
	else
		buf_puts(b, "begins");
}

static void put_best(struct buf *b, const struct sweep_live *l, const struct sweep_row *r)
{
	if (isfinite(r->best))
		buf_printf(b, ", best %s %.5g at step %" PRId64, l->metric, r->best, r->best_step);
}

static void draw(struct sweep_live *l, const struct sweep_row *row)
{
	struct buf b = BUF_INIT;
	char time[32];
	int lines = 1, best = sweep_best(row, l->s->n, l->rises);
	for (int i = 0; i < l->s->n && lines < LINES_MOST; i++) {
		if (row[i].state != SWEEP_RUNS)
			continue;
		buf_printf(&b, "  %s: ", l->s->run[i].name);
		put_steps(&b, &row[i]);
		put_best(&b, l, &row[i]);
		buf_printf(&b, ", %s\n", seconds_text(io_seconds() - row[i].seconds, time));
		lines++;
	}
	buf_printf(&b, "%d of %d runs have ended", ended(l->s, row), l->s->n);
	if (best >= 0)
		buf_printf(&b, "; best so far: %s, %s %.5g", l->s->run[best].name, l->metric,
		           row[best].best);
	buf_putc(&b, '\n');
	pthread_mutex_lock(&l->lock);
	clear(l);
	fwrite(b.data, 1, b.len, stdout);
	fflush(stdout);
	l->lines = lines;
	pthread_mutex_unlock(&l->lock);
	l->drawn = io_seconds();
	buf_release(&b);
}

void sweep_live_draw(struct sweep_live *l, const struct sweep_row *row)
{
	if (l->live && io_seconds() - l->drawn >= LEAST_SECONDS)
		draw(l, row);
}

static void say(struct sweep_live *l, const struct sweep_row *row, struct buf *line)
{
	if (!l->quiet) {
		pthread_mutex_lock(&l->lock);
		clear(l);
		printf("%s\n", line->data);
		fflush(stdout);
		pthread_mutex_unlock(&l->lock);
	}
	if (l->live)
		draw(l, row);
	buf_release(line);
}

void sweep_live_begin(struct sweep_live *l, const struct sweep_row *row, int run)
{
	struct buf line = BUF_INIT;
	const struct sweep_run *r = &l->s->run[run];
	if (l->live) {
		draw(l, row);
		return;
	}
	buf_printf(&line, "%s begins", r->name);
	if (r->ranks > 1)
		buf_printf(&line, " on ranks %d-%d", row[run].first, row[run].first + r->ranks - 1);
	else if (row[run].first)
		buf_printf(&line, " on rank %d", row[run].first);
	say(l, row, &line);
}

static const char *state_text(const struct sweep_row *r, char text[32])
{
	static const char *const words[] = {
		[SWEEP_WAITS] = "waits", [SWEEP_RUNS] = "runs", [SWEEP_DONE] = "done",
		[SWEEP_CALLED_OFF] = "called off", [SWEEP_STOPPED] = "stopped"
	};
	if (r->state == SWEEP_FAILED)
		snprintf(text, 32, "failed (%d)", r->status);
	else
		snprintf(text, 32, "%s", words[r->state]);
	return text;
}

void sweep_live_end(struct sweep_live *l, const struct sweep_row *row, int run)
{
	const struct sweep_row *r = &row[run];
	struct buf line = BUF_INIT;
	char text[32], time[32];
	buf_printf(&line, "%s: %s", l->s->run[run].name, state_text(r, text));
	if (r->step)
		buf_printf(&line, " after step %" PRId64, r->step);
	put_best(&line, l, r);
	buf_printf(&line, ", %s (%d of %d)", seconds_text(r->seconds, time), ended(l->s, row), l->s->n);
	say(l, row, &line);
}

/* --- the table --- */

static int name_width(const struct sweep *s)
{
	int width = 3;
	for (int i = 0; i < s->n; i++)
		width = (int)strlen(s->run[i].name) > width ? (int)strlen(s->run[i].name) : width;
	return width;
}

static void put_row(struct buf *out, const struct sweep_row *r, const char *name, int width,
                    int metric)
{
	char state[32], time[32], best[32] = "-", step[32] = "-";
	if (isfinite(r->best)) {
		snprintf(best, sizeof best, "%.5g", r->best);
		snprintf(step, sizeof step, "%" PRId64, r->best_step);
	}
	buf_printf(out, "%-*s  %-11s %8" PRId64 "  %*s %8s %8s\n", width, name, state_text(r, state),
	           r->step, metric, best, step, seconds_text(r->seconds, time));
}

static void put_failures(struct buf *out, const struct sweep *s, const struct sweep_row *row)
{
	int failed = 0, waits = 0, stopped = 0;
	for (int i = 0; i < s->n; i++) {
		failed += row[i].state == SWEEP_FAILED;
		stopped += row[i].state == SWEEP_STOPPED;
		waits += row[i].state == SWEEP_WAITS;
	}
	if (failed)
		buf_printf(out, "%d of %d runs failed:\n", failed, s->n);
	for (int i = 0; i < s->n; i++)
		if (row[i].state == SWEEP_FAILED)
			buf_printf(out, "  %s: %s\n", s->run[i].name, row[i].text);
	if (stopped || waits)
		buf_printf(out, "stopped: %d of %d runs are missing; make them with --resume\n",
		           stopped + waits + failed, s->n);
}

void sweep_table(struct buf *out, const struct sweep *s, const struct sweep_row *row,
                 const char *metric, int best, const char *dir)
{
	const int width = name_width(s), column = strlen(metric) > 10 ? (int)strlen(metric) : 10;
	buf_printf(out, "\n%-*s  %-11s %8s  %*s %8s %8s\n", width, "run", "state", "steps", column,
	           metric, "at step", "time");
	for (int i = 0; i < s->n; i++)
		put_row(out, &row[i], s->run[i].name, width, column);
	buf_putc(out, '\n');
	put_failures(out, s, row);
	if (best >= 0)
		buf_printf(out, "best: %s, %s %.5g at step %" PRId64 ", in %s/%s\n", s->run[best].name,
		           metric, row[best].best, row[best].best_step, dir, s->run[best].name);
}
