/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that is killed may leave half a line, which readers ignore; the first line of the next
 * start begins on a new one. */
#include "cli/sweep/sweep_journal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/sweep/sweep_median.h"

#define NAME "sweep.jsonl"

struct sweep_journal {
	const struct sweep *s;
	const char *dir;
	char *path;
	int fd;
	int rc;
	struct buf before;           /* the lines of earlier starts */
};

static const char *const states[] = {
	[SWEEP_WAITS] = "waits", [SWEEP_RUNS] = "runs", [SWEEP_DONE] = "done",
	[SWEEP_CALLED_OFF] = "called off", [SWEEP_FAILED] = "failed", [SWEEP_STOPPED] = "stopped"
};

static void put(struct sweep_journal *j, struct buf *line)
{
	const int mark = err_count();
	buf_puts(line, "}\n");
	if (j->rc == 0)
		j->rc = io_append(j->fd, j->path, line->data, line->len);
	err_truncate(mark);
	buf_release(line);
}

int sweep_journal_failed(struct sweep_journal *j)
{
	return j->rc == 0 ? 0 : ERR(j->rc, NULL, "cannot write '%s'", j->path);
}

static void begin_line(struct buf *line, const char *type)
{
	buf_printf(line, "{\"type\": \"%s\"", type);
}

static void put_run(const struct sweep_journal *j, struct buf *line, int run)
{
	buf_puts(line, ", \"run\": ");
	buf_json_string(line, j->s->run[run].name);
}

static void put_start(struct sweep_journal *j, const char *metric)
{
	struct buf line = BUF_INIT;
	if (j->before.len && j->before.data[j->before.len - 1] != '\n')
		buf_putc(&line, '\n');
	begin_line(&line, "sweep");
	buf_printf(&line, ", \"runs\": %d, \"metric\": ", j->s->n);
	buf_json_string(&line, metric);
	put(j, &line);
}

int sweep_journal_open(struct sweep_journal **out, const struct sweep *s, const char *dir,
                       const char *metric, bool resume)
{
	struct sweep_journal *j = mem_calloc(1, sizeof *j);
	*out = j;
	*j = (struct sweep_journal){ .s = s, .dir = dir, .path = io_join(dir, NAME), .fd = -1,
		.before = BUF_INIT };
	if (io_exists(j->path) && !resume)
		return ERR(E_CANTCREATE, NULL, "'%s' holds a sweep already; make what is missing of it "
		           "with --resume, choose another folder with --set run.dir=DIR, or remove it",
		           dir);
	if (io_exists(j->path))
		TRY(io_read_file(j->path, &j->before));
	j->fd = io_open_log(j->path, false);
	TRY(j->fd < 0 ? j->fd : 0);
	put_start(j, metric);
	return sweep_journal_failed(j);
}

void sweep_journal_close(struct sweep_journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	buf_release(&j->before);
	mem_free(j->path);
	mem_free(j);
}

void sweep_journal_begin(struct sweep_journal *j, int run)
{
	const struct sweep_run *r = &j->s->run[run];
	struct buf line = BUF_INIT;
	begin_line(&line, "begin");
	put_run(j, &line, run);
	buf_printf(&line, ", \"ranks\": %d, \"settings\": {", r->ranks);
	for (int i = 0; i < r->n; i++) {
		buf_puts(&line, i ? ", " : "");
		buf_json_string(&line, r->setting[i].key);
		buf_puts(&line, ": ");
		ytree_write_json(&line, r->setting[i].value);
	}
	buf_putc(&line, '}');
	put(j, &line);
}

void sweep_journal_value(struct sweep_journal *j, int run, int64_t step, double value)
{
	struct buf line = BUF_INIT;
	begin_line(&line, "validation");
	put_run(j, &line, run);
	buf_printf(&line, ", \"step\": %" PRId64, step);
	buf_json_member(&line, "value", value);
	put(j, &line);
}

void sweep_journal_end(struct sweep_journal *j, int run, const struct sweep_row *r)
{
	struct buf line = BUF_INIT;
	begin_line(&line, "end");
	put_run(j, &line, run);
	buf_printf(&line, ", \"state\": \"%s\", \"status\": %d, \"step\": %" PRId64, states[r->state],
	           r->status, r->step);
	buf_json_member(&line, "best", r->best);
	buf_printf(&line, ", \"best_step\": %" PRId64, r->best_step);
	buf_json_member(&line, "seconds", r->seconds);
	if (*r->text) {
		buf_puts(&line, ", \"text\": ");
		buf_json_string(&line, r->text);
	}
	put(j, &line);
}

/* --- reading --- */

static double number(const struct json *line, const char *key)
{
	const struct json *v = json_find(line, key);
	double n;
	return v && json_double(v, &n) ? n : NAN;
}

static int64_t integer(const struct json *line, const char *key)
{
	const double n = number(line, key);
	return isfinite(n) ? (int64_t)n : 0;
}

static const char *text_of(const struct json *line, const char *key)
{
	const struct json *v = json_find(line, key);
	return v ? v->text : "";
}

static struct sweep_row *row_of(const struct sweep_journal *j, struct sweep_row *row,
                                const char *name)
{
	for (int i = 0; i < j->s->n; i++)
		if (strcmp(j->s->run[i].name, name) == 0)
			return &row[i];
	return NULL;                 /* the file of the sweep no longer has it */
}

static void take_end(struct sweep_row *r, const struct json *line)
{
	for (int k = SWEEP_DONE; k <= SWEEP_CALLED_OFF; k++)
		if (strcmp(text_of(line, "state"), states[k]) == 0)
			r->state = (enum sweep_state)k;
	r->kept = r->state != SWEEP_WAITS;
	r->step = integer(line, "step");
	r->best = number(line, "best");
	r->best_step = integer(line, "best_step");
	r->seconds = number(line, "seconds");
}

static void take_line(const struct sweep_journal *j, const struct json *line,
                      struct sweep_row *row, bool rises)
{
	struct sweep_row *r = row_of(j, row, text_of(line, "run"));
	const char *type = text_of(line, "type");
	if (r && strcmp(type, "validation") == 0)
		sweep_row_add(r, integer(line, "step"), number(line, "value"), rises);
	else if (r && strcmp(type, "end") == 0)
		take_end(r, line);
	else if (r && strcmp(type, "begin") == 0) {
		r->state = SWEEP_WAITS;
		r->kept = false;
	}
}

/* A run whose folder was removed is missing like one that was never made. */
static void forget_removed(const struct sweep_journal *j, struct sweep_row *row)
{
	for (int i = 0; i < j->s->n; i++) {
		char *folder = io_join(j->dir, j->s->run[i].name);
		if (!io_is_folder(folder)) {
			row[i].state = SWEEP_WAITS;
			row[i].n = row[i].kept = 0;
			row[i].best = NAN;
		}
		mem_free(folder);
	}
}

void sweep_journal_read(const struct sweep_journal *j, struct sweep_row *row, bool rises)
{
	const char *end = j->before.data + j->before.len;
	for (const char *at = j->before.data, *next; at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (!next)
			break;
		struct arena *a = arena_new();
		struct json *line;
		const int mark = err_count();
		if (next > at && json_parse(&line, a, j->path, 0, at, (size_t)(next - at)) == 0)
			take_line(j, line, row, rises);
		err_truncate(mark);
		arena_free(a);
	}
	forget_removed(j, row);
}
