/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether two sets have their grid points in the same order. A network that was trained with north
 * at the top would see a grid that begins in the south upside down. */
#ifndef DLX_DATA_AXES_AGREE_H
#define DLX_DATA_AXES_AGREE_H

#include "data/axes.h"

enum axes_agreement {
	AXES_AGREE,                      /* equal, as far as both have coordinates */
	AXES_ELSEWHERE,                  /* the same number of positions, but other ones */
	AXES_OTHER_WAY,                  /* other positions, in the opposite direction */
	AXES_TURNED                      /* the same positions in another order */
};
/* Compares the axes of positions of y with those of x. Unless they agree, out gets a clause with
 * both: "the axis 'lat' is in reversed order: lat -90 ... 90 (9 of them), not lat ...". */
enum axes_agreement axes_agree(const struct axes *x, const struct axes *y, struct buf *out);

#endif
