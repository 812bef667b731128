/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics by name, and how the sums over a set become their values:
 *
 *   accuracy           correct / counted; of flags all classes' together
 *   precision, recall  both / predicted, both / labelled; 0 where only the divisor is 0
 *   f1, dice           2 both / (labelled + predicted)
 *   iou                both / (labelled + predicted - both)
 *   mean_...           mean over the classes that are labelled or predicted somewhere
 *   mean_iou_per_sample    mean over samples of each one's mean_iou, in which absent classes count
 *                      as 1 (op/loss/metric.c): far more lenient where classes are rare
 *   top_K              labels among the K largest logits / counted
 *   mae, mse, rmse     sum of errors / count, and the root of it
 *   r2                 1 - sum of squared errors / sum of squared distances from the mean */
#include "optim/metric_table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "yaml/synonym.h"

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

/* --- of a class --- */

static double portion(double a, double b, const struct hits *h)
{
	return h->labelled + h->predicted > 0 ? (b > 0 ? a / b : 0) : NAN;
}

static double precision(const struct hits *h)
{
	return portion(h->both, h->predicted, h);
}

static double recall(const struct hits *h)
{
	return portion(h->both, h->labelled, h);
}

static double dice(const struct hits *h)
{
	return ratio(2 * h->both, h->labelled + h->predicted);
}

static double iou(const struct hits *h)
{
	return ratio(h->both, h->labelled + h->predicted - h->both);
}

/* --- of an output --- */

static double mae(const struct errors *e)
{
	return ratio(e->absolute, e->n);
}

static double mse(const struct errors *e)
{
	return ratio(e->square, e->n);
}

static double rmse(const struct errors *e)
{
	return sqrt(mse(e));
}

static double r2(const struct errors *e)
{
	return 1 - ratio(e->square, e->variation);
}

/* --- of the whole --- */

static void label_accuracy(const struct metrics *m, double *out)
{
	const double *c = m->sum[CONFUSION];
	double correct = 0, all = 0;
	for (int64_t i = 0; i < m->classes * m->classes; i++)
		all += c[i];
	for (int64_t i = 0; i < m->classes; i++)
		correct += c[i * m->classes + i];
	*out = ratio(correct, all);
}

static void flag_accuracy(const struct metrics *m, double *out)
{
	const double *c = m->sum[FLAG_COUNTS];
	double correct = 0, all = 0;
	for (int64_t i = 0; i < m->classes; i++, c += 4) {
		correct += c[0] + c[3];
		all += c[0] + c[1] + c[2] + c[3];
	}
	*out = ratio(correct, all);
}

static void accuracy(const struct metrics *m, int64_t k, double *out)
{
	if (m->target == TARGET_FLAGS)
		flag_accuracy(m, out);
	else
		label_accuracy(m, out);
}

static void top(const struct metrics *m, int64_t k, double *out)
{
	double among = 0, all = 0;
	for (int64_t i = 0; i < m->classes; i++) {
		among += i < k ? m->sum[LABEL_RANKS][i] : 0;
		all += m->sum[LABEL_RANKS][i];
	}
	*out = ratio(among, all);
}

static void confusion(const struct metrics *m, int64_t k, double *out)
{
	memcpy(out, m->sum[CONFUSION], sizeof *out * (size_t)(m->classes * m->classes));
}

static void sample_iou(const struct metrics *m, int64_t k, double *out)
{
	*out = ratio(m->sum[SAMPLE_IOU][0], m->sum[SAMPLE_IOU][1]);
}

/* --- the table --- */

#define NUMBER    METRIC_NUMBER
#define BY_CLASS  METRIC_BY_CLASS
#define BY_OUTPUT METRIC_BY_OUTPUT
#define CLASSES   { NSOURCES, FLAG_COUNTS, CONFUSION }
#define LABELS(s) { NSOURCES, NSOURCES, s }
#define VALUES    { ERROR_SUMS, NSOURCES, NSOURCES }

