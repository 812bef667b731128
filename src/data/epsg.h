/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A reference system that axes name by its number in the EPSG registry, as GeoTIFF does, in the
 * words of the CF conventions. */
#ifndef DLX_DATA_EPSG_H
#define DLX_DATA_EPSG_H

#include "data/axes.h"

/* Where the last two axes have a text attribute `epsg`, "EPSG:32633", gives *axes a grid mapping
 * `crs` in its place, in a: with the projection's parameters where it is one of UTM, of WGS 84 or
 * ETRS89, or one of degrees; and the axes units and standard names that they have not. */
void epsg_to_mapping(struct arena *a, struct axes *axes);

#endif
