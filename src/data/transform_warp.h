/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Warps: transforms whose output point p has the value that the input has at a place W(p) between
 * its points. Warps that follow each other are one step, which interpolates once: the place is that
 * of the last, taken through the one before it, and so on. Private to transform*.c. */
#ifndef DLX_DATA_TRANSFORM_WARP_H
#define DLX_DATA_TRANSFORM_WARP_H

#include "data/transform_step.h"

/* Makes s, whose options begin with a struct warp_options, a warp; joins it to the warp before it
 * where both say the same of what is outside. E_CONFIG where labels have no value there. */
int warp_plan(struct chain_state *p, struct step *s);
/* What can be wrong with the options that all warps have. */
int warp_check(const struct warp_options *o, const struct loc *loc);
/* Whether this sample is warped by s. */
bool warp_applies(const struct step *s, const struct frame *f);

#endif
