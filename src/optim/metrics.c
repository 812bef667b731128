/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics over a set in two halves: graph nodes count per batch, host code adds the counts up and
 * finishes once, so that a value does not depend on how the set was cut into batches. The pooled
 * label metrics come from one confusion matrix.
 *
 *   accuracy    correct / counted              iou[c]  n_cc / (labelled c + predicted c - n_cc)
 *   mean_iou    mean of iou over the classes that occur       mae, mse    sum of errors / count
 *   mean_iou_per_sample    mean over samples of each one's mean_iou, in which absent classes count
 *                          as 1 (op/loss/metric.c): far more lenient where classes are rare */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/op_attr.h"
#include "optim/optim.h"
#include "yaml/synonym.h"

/* The op that counts a metric; it has one F64 output. */
enum source { CONFUSION, SAMPLE_IOU, ABSOLUTE_ERROR, SQUARE_ERROR, NSOURCES };
static const char *const source_op[NSOURCES] = { "confusion", "iou_per_sample", "absolute_error",
	                                             "square_error" };

static bool counts_labels(enum source s)
{
	return s == CONFUSION || s == SAMPLE_IOU;
}


static void accuracy(struct metrics *m, struct metric_value *v, double *slot);
static void iou(struct metrics *m, struct metric_value *v, double *slot);
static void mean_iou(struct metrics *m, struct metric_value *v, double *slot);
static void sample_iou(struct metrics *m, struct metric_value *v, double *slot);
static void mae(struct metrics *m, struct metric_value *v, double *slot);
static void mse(struct metrics *m, struct metric_value *v, double *slot);

static const struct metric {
	const char *name;
	enum source source;
	bool larger_is_better;
	void (*finish)(struct metrics *m, struct metric_value *v, double *slot);
} table[] = {
	{ "accuracy", CONFUSION, true, accuracy }, { "iou", CONFUSION, true, iou },
	{ "mean_iou", CONFUSION, true, mean_iou },
	{ "mean_iou_per_sample", SAMPLE_IOU, true, sample_iou },
	{ "mae", ABSOLUTE_ERROR, false, mae },     { "mse", SQUARE_ERROR, false, mse },
};
#define NMETRICS ((int)(sizeof table / sizeof *table))

const char *const metric_names[] = { "accuracy", "iou", "mean_iou", "mean_iou_per_sample", "mae",
	                                 "mse", NULL };

bool metric_rises(const char *name)
{
	for (int i = 0; i < NMETRICS; i++)
		if (strcmp(table[i].name, name) == 0)
			return table[i].larger_is_better;
	return false;
}

struct metrics {
	int n, which[NMETRICS]; /* rows of the table, in the order asked for */
	bool used[NSOURCES];
	int64_t classes;
	double *sums;                  /* of all sources */
	double *sum[NSOURCES];         /* in it: confusion: (C, C), row = label; others: sum, count */
	double scalar[NMETRICS], *iou; /* what values point to */
	struct metric_value value[NMETRICS];
};

static int64_t source_size(const struct metrics *m, int source)
{
	return source == CONFUSION ? m->classes * m->classes : 2;
}

/* --- making --- */

static const struct loc *place(const struct strings *names, int i)
{
	return names->loc ? &names->loc[i] : NULL;
}

static int unknown_metric(const char *name, const struct loc *loc)
{
	struct buf text = BUF_INIT;
	int rc;

	if (strchr(name, ','))
		buf_printf(&text, "; several metrics are a list: [%s]", name);
	else if (!hint_of(&text, name, metric_names))
		for (int k = 0; k < NMETRICS; k++)
			buf_printf(&text, "%s%s", k ? ", " : "; expected one of: ", table[k].name);
	rc = ERR(E_CONFIG, loc, "unknown metric '%s'%s", name, text.data);
	buf_release(&text);
	return rc;
}

static int choose(struct metrics *m, const struct strings *names, int i,
                  enum target_kind target)
{
	const char *name = names->v[i];
	int k = 0;
	while (k < NMETRICS && strcmp(table[k].name, name) != 0)
		k++;
	if (k == NMETRICS)
		return unknown_metric(name, place(names, i));
	if (counts_labels(table[k].source) != (target == TARGET_LABELS))
		return ERR(E_CONFIG, place(names, i),
		           target == TARGET_LABELS
		               ? "metric '%s' needs a field as target, but the loss has class labels"
		               : "metric '%s' needs class labels, but the loss has a field as target",
		           name);
	for (int j = 0; j < m->n; j++)
		if (m->which[j] == k)
			return ERR(E_CONFIG, place(names, i), "metric '%s' is named twice", name);
	m->which[m->n++] = k;
	m->used[table[k].source] = true;
	return 0;
}

double *metrics_sums(struct metrics *m, int64_t *n)
{
	*n = 0;
	for (int i = 0; i < NSOURCES; i++)
		*n += m->used[i] ? source_size(m, i) : 0;
	return m->sums;
}

