/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A snapshot of an atmosphere that looks like those of the Community Atmosphere Model (CAM5): its
 * sixteen variables of the climate segmentation data (Kurth et al. 2018), with tropical cyclones
 * and atmospheric rivers at known places. It is weather for networks, not for forecasts: zonal
 * means, eddies in geostrophic balance drawn from a spectrum, vortices of Holland (1980), filaments
 * of moisture. */
#ifndef DLX_DATA_TOOLS_CLIMATE_SKY_H
#define DLX_DATA_TOOLS_CLIMATE_SKY_H

#include <stdbool.h>
#include <stdint.h>

#define EARTH_RADIUS 6371.0          /* km */

/* In the order of the data set; units of CAM5. */
enum variable {
	TMQ, U850, V850, UBOT, VBOT, QREFHT, PS, PSL, T200, T500, PRECT, TS, TREFHT, Z1000, Z200, ZBOT,
	VARIABLES
};
extern const char *const variable_name[VARIABLES];

#define STORMS_MOST 8

struct storm {
	double lat, lon;             /* degrees, of the centre */
};

/* Buffers for a grid of (height, width) points, height latitudes from south to north, width
 * longitudes, even. Points lie in the middle of cells of equal angles. */
struct sky;
/* E_NOMEM. */
int sky_new(struct sky **out, int height, int width);
void sky_free(struct sky *s);                   /* NULL is fine */
/* The snapshot of that number. Lands are those of the seed, for all numbers. */
void sky_make(struct sky *s, uint64_t seed, int64_t number);
int sky_height(const struct sky *s);
int sky_width(const struct sky *s);
double sky_latitude(const struct sky *s, int row);              /* degrees */
double sky_longitude(const struct sky *s, int column);          /* 0 .. 360 */
const float *sky_values(const struct sky *s);                   /* (VARIABLES, height, width) */
int sky_storms(const struct sky *s, const struct storm **storms);
/* Kilometres between two places in degrees. */
double sky_distance(double lat, double lon, double lat2, double lon2);

#endif
