/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/ckpt/ckpt_origin.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "data-tools/ckpt/ckpt.h"

/* --- writing --- */

static void put_scalars(struct buf *b, const struct manifest *m)
{
	buf_puts(b, ", \"scalars\": {");
	for (int i = 0; i < m->nscalars; i++) {
		buf_puts(b, i ? ", " : "");
		buf_json_string(b, m->scalar[i].name);
		buf_puts(b, ": ");
		buf_json_string(b, m->scalar[i].value);
	}
	buf_puts(b, "}");
}

static void put_state(struct buf *b, const struct manifest *m)
{
	int n = 0;
	buf_puts(b, ", \"state\": [");
	for (int i = 0; i < m->ntensors; i++) {
		if (m->tensor[i].weight)
			continue;
		buf_puts(b, n++ ? ", " : "");
		buf_json_string(b, m->tensor[i].name);
	}
	buf_puts(b, "]");
}

const char *origin_write(struct arena *a, const struct manifest *m)
{
	struct buf b = BUF_INIT;
	const char *text;
	buf_printf(&b, "{\"step\": %" PRId64 ", \"epoch\": %" PRId64 ", \"ranks\": %d", m->step,
	           m->epoch, m->ranks);
	buf_puts(&b, ", \"metrics\": ");
	manifest_put_metrics(&b, m);
	if (m->metric_name)
		put_json_text(&b, "metric", m->metric_name);
	put_scalars(&b, m);
	put_state(&b, m);
	put_json_text(&b, "config", m->config);
	put_json_text(&b, "program", m->program);
	put_json_text(&b, "data", m->data);
	buf_puts(&b, "}");
	text = arena_strdup(a, b.data);
	buf_release(&b);
	return text;
}

/* --- reading --- */

static int wrong(const char *file, const char *key, const char *expected)
{
	return ERR(E_DATA, NULL, "'%s': " ORIGIN_KEY ", '%s': expected %s", file, key, expected);
}

static int read_count(int64_t *out, const char *file, const struct json *map, const char *key)
{
	const struct json *v = json_find(map, key);
	if (!v || !json_int(v, out) || *out < 0 || *out > INT64_MAX / 2)
		return wrong(file, key, "an integer of 0 or more");
	return 0;
}

static int read_text(const char **out, const char *file, const struct json *map, const char *key)
{
	const struct json *v = json_find(map, key);
	*out = v ? v->text : "";
	return !v || v->kind == JSON_STRING ? 0 : wrong(file, key, "a text");
}

static int read_metrics(struct manifest *m, struct arena *a, const char *file,
                        const struct json *map)
{
	const struct json *v = json_find(map, "metrics");
	struct ckpt_metric *metric;
	if (!v || v->kind != JSON_OBJECT)
		return wrong(file, "metrics", "a map");
	m->metrics = metric = ARENA_ARRAY(a, struct ckpt_metric, v->n);
	m->metric = NAN;
	for (int i = 0; i < v->n; i++) {
		metric[i].name = v->item[i]->key;
		if (!json_double(v->item[i], &metric[i].value) || !isfinite(metric[i].value))
			return wrong(file, "metrics", "numbers");
		if (m->metric_name && strcmp(m->metric_name, metric[i].name) == 0)
			m->metric = metric[i].value;
	}
	m->nmetrics = v->n;
	m->metric_name = isnan(m->metric) ? NULL : m->metric_name;
	return 0;
}

static int read_scalars(struct manifest *m, struct arena *a, const char *file,
                        const struct json *map)
{
	const struct json *v = json_find(map, "scalars");
	struct ckpt_scalar *scalar;
	if (!v || v->kind != JSON_OBJECT)
		return wrong(file, "scalars", "a map");
	m->scalar = scalar = ARENA_ARRAY(a, struct ckpt_scalar, v->n);
	for (int i = 0; i < v->n; i++) {
		if (v->item[i]->kind != JSON_STRING)
			return wrong(file, "scalars", "texts");
		scalar[i] = (struct ckpt_scalar){ v->item[i]->key, v->item[i]->text };
	}
	m->nscalars = v->n;
	return 0;
}

static int read_state(struct origin *o, struct arena *a, const char *file, const struct json *map)
{
	const struct json *v = json_find(map, "state");
	const char **name;
	if (!v || v->kind != JSON_ARRAY)
		return wrong(file, "state", "a list of names");
	o->state = name = ARENA_ARRAY(a, const char *, v->n);
	for (int i = 0; i < v->n; i++) {
		if (v->item[i]->kind != JSON_STRING)
			return wrong(file, "state", "a list of names");
		name[i] = v->item[i]->text;
	}
	o->nstate = v->n;
	return 0;
}

int origin_read(struct origin *o, struct arena *a, const char *file, const char *text, size_t size)
{
	struct manifest *m = &o->m;
	struct json *map;
	int64_t ranks;
	const char *metric;
	*o = (struct origin){ 0 };
	TRYC(json_parse(&map, a, file, 0, text, size), "while reading its " ORIGIN_KEY);
	if (map->kind != JSON_OBJECT)
		return wrong(file, "", "a map");
	TRY(read_count(&m->step, file, map, "step"));
	TRY(read_count(&m->epoch, file, map, "epoch"));
	TRY(read_count(&ranks, file, map, "ranks"));
	m->ranks = ranks < INT32_MAX ? (int)ranks : 0;
	TRY(read_text(&metric, file, map, "metric"));
	m->metric_name = *metric ? metric : NULL;
	TRY(read_text(&m->config, file, map, "config"));
	TRY(read_text(&m->program, file, map, "program"));
	TRY(read_text(&m->data, file, map, "data"));
	TRY(read_metrics(m, a, file, map));
	TRY(read_scalars(m, a, file, map));
	return read_state(o, a, file, map);
}

bool origin_is_state(const struct origin *o, const char *tensor)
{
	for (int i = 0; i < o->nstate; i++)
		if (strcmp(o->state[i], tensor) == 0)
			return true;
	return false;
}
