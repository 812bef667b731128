/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predictions as a table of comma-separated values: a line for each sample. */
#ifndef DLX_TRAIN_PREDICT_TABLE_H
#define DLX_TRAIN_PREDICT_TABLE_H

#include "base/io.h"
#include "optim/optim.h"
#include "train/predict/predict_as.h"

/* The columns are: sample; class, if the loss is for labels and the form is not logits; then one
 * for each channel, unless the form is classes. names: those of the first channels, or NULL. The
 * other channels are numbered, as classes or, if the loss is for values, as outputs. */
struct predict_table {
	struct io_file *file;
	const char *const *names;
	int64_t nnames;
	int64_t channels;
	enum target_kind kind;
	enum predict_as as;
};

int predict_table_head(const struct predict_table *t);
/* output: the network's output of one sample, t->channels values, which this call overwrites. */
int predict_table_line(const struct predict_table *t, int64_t sample, float *output);

#endif
