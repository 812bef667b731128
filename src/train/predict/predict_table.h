/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predictions as a table of comma-separated values: a line for each sample. */
#ifndef DLX_TRAIN_PREDICT_TABLE_H
#define DLX_TRAIN_PREDICT_TABLE_H

#include "base/io.h"
#include "optim/optim.h"
#include "train/predict/predict_as.h"

/* names: of the first channels, or NULL; others are numbered classes or, of a loss of values,
 * outputs. Columns: sample; class, of a loss of labels unless logits are asked for; then a column
 * for each channel, unless only classes are. */
struct predict_table {
	struct io_file *file;
	const char *const *names;
	int64_t nnames;
	int64_t channels;
	enum target_kind kind;
	enum predict_as as;
};

int predict_table_head(const struct predict_table *t);
/* output: the network's, of this many channels; it is changed. */
int predict_table_line(const struct predict_table *t, int64_t sample, float *output);

#endif
