/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The legend of pictures of classes: which colour is which class. */
#ifndef DLX_TRAIN_LEGEND_H
#define DLX_TRAIN_LEGEND_H

#include <stdbool.h>

#include "data/loader.h"

/* Writes legend.svg, for readers, and classes.csv (class, name, colour as #rrggbb), for programs,
 * into the folder. missing: the pictures have points without a class, too. E_CANTCREATE, E_IO. */
int legend_write(const char *folder, const struct dataset_info *data, int64_t classes,
                 bool missing);

#endif