static void make_sums(struct metrics *m)
{
	int64_t n, at = 0;
	metrics_sums(m, &n);
	m->sums = mem_calloc((size_t)n + 1, sizeof *m->sums);
	for (int i = 0; i < NSOURCES; i++)
		if (m->used[i]) {
			m->sum[i] = m->sums + at;
			at += source_size(m, i);
		}
}

int metrics_new(struct metrics **out, const struct strings *names, enum target_kind target,
                int64_t classes)
{
	struct metrics *m = mem_calloc(1, sizeof *m);
	int rc = 0;
	m->classes = classes;
	for (int i = 0; i < names->n; i++) {
		int one = choose(m, names, i, target);
		rc = rc ? rc : one;
	}
	if (rc < 0) {
		metrics_free(m);
		return rc;
	}
	make_sums(m);
	m->iou = mem_calloc((size_t)classes + 1, sizeof(double));
	*out = m;
	return 0;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	mem_free(m->sums);
	mem_free(m->iou);
	mem_free(m);
}

/* --- the graph's half --- */

static int emit(struct metrics *m, struct graph *g, tid output, tid target, int64_t ignore,
                tid *outputs, int max, int *n)
{
	tid in[2] = { output, target };
	*n = 0;
	for (int i = 0; i < NSOURCES; i++) {
		if (!m->used[i])
			continue;
		BUG_IF(*n == max, "more metric outputs than the caller has room for");
		struct op_attr t = op_attr_new(g->arena, source_op[i]);
		if (counts_labels((enum source)i))
			op_attr_int(&t, "ignore", ignore);
		TRY(graph_emit1(g, source_op[i], t.data, 2, in, &outputs[*n]));
		graph_t(g, outputs[(*n)++])->output = true;
	}
	return 0;
}

int metrics_emit(struct metrics *m, struct graph *g, tid output, tid target, int64_t ignore,
                 tid *outputs, int max_outputs, int *noutputs)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	g->cur_name = "metrics";
	int rc = emit(m, g, output, target, ignore, outputs, max_outputs, noutputs);
	graph_leave(g, saved);
	return rc;
}

/* --- the host's half --- */

void metrics_reset(struct metrics *m)
{
	for (int i = 0; i < NSOURCES; i++)
		if (m->used[i])
			memset(m->sum[i], 0, sizeof(double) * (size_t)source_size(m, i));
}

void metrics_add(struct metrics *m, const double *const *values)
{
	int k = 0;
	for (int i = 0; i < NSOURCES; i++) {
		if (!m->used[i])
			continue;
		for (int64_t j = 0; j < source_size(m, i); j++)
			m->sum[i][j] += values[k][j];
		k++;
	}
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static void accuracy(struct metrics *m, struct metric_value *v, double *slot)
{
	const double *c = m->sum[CONFUSION];
	double correct = 0, all = 0;
	for (int64_t i = 0; i < m->classes * m->classes; i++)
		all += c[i];
	for (int64_t i = 0; i < m->classes; i++)
		correct += c[i * m->classes + i];
	*slot = ratio(correct, all);
}

static void iou(struct metrics *m, struct metric_value *v, double *slot)
{
	const double *c = m->sum[CONFUSION];
	for (int64_t i = 0; i < m->classes; i++) {
		double row = 0, column = 0, both = c[i * m->classes + i];
		for (int64_t j = 0; j < m->classes; j++) {
			row += c[i * m->classes + j];
			column += c[j * m->classes + i];
		}
		m->iou[i] = ratio(both, row + column - both);
	}
	v->n = (int)m->classes;
	v->v = m->iou;
}

static void mean_iou(struct metrics *m, struct metric_value *v, double *slot)
{
	double sum = 0, n = 0;
	iou(m, v, slot);
	for (int64_t i = 0; i < m->classes; i++)
		if (!isnan(m->iou[i])) {
			sum += m->iou[i];
			n++;
		}
	*slot = ratio(sum, n);
	v->n = 1;
	v->v = slot;
}

static void sample_iou(struct metrics *m, struct metric_value *v, double *slot)
{
	*slot = ratio(m->sum[SAMPLE_IOU][0], m->sum[SAMPLE_IOU][1]);
}

static void mae(struct metrics *m, struct metric_value *v, double *slot)
{
	*slot = ratio(m->sum[ABSOLUTE_ERROR][0], m->sum[ABSOLUTE_ERROR][1]);
}

static void mse(struct metrics *m, struct metric_value *v, double *slot)
{
	*slot = ratio(m->sum[SQUARE_ERROR][0], m->sum[SQUARE_ERROR][1]);
}

const struct metric_value *metrics_values(struct metrics *m, int *n)
{
	for (int i = 0; i < m->n; i++) {
		const struct metric *row = &table[m->which[i]];
		m->value[i] = (struct metric_value){ row->name, 1, &m->scalar[i], row->larger_is_better };
		row->finish(m, &m->value[i], &m->scalar[i]);
	}
	*n = m->n;
	return m->value;
}
