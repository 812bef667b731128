/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines are built in one buffer and appended without stdio. What a resumed run repeats is cut off
 * by writing the lines that stay to a new file, which then takes the old one's place. */
#include "report/jsonl.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"

struct jsonl {
	int fd;
	char *path;
	struct buf line;
	int64_t resumed;       /* the step that the run went on from, of which a validation may be there
	                        * already; JSONL_FRESH: none */
};

/* --- resuming --- */

static bool later(const struct json *line, int64_t at, int64_t step)
{
	return at > step;
}

static bool validates(const struct json *line, int64_t at, int64_t step)
{
	const struct json *type = json_find(line, "type");
	return at == step && type && type->kind == JSON_STRING && strcmp(type->text, "validation") == 0;
}

typedef bool repeats(const struct json *line, int64_t at, int64_t step);

/* Whether a complete line (without its newline) belongs to a step that is removed. */
static bool goes(const char *line, size_t n, repeats *which, int64_t step)
{
	struct arena *a = arena_new();
	const struct json *v;
	struct json *root;
	int64_t at;
	int mark = err_count();
	bool is = false;
	if (json_parse(&root, a, "line", 0, line, n) == 0 && (v = json_find(root, "step")))
		is = json_int(v, &at) && which(root, at, step);
	err_truncate(mark);
	arena_free(a);
	return is;
}

static void keep_lines(struct buf *out, const struct buf *in, repeats *which, int64_t step)
{
	const char *p = in->data, *end = in->data + in->len, *newline;
	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		if (!goes(p, (size_t)(newline - p), which, step))
			buf_add(out, p, (size_t)(newline - p) + 1);
		p = newline + 1;
	}
}

/* last: a line that comes after those that stay, or empty. */
static int cut(const char *path, repeats *which, int64_t step, const struct buf *last)
{
	struct buf old = BUF_INIT, kept = BUF_INIT;
	int rc = io_read_file(path, &old);
	if (rc == 0) {
		keep_lines(&kept, &old, which, step);
		buf_add(&kept, last->data, last->len);
		if (kept.len != old.len || last->len)
			rc = io_write_file(path, kept.data, kept.len);
	}
	buf_release(&old);
	buf_release(&kept);
	return rc;
}

int jsonl_open(struct jsonl **out, const char *path, int64_t resume_step)
{
	const bool fresh = resume_step == JSONL_FRESH;
	const struct buf none = BUF_INIT;
	struct jsonl *j;
	int fd;
	*out = NULL;
	if (!fresh && io_exists(path))
		TRY(cut(path, later, resume_step, &none));
	fd = io_open_log(path, fresh);
	TRY(fd);
	j = mem_calloc(1, sizeof *j);
	j->fd = fd;
	j->path = mem_strdup(path);
	j->resumed = resume_step;
	buf_init(&j->line);
	*out = j;
	return 0;
}

void jsonl_close(struct jsonl *j)
{
	if (!j)
		return;
	close(j->fd);
	buf_release(&j->line);
	mem_free(j->path);
	mem_free(j);
}

/* --- appending --- */

static void begin(struct jsonl *j, const char *type, int64_t step)
{
	buf_clear(&j->line);
	buf_printf(&j->line, "{\"type\": \"%s\", \"step\": %" PRId64, type, step);
}

static void put_integer(struct jsonl *j, const char *key, int64_t v)
{
	buf_printf(&j->line, ", \"%s\": %" PRId64, key, v);
}

static void put_number(struct jsonl *j, const char *key, double v)
{
	buf_json_member(&j->line, key, v);
}

static int end(struct jsonl *j)
{
	buf_puts(&j->line, "}\n");
	return io_append(j->fd, j->path, j->line.data, j->line.len);
}

/* Appends a line that replaces an earlier one; at any time one of the two is in the file. */
static int end_anew(struct jsonl *j, repeats *which, int64_t step)
{
	int fd;
	buf_puts(&j->line, "}\n");
	TRY(cut(j->path, which, step, &j->line));
	fd = io_open_log(j->path, false);
	TRY(fd);
	close(j->fd);
	j->fd = fd;
	return 0;
}

static void put_text(struct jsonl *j, const char *key, const char *v)
{
	if (!v)
		return;
	buf_printf(&j->line, ", \"%s\": ", key);
	buf_json_string(&j->line, v);
}

int jsonl_start(struct jsonl *j, const struct jsonl_start *s)
{
	begin(j, "start", s->step);
	put_number(j, "time", s->time);
	put_text(j, "name", s->name);
	put_text(j, "version", s->version);
	put_integer(j, "ranks", s->ranks);
	put_integer(j, "hosts", s->hosts);
	put_integer(j, "threads", s->threads);
	put_text(j, "host", s->host);
	put_text(j, "device", s->device);
	put_text(j, "device_description", s->device_description);
	put_text(j, "precision", s->precision);
	put_integer(j, "batch", s->batch);
	put_integer(j, "samples", s->samples);
	put_text(j, "model", s->model);
	put_text(j, "input", s->input);
	put_text(j, "plan", s->plan);
	put_text(j, "metric", s->metric);
	if (isfinite(s->best) && s->best_step >= 0) {
		put_number(j, "best", s->best);
		put_integer(j, "best_step", s->best_step);
	}
	put_integer(j, "parameters", s->parameters);
	put_number(j, "sample_flops", s->sample_flops);
	if (s->forward_flops > 0)
		put_number(j, "forward_flops", s->forward_flops);
	if (s->peak_flops > 0)
		put_number(j, "peak_flops", s->peak_flops);
	put_text(j, "scheduler", s->scheduler);
	put_text(j, "job", s->job);
	put_text(j, "element", s->element);
	if (s->scheduler)
		put_integer(j, "restarts", s->restarts);
	if (s->memory)
		buf_printf(&j->line, ", \"memory\": %s", s->memory);
	return end(j);
}

