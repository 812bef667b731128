/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predictions as a table of comma-separated values: a line for each sample. */
#ifndef DLX_TRAIN_PREDICT_TABLE_H
#define DLX_TRAIN_PREDICT_TABLE_H

#include "base/io.h"
#include "data/loader.h"
#include "train/predict_as.h"

/* classes: whether the output's channels are classes, named as in data; else they are outputs,
 * named as its target's channels. What has no name is numbered. Columns: sample; class, unless
 * logits are asked for or there are none; then a column for each channel, unless only classes
 * are. */
struct predict_table {
	struct io_file *file;
	const struct dataset_info *data;
	int64_t channels;
	bool classes;
	enum predict_as as;
};

int predict_table_head(const struct predict_table *t);
/* output: the network's, of so many channels; it is changed. */
int predict_table_line(const struct predict_table *t, int64_t sample, float *output);

#endif
