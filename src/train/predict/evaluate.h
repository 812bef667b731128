/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One pass over the validation set: the loss and the metrics of the whole set, whatever the batch
 * size and the number of ranks. */
#ifndef DLX_TRAIN_EVALUATE_H
#define DLX_TRAIN_EVALUATE_H

#include "report/jsonl.h"
#include "train/run/opening.h"

struct evaluation {
	double loss;
	const struct metric_value *metric;     /* valid until the next evaluation */
	int nmetric;
	double seconds;
};

/* Needs a validation set and bound plans (train/run/deferred_plans.h). Collective, with the same
 * result on all ranks. E_STOPPED, with nothing in the error record and *out as it was, if a signal
 * came: a batch system that sends one does not wait for a long validation. */
int evaluate(struct session *s, struct evaluation *out);
/* The value of a metric by name ("loss" too), NaN if it is not there; *larger: larger is better. */
double evaluation_find(const struct evaluation *e, const char *name, bool *larger);
/* v in a column of this width: four decimals, or four digits where these would hide it. */
void evaluation_number(struct buf *out, int width, double v);
/* "accuracy 0.912  mean_iou 0.85" on one line (single-valued metrics). */
void evaluation_line(const struct evaluation *e, struct buf *out);
/* A table with one row a metric; then one with a row for each class, one with a row for each
 * output, and the confusion matrix, as far as there are such metrics. Classes and outputs are named
 * as in the data, or numbered. */
void evaluation_table(const struct evaluation *e, const struct dataset_info *data, struct buf *out);
/* The name of class or output i as it is printed, in place of what out has. */
void evaluation_part_name(const struct dataset_info *data, enum metric_form form, int i,
                          struct buf *out);
/* As it is written in JSON; borrows. */
struct jsonl_metric evaluation_metric(const struct metric_value *v);
/* Appends the members "loss": ..., "metrics": {...}, without braces around them. */
void evaluation_json(const struct evaluation *e, struct buf *out);

#endif