static const struct metric table[] = {
	{ "accuracy", NUMBER, true, CLASSES, .finish = accuracy },
	{ "iou", BY_CLASS, true, CLASSES, "mean_iou", .score = iou },
	{ "mean_iou", NUMBER, true, CLASSES, .score = iou },
	{ "mean_iou_per_sample", NUMBER, true, LABELS(SAMPLE_IOU), .finish = sample_iou },
	{ "precision", BY_CLASS, true, CLASSES, "mean_precision", .score = precision },
	{ "mean_precision", NUMBER, true, CLASSES, .score = precision },
	{ "recall", BY_CLASS, true, CLASSES, "mean_recall", .score = recall },
	{ "mean_recall", NUMBER, true, CLASSES, .score = recall },
	{ "f1", BY_CLASS, true, CLASSES, "mean_f1", .score = dice },
	{ "mean_f1", NUMBER, true, CLASSES, .score = dice },
	{ "dice", BY_CLASS, true, CLASSES, "mean_dice", .score = dice },
	{ "mean_dice", NUMBER, true, CLASSES, .score = dice },
	{ METRIC_TOP, NUMBER, true, LABELS(LABEL_RANKS), .finish = top },
	{ METRIC_CONFUSION, METRIC_MATRIX, true, LABELS(CONFUSION), "accuracy", .finish = confusion },
	{ "mae", NUMBER, false, VALUES, .error = mae },
	{ "mae_by_output", BY_OUTPUT, false, VALUES, "mae", .error = mae },
	{ "mse", NUMBER, false, VALUES, .error = mse },
	{ "rmse", NUMBER, false, VALUES, .error = rmse },
	{ "rmse_by_output", BY_OUTPUT, false, VALUES, "rmse", .error = rmse },
	{ "r2", NUMBER, true, VALUES, .error = r2 },
	{ "r2_by_output", BY_OUTPUT, true, VALUES, "r2", .error = r2 },
};
#define NMETRICS ((int)(sizeof table / sizeof *table))

/* The number at the end of a name, as "5"; 0: it is none, or a long one. */
static int64_t number_of(const char *text)
{
	size_t n = strspn(text, "0123456789");
	return n > 0 && n < 10 && !text[n] && *text != '0' ? strtoll(text, NULL, 10) : 0;
}

const struct metric *metric_find(const char *name, int64_t *k)
{
	const size_t top = strlen(METRIC_TOP);
	*k = strncmp(name, METRIC_TOP, top) == 0 ? number_of(name + top) : 0;
	for (int i = 0; i < NMETRICS; i++)
		if (*k ? strcmp(table[i].name, METRIC_TOP) == 0 :
		    strcmp(table[i].name, METRIC_TOP) != 0 && strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

int metric_unknown(const char *name, const struct loc *loc)
{
	const char *names[NMETRICS + 1] = { NULL };
	struct buf text = BUF_INIT;
	int rc;
	for (int i = 0; i < NMETRICS; i++)
		names[i] = strcmp(table[i].name, METRIC_TOP) == 0 ? METRIC_TOP "5" : table[i].name;
	if (strchr(name, ','))
		buf_printf(&text, "; several metrics are a list: [%s]", name);
	else if (!hint_of(&text, name, names))
		for (int i = 0; i < NMETRICS; i++)
			buf_printf(&text, "%s%s", i ? ", " : "; expected one of: ",
			           strcmp(table[i].name, METRIC_TOP) == 0 ? METRIC_TOP "K" : names[i]);
	rc = ERR(E_CONFIG, loc, "unknown metric '%s'%s", name, text.data);
	buf_release(&text);
	return rc;
}

bool metric_rises(const char *name)
{
	int64_t k;
	const struct metric *row = metric_find(name, &k);
	return row && row->larger_is_better;
}

bool metric_is_number(const char *name)
{
	int64_t k;
	const struct metric *row = metric_find(name, &k);
	return row && row->form == METRIC_NUMBER;
}

int metric_check_number(const char *name, const struct loc *loc)
{
	static const char *const has[] = { [METRIC_BY_CLASS] = "a value for each class",
		[METRIC_BY_OUTPUT] = "a value for each output",
		[METRIC_MATRIX] = "a number for each pair of classes" };
	int64_t k;
	const struct metric *row = metric_find(name, &k);
	if (!row || row->form == METRIC_NUMBER)
		return 0;
	return ERR(E_CONFIG, loc, "metric '%s' has %s, so that nothing can be decided by it; use '%s'",
	           name, has[row->form], row->number);
}
