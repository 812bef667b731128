/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels of tropical cyclones and atmospheric rivers by the heuristics that the climate
 * segmentation data (Kurth et al. 2018) were labelled with. */
#ifndef DLX_DATA_TOOLS_CLIMATE_LABEL_H
#define DLX_DATA_TOOLS_CLIMATE_LABEL_H

#include "data-tools/make/climate/climate_sky.h"

enum label { BACKGROUND, CYCLONE, RIVER, LABELS };
extern const char *const label_name[LABELS];

#define RIVER_THRESHOLD 24.0         /* of labels_0; labels_1 has 21 */

/* Scratch for skies of this many points. */
struct labeller;
struct labeller *labeller_new(int64_t points);
void labeller_free(struct labeller *l);         /* NULL is fine */
/*
 * to: a label for each point.
 *
 * River: a connected region where TMQ (1 - exp(-lat^2 / (2 19^2))) is above the threshold, if the
 * diagonal of the box around it is longer than 1500 km and its area over that less than 1000 km.
 * Points are connected by sides, across 0 degrees too; a region around the globe has a box of half
 * the globe.
 *
 * Cyclone: within 6.6 degrees of a storm's centre the largest connected region where TMQ and one of
 * |U850|, |V850| and PRECT are above 93 % of all values of the snapshot. Where both are, it is a
 * cyclone.
 */
void labeller_run(struct labeller *l, const struct sky *s, double threshold, uint8_t *to);

#endif
