/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--confusion": the confusion matrix of an evaluation as a picture or a table. */
#ifndef DLX_TRAIN_CONFUSION_H
#define DLX_TRAIN_CONFUSION_H

#include "train/predict/evaluate.h"

/* E_USAGE: the name ends in none of .svg, .png and .csv. */
int confusion_check(const char *path);
/* Has the config's evaluations count the matrix. E_CONFIG: the loss has no class labels. */
int confusion_want(struct run_config *c);
/* Rows are labelled classes, columns predicted ones. .svg: counts and names, coloured by the share
 * of a row; .png: the colours alone; .csv: the counts, with names. e has the matrix. */
int confusion_write(const struct evaluation *e, const struct dataset_info *data, const char *path);

#endif
