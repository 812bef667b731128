/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Translates a coordinate reference system given by its EPSG number, as in GeoTIFF, to attributes
 * of the CF conventions. */
#ifndef DLX_DATA_EPSG_H
#define DLX_DATA_EPSG_H

#include "data/axes.h"

/* If the last two axes have a text attribute `epsg`, as "EPSG:32633", replaces it by a grid mapping
 * `crs`, allocated in a. The mapping has the parameters of the projection if it is UTM on WGS 84 or
 * ETRS89, or geographic coordinates in degrees. Axes without units and standard names get them. */
void epsg_to_mapping(struct arena *a, struct axes *axes);

#endif
