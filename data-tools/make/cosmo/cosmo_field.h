/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A universe in a periodic box: a Gaussian field of a given spectrum, the displacement of matter
 * that follows from it (Zel'dovich's approximation), and counts of particles. */
#ifndef DLX_DATA_TOOLS_COSMO_FIELD_H
#define DLX_DATA_TOOLS_COSMO_FIELD_H

#include <stdint.h>

#include "data-tools/make/cosmo/cosmo_spectrum.h"

/* Buffers for boxes of n cells a side, n even. */
struct field;
/* E_NOMEM. */
int field_new(struct field **out, int n);
void field_free(struct field *f);               /* NULL is fine */

/* The displacement of each particle today in a box of `box` Mpc/h a side; particles begin in the
 * centres of the cells. The field is that of universe `number` of seed: white noise by cell, so it
 * does not depend on threads. */
void field_displace(struct field *f, const struct spectrum *s, double box, uint64_t seed,
                    int64_t number);
/* How many particles are in each cell, n^3 of them, if structure has grown `growth` of today's.
 * E_DATA where that is no int16. */
int field_count(const struct field *f, double growth, int16_t *counts);
/* For tests: displacements along an axis in cells, and the mean of |delta_k|^2 over modes of
 * wave numbers from..to (h/Mpc) of the linear field, over what the spectrum says; *modes: how
 * many. */
const float *field_displacement(const struct field *f, int axis);
double field_power_ratio(const struct field *f, double from, double to, int64_t *modes);

#endif
