/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics over a set in two parts: graph nodes count for each batch, and host code adds these
 * counts and computes the values once, so that a value does not depend on the division into
 * batches. Several metrics share the counts of one op: those by class share one confusion
 * matrix. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/op_attr.h"
#include "optim/metric_table.h"

static const char *const source_op[NSOURCES] = { "confusion", "iou_per_sample", "label_ranks",
	"error_sums", "flag_counts" };
_Static_assert(NSOURCES <= METRICS_OUTPUTS, "a plan has no room for all outputs");

static int64_t source_size(const struct metrics *m, int source)
{
	const int64_t c = m->classes;
	const int64_t size[NSOURCES] = { c * c, 2, c, 7 * c, 4 * c };
	return size[source];
}

int64_t metric_numbers(enum metric_form form, int64_t classes)
{
	return form == METRIC_NUMBER ? 1 : form == METRIC_MATRIX ? classes * classes : classes;
}

/* --- making --- */

static const struct loc *place(const struct strings *names, int i)
{
	return names->loc ? &names->loc[i] : NULL;
}

/* What the metric is for, and what the loss has. */
static int check_target(const struct metric *row, const char *name, enum target_kind target,
                        const struct loc *loc)
{
	static const char *const has[] = { [TARGET_VALUES] = "a field as target",
		[TARGET_FLAGS] = "flags as target", [TARGET_LABELS] = "class labels" };
	const bool labels = row->source[TARGET_LABELS] != NSOURCES,
	           flags = row->source[TARGET_FLAGS] != NSOURCES;
	if (row->source[target] != NSOURCES)
		return 0;
	return ERR(E_CONFIG, loc, "metric '%s' needs %s, but the loss has %s%s", name,
	           labels ? flags ? "class labels or flags" : "class labels" : "a field as target",
	           has[target], !labels ? "" : "; for class labels the loss is softmax_cross_entropy");
}

static int check_top(const char *name, int64_t k, int64_t classes, const struct loc *loc)
{
	if (k == 1)
		return ERR(E_CONFIG, loc, "metric '%s' is called 'accuracy'", name);
	if (k > 0 && classes > 0 && k >= classes)
		return ERR(E_CONFIG, loc, "metric '%s' is always 1 with %lld classes; K of 'top_K' is to "
		           "be smaller than their number", name, (long long)classes);
	return 0;
}

static int choose(struct metrics *m, const struct strings *names, int i)
{
	const char *name = names->v[i];
	const struct loc *loc = place(names, i);
	int64_t k;
	const struct metric *row = metric_find(name, &k);
	if (!row)
		return metric_unknown(name, loc);
	TRY(check_target(row, name, m->target, loc));
	TRY(check_top(name, k, m->classes, loc));
	for (int j = 0; j < m->n; j++)
		if (m->item[j].row == row && m->item[j].k == k)
			return ERR(E_CONFIG, loc, "metric '%s' is named twice", name);
	if (m->n == METRICS_MOST)
		return ERR(E_CONFIG, loc, "metric '%s' is one too many; there may be %d", name,
		           METRICS_MOST);
	m->item[m->n].row = row;
	m->item[m->n].k = k;
	snprintf(m->item[m->n++].name, METRIC_NAME, "%s", name);
	m->used[row->source[m->target]] = true;
	return 0;
}

double *metrics_sums(struct metrics *m, int64_t *n)
{
	*n = 0;
	for (int i = 0; i < NSOURCES; i++)
		*n += m->used[i] ? source_size(m, i) : 0;
	return m->sums;
}

static void make_room(struct metrics *m)
{
	int64_t n, at = 0, numbers = 0;
	metrics_sums(m, &n);
	m->sums = mem_calloc((size_t)n + 1, sizeof *m->sums);
	for (int i = 0; i < NSOURCES; i++)
		if (m->used[i]) {
			m->sum[i] = m->sums + at;
			at += source_size(m, i);
		}
	for (int i = 0; i < m->n; i++)
		numbers += metric_numbers(m->item[i].row->form, m->classes);
	m->numbers = mem_calloc((size_t)numbers + 1, sizeof *m->numbers);
}

static int choose_all(struct metrics **out, const struct strings *names, enum target_kind target,
                      int64_t classes)
{
	struct metrics *m = *out = mem_calloc(1, sizeof *m);
	int rc = 0;
	m->target = target;
	m->classes = classes;
	for (int i = 0; i < names->n; i++) {
		int one = choose(m, names, i);
		rc = rc ? rc : one;
	}
	return rc;
}

int metrics_check(const struct strings *names, enum target_kind target, int64_t classes)
{
	struct metrics *m;
	int rc = choose_all(&m, names, target, classes);
	metrics_free(m);
	return rc;
}

int metrics_new(struct metrics **out, const struct strings *names, enum target_kind target,
                int64_t classes)
{
	struct metrics *m;
	int rc = choose_all(&m, names, target, classes);
	if (rc < 0) {
		metrics_free(m);
		return rc;
	}
	make_room(m);
	*out = m;
	return 0;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	mem_free(m->sums);
	mem_free(m->numbers);
	mem_free(m);
}

void metrics_set_mask(struct metrics *m, bool masked, double value)
{
	m->masked = masked;
	m->mask = value;
}

/* --- the graph's half --- */

static void *attributes(const struct metrics *m, struct graph *g, enum source s, int64_t ignore)
{
	struct op_attr t = op_attr_new(g->arena, source_op[s]);
	const bool labels = s == CONFUSION || s == SAMPLE_IOU || s == LABEL_RANKS;
	if (labels)
		op_attr_int(&t, "ignore", ignore);
	else if (m->masked)
		op_attr_int(&t, "leave_out", isnan(m->mask) ? 1 : 2);
	if (!labels && m->masked && !isnan(m->mask))
		op_attr_float(&t, "value", m->mask);
	return t.data;
}

static int emit(const struct metrics *m, struct graph *g, tid output, tid target, int64_t ignore,
                tid *outputs, int max, int *n)
{
	tid in[2] = { output, target };
	*n = 0;
	for (int i = 0; i < NSOURCES; i++) {
		if (!m->used[i])
			continue;
		BUG_IF(*n == max, "more metric outputs than the caller has room for");
		tid *counts = &outputs[(*n)++];
		TRY(graph_emit1(g, source_op[i], attributes(m, g, (enum source)i, ignore), 2, in, counts));
		graph_t(g, *counts)->output = true;
		const int64_t size = shape_count(&graph_t(g, *counts)->shape);
		BUG_IF(size != source_size(m, i), "metrics of %lld classes, but an output of others",
		       (long long)m->classes);
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
