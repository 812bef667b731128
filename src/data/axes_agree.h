/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether samples that meet have their places in the same order: a network that has learned with
 * north on top sees a grid upside down that begins in the south. */
#ifndef DLX_DATA_AXES_AGREE_H
#define DLX_DATA_AXES_AGREE_H

#include "data/axes.h"

enum axes_agreement {
	AXES_AGREE,                      /* as far as both say */
	AXES_ELSEWHERE,                  /* as many places, but others */
	AXES_OTHER_WAY,                  /* other places, in the opposite direction */
	AXES_TURNED                      /* the same places in another order */
};
/* Of the axes of places of y, compared with those of x. Unless they agree, out gets a clause with
 * both readings: "the axis 'lat' is in reversed order: lat -90 ... 90 (9 of them), not lat ...". */
enum axes_agreement axes_agree(const struct axes *x, const struct axes *y, struct buf *out);

#endif
