/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The legend of pictures of classes: the colour of each class. */
#ifndef DLX_TRAIN_LEGEND_H
#define DLX_TRAIN_LEGEND_H

#include <stdbool.h>

#include "data/loader.h"

/* Writes legend.svg, for people, and classes.csv (class, name, colour as #rrggbb), for programs,
 * into the folder. missing: the legend also explains the colour of points without a class.
 * E_CANTCREATE, E_IO. */
int legend_write(const char *folder, const struct dataset_info *data, int64_t classes,
                 bool missing);

#endif