int jsonl_step(struct jsonl *j, const struct jsonl_step *s)
{
	begin(j, "step", s->step);
	put_integer(j, "epoch", s->epoch);
	put_number(j, "loss", s->loss);
	put_number(j, "learning_rate", s->learning_rate);
	put_number(j, "samples_per_second", s->samples_per_second);
	put_number(j, "seconds", s->seconds);
	put_integer(j, "samples", s->samples);
	if (s->loss_scale > 0)
		put_number(j, "loss_scale", s->loss_scale);
	if (s->loss_scale > 0 || s->guarded)
		put_integer(j, "skipped", s->skipped);
	for (int k = 0; k < s->axes; k++)
		buf_printf(&j->line, "%s%lld%s", k ? ", " : ", \"size\": [", (long long)s->size[k],
		           k + 1 < s->axes ? "" : "]");
	for (int k = 0; k < s->nvalues; k++) {
		buf_puts(&j->line, k ? ", " : ", \"values\": {");
		jsonl_put_metric(&j->line, &(struct jsonl_metric){ .name = s->value[k].name, .n = 1,
		                                                   .value = &s->value[k].v });
	}
	if (s->nvalues)
		buf_putc(&j->line, '}');
	return end(j);
}

static void put_list(struct buf *b, const double *v, int n)
{
	buf_putc(b, '[');
	for (int i = 0; i < n; i++) {
		buf_puts(b, i > 0 ? ", " : "");
		buf_json_double(b, v[i]);
	}
	buf_putc(b, ']');
}

void jsonl_put_metric(struct buf *b, const struct jsonl_metric *m)
{
	BUG_IF(!m->list && m->n != 1, "metric '%s' of %d numbers", m->name, m->n);
	buf_json_string(b, m->name);
	buf_puts(b, m->columns ? ": [" : ": ");
	for (int i = 0; m->columns && i < m->n; i += m->columns) {
		buf_puts(b, i > 0 ? ", " : "");
		put_list(b, m->value + i, m->columns);
	}
	if (m->columns)
		buf_putc(b, ']');
	else if (m->list)
		put_list(b, m->value, m->n);
	else
		buf_json_double(b, m->value[0]);
}

int jsonl_validation(struct jsonl *j, const struct jsonl_validation *v)
{
	const struct jsonl_metric *metric = v->metric;
	begin(j, "validation", v->step);
	put_integer(j, "epoch", v->epoch);
	put_number(j, "seconds", v->seconds);
	put_integer(j, "samples", v->samples);
	put_number(j, "loss", v->loss);
	buf_puts(&j->line, ", \"metrics\": {");
	for (int i = 0; i < v->nmetrics; i++) {
		buf_puts(&j->line, i > 0 ? ", " : "");
		jsonl_put_metric(&j->line, &metric[i]);
	}
	buf_putc(&j->line, '}');
	return v->step == j->resumed ? end_anew(j, validates, v->step) : end(j);
}

int jsonl_rates(struct jsonl *j, const struct jsonl_rates *r)
{
	begin(j, "rates", r->step);
	put_number(j, "seconds", r->seconds);
	put_integer(j, "samples", r->samples);
	put_number(j, "sustained", r->sustained);
	if (r->best > 0)
		put_number(j, "best", r->best);
	if (r->flops > 0)
		put_number(j, "sustained_flops", r->flops * r->sustained);
	if (r->flops > 0 && r->best > 0)
		put_number(j, "peak_flops", r->flops * r->best);
	if (r->data)
		buf_printf(&j->line, ", \"data\": %s", r->data);
	if (r->ranks)
		buf_printf(&j->line, ", \"ranks\": %s", r->ranks);
	return end(j);
}

int jsonl_slow(struct jsonl *j, int64_t step, int64_t samples, double seconds, const char *evidence)
{
	begin(j, "slow", step);
	put_number(j, "seconds", seconds);
	put_integer(j, "samples", samples);
	buf_puts(&j->line, evidence);
	return end(j);
}

int jsonl_nonfinite(struct jsonl *j, int64_t step, const char *members)
{
	begin(j, "nonfinite", step);
	buf_puts(&j->line, members);
	return end(j);
}

int jsonl_skipped(struct jsonl *j, int64_t step, const char *members)
{
	begin(j, "skipped", step);
	buf_puts(&j->line, members);
	return end(j);
}

int jsonl_checkpoint(struct jsonl *j, const struct jsonl_checkpoint *c)
{
	begin(j, "checkpoint", c->step);
	buf_puts(&j->line, ", \"id\": ");
	buf_json_string(&j->line, c->id);
	buf_puts(&j->line, ", \"durable\": ");
	buf_json_string(&j->line, c->durable);
	buf_printf(&j->line, ", \"bytes\": %" PRIu64 ", \"raw\": %" PRIu64, c->bytes, c->raw);
	put_number(j, "staged", c->staged);
	put_number(j, "seconds", c->seconds);
	put_number(j, "stall", c->stall);
	if (c->interval > 0)
		put_number(j, "interval", c->interval);
	return end(j);
}

bool jsonl_saved(const char *path)
{
	const int mark = err_count();
	struct buf text = BUF_INIT;
	bool saved = false;
	const char *at = io_exists(path) && io_read_file(path, &text) == 0 ? text.data : NULL;
	while (at && !saved && (at = strstr(at, "\"type\": \"checkpoint\""))) {
		const char *durable = strstr(at, "\"durable\": \"store\"");
		at += strcspn(at, "\n");
		saved = durable && durable < at;
	}
	err_truncate(mark);
	buf_release(&text);
	return saved;
}
