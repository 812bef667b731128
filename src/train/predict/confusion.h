/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--confusion": the confusion matrix of an evaluation as a picture or a table. */
#ifndef DLX_TRAIN_CONFUSION_H
#define DLX_TRAIN_CONFUSION_H

#include "train/predict/evaluate.h"

/* E_USAGE: the name ends in none of .svg, .png and .csv. */
int confusion_check(const char *path);
/* Adds the confusion matrix to the metrics of the config's evaluations. E_CONFIG: the loss has no
 * class labels. */
int confusion_want(struct run_config *c);
/* Writes e's confusion matrix: rows are true classes, columns predicted ones. A .svg has counts and
 * names, with cells coloured by their share of the row; a .png has the colours only; a .csv has the
 * counts with names. */
int confusion_write(const struct evaluation *e, const struct dataset_info *data, const char *path);

#endif
