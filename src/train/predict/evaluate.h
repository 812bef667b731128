/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One pass over the validation set, which computes the loss and the metrics of the whole set. The
 * result does not depend on the batch size and the number of ranks. */
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
/* Appends v in a column of this width: with four decimals or, if |v| is below 0.001 or at least
 * 1e6, with four significant digits. */
void evaluation_number(struct buf *out, int width, double v);
/* Appends the metrics that are one number, on one line, separated by two spaces: "accuracy
 * 0.912". */
void evaluation_line(const struct evaluation *e, struct buf *out);
/* Appends a table with a row for each metric and, if there are such metrics, a table with a row for
 * each class, one with a row for each output, and the confusion matrix. Classes and outputs have
 * the names given in the data, or numbers. */
void evaluation_table(const struct evaluation *e, const struct dataset_info *data, struct buf *out);
/* Sets out to the printed name of class or output i. */
void evaluation_part_name(const struct dataset_info *data, enum metric_form form, int i,
                          struct buf *out);
/* The form of a metric in which it is written as JSON. The result borrows from v. */
struct jsonl_metric evaluation_metric(const struct metric_value *v);
/* Appends the members "loss": ..., "metrics": {...}, without braces around them. */
void evaluation_json(const struct evaluation *e, struct buf *out);

#endif
