/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The live line is redrawn in place with a carriage return and an erase; anything else that wants
 * to be printed erases it first through the log hook and the next update draws it again. */
#include "report/progress.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"

const char *const progress_names[] = { "auto", "bar", "lines", "none", NULL };

#define BAR_PERIOD 0.1
#define LINE_PERIOD 10.0
#define BAR_WIDTH 20
#define SLOW 1.05                 /* of the median: a rank that is worth a name */
#define BAR_COLUMNS 80            /* narrower terminals have no room for bar and numbers */

struct progress {
	enum progress_mode mode;
	double drawn_at;              /* 0: never */
	atomic_bool live;             /* a live line is on the terminal; other
	                               * threads' warnings erase it */
	struct buf line;              /* reused, so that a steady step allocates nothing */
};

static void erase(void *arg)
{
	struct progress *p = arg;
	if (!p->live)
		return;
	fputs("\r\033[K", stdout);
	fflush(stdout);
	p->live = false;
}

struct progress *progress_new(enum progress_mode mode)
{
	struct progress *p = mem_calloc(1, sizeof *p);
	if (mode == PROGRESS_AUTO)
		mode = isatty(STDOUT_FILENO) ? PROGRESS_BAR : PROGRESS_LINES;
	p->mode = mode;
	buf_init(&p->line);
	buf_reserve(&p->line, 512);
	if (mode == PROGRESS_BAR)
		log_hook(erase, p);
	return p;
}

void progress_free(struct progress *p)
{
	if (!p)
		return;
	erase(p);
	if (p->mode == PROGRESS_BAR)
		log_hook(NULL, NULL);
	buf_release(&p->line);
	mem_free(p);
}

const char *seconds_text(double seconds, char *buf)
{
	long s = (long)(seconds + 0.5);
	if (s < 60)
		snprintf(buf, 32, "%ld s", s);
	else if (s < 3600)
		snprintf(buf, 32, "%ld:%02ld", s / 60, s % 60);
	else
		snprintf(buf, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
	return buf;
}

static int columns(void)
{
	struct winsize w;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 100;
}

static void add_bar(struct buf *b, int64_t done, int64_t of, int width)
{
	int full = of > 0 ? (int)((double)done / (double)of * width) : 0;
	buf_putc(b, '[');
	for (int i = 0; i < width; i++)
		buf_putc(b, i < full ? '=' : i == full ? '>' : ' ');
	buf_puts(b, "] ");
}

void progress_put_flops(struct buf *b, double flops_per_second)
{
	const double giga = flops_per_second / 1e9;
	if (giga < 1000)
		buf_printf(b, "%.3g GFLOP/s", giga);
	else
		buf_printf(b, "%.0f GFLOP/s", giga);
}

static void put_values(struct buf *b, const struct progress_state *s, const char *kind)
{
	for (int i = 0; i < s->nvalues; i++)
		if (strncmp(s->value[i].name, kind, strlen(kind)) == 0)
			buf_printf(b, "  %s %.4g", s->value[i].name + strlen(kind), s->value[i].v);
}

static void describe(struct buf *b, const struct progress_state *s, bool narrow)
{
	char time[32];
	if (s->epochs && !narrow)
		buf_printf(b, "epoch %lld/%lld  ", (long long)s->epoch, (long long)s->epochs);
	buf_printf(b, "step %lld/%lld  loss %.4g", (long long)s->step, (long long)s->steps, s->loss);
	put_values(b, s, "term/");
	put_values(b, s, "variable/");
	buf_printf(b, "  lr %.3g  %.3g samples/s", s->learning_rate, s->samples_per_second);
	if (s->flops_per_second > 0) {
		buf_puts(b, "  ");
		progress_put_flops(b, s->flops_per_second);
	}
	if (s->flops_per_second > 0 && s->peak_flops > 0)
		buf_printf(b, " (%.0f %% of peak)", 100 * s->flops_per_second / s->peak_flops);
	if (s->skipped > 0)
		buf_printf(b, "  %lld skipped", (long long)s->skipped);
	if (s->wait_share >= 0.05)
		buf_printf(b, "  %.0f %% waiting for data", 100 * s->wait_share);
	if (s->ranks > 1)
		buf_printf(b, "  %.2g %% exposed", 100 * s->exposed);
	if (s->ranks > 1 && s->work_most > SLOW * s->work_median)
		buf_printf(b, "  rank %d (%s) %.0f %% slower", s->slowest, s->slowest_host,
		           100 * (s->work_most / s->work_median - 1));
	if (s->seconds_left >= 0)
		buf_printf(b, "  %s left", seconds_text(s->seconds_left, time));
}

/* Whether it is time to draw again. */
static bool is_due(struct progress *p)
{
	const double now = io_seconds(), period = p->mode == PROGRESS_BAR ? BAR_PERIOD : LINE_PERIOD;
	if (p->mode == PROGRESS_NONE || (p->drawn_at > 0 && now - p->drawn_at < period))
		return false;
	p->drawn_at = now;
	buf_clear(&p->line);
	return true;
}

static bool is_narrow(const struct progress *p)
{
	return p->mode == PROGRESS_BAR && columns() < BAR_COLUMNS;
}

static void draw(struct progress *p)
{
	if (p->mode == PROGRESS_LINES) {
		printf("%s\n", shown(p->line.data));
	} else {
		printf("\r%.*s\033[K", columns() - 1, shown(p->line.data));
		p->live = true;
	}
	fflush(stdout);
}

void progress_update(struct progress *p, const struct progress_state *s)
{
	if (!is_due(p))
		return;
	if (p->mode == PROGRESS_BAR && !is_narrow(p))
		add_bar(&p->line, s->step, s->steps, BAR_WIDTH);
	describe(&p->line, s, is_narrow(p));
	draw(p);
}

void progress_update_work(struct progress *p, const struct progress_work *w)
{
	char time[32];
	if (!is_due(p))
		return;
	if (p->mode == PROGRESS_BAR && !is_narrow(p))
		add_bar(&p->line, (int64_t)(1000 * w->share), 1000, BAR_WIDTH);
	const double mega = w->bytes_per_second / 1e6;
	buf_printf(&p->line, "%lld/%lld %s  %.*f MB/s", (long long)w->done, (long long)w->of, w->things,
	           mega < 10, mega);
	if (w->seconds_left >= 0)
		buf_printf(&p->line, "  %s left", seconds_text(w->seconds_left, time));
	draw(p);
}

void progress_say(struct progress *p, const char *fmt, ...)
{
	va_list ap;
	if (p->mode == PROGRESS_NONE)
		return;
	erase(p);
	struct buf text = BUF_INIT;
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	printf("%s\n", shown(text.data));
	fflush(stdout);
	buf_release(&text);
}
