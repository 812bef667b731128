/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The points of dlx-field's fields: a grid of one or two axes, and sensors at any places in it. */
#ifndef DLX_DATA_TOOLS_FIELD_GRID_H
#define DLX_DATA_TOOLS_FIELD_GRID_H

#include <stdbool.h>
#include <stdint.h>

#define FIELD_AXES 2

/* Axis 0 is x, which varies fastest in memory. */
struct field_grid {
	int axes;
	int64_t n[FIELD_AXES];         /* points of each axis; 1 if the grid does not have the axis */
	double lo[FIELD_AXES], hi[FIELD_AXES];
	bool cells;                    /* points are the centres of cells; false: both ends are
	                                * points */
};

static inline int64_t field_points(const struct field_grid *g)
{
	return g->n[0] * g->n[1];
}

/* The distance between neighbouring points of an axis. */
static inline double field_spacing(const struct field_grid *g, int axis)
{
	return (g->hi[axis] - g->lo[axis]) / (double)(g->cells ? g->n[axis] : g->n[axis] - 1);
}

/* The coordinate of point i of an axis. */
static inline double field_at(const struct field_grid *g, int axis, int64_t i)
{
	if (!g->cells && i == g->n[axis] - 1)
		return g->hi[axis];
	return g->lo[axis] + ((double)i + (g->cells ? 0.5 : 0)) * field_spacing(g, axis);
}

/* Parses at most `most` numbers, separated by `mark`, from text. Returns their number, or E_USAGE,
 * which names the option. */
int field_numbers(const char *option, const char *text, char mark, double *to, int most);

struct field_sensors {
	int64_t n;
	double *at[FIELD_AXES];        /* coordinates: n values for each axis */
};

/* Reads "N", which is N equidistant places along each axis, its ends included (1: the middle), or
 * "@X,X" and in two dimensions "@X:Y,X:Y"; NULL: none. E_USAGE names the option. */
int field_sensors_read(struct field_sensors *s, const char *option, const char *text,
                       const struct field_grid *g);
void field_sensors_release(struct field_sensors *s);
/* The value of a field at sensor k, interpolated by polynomials through the `order` (2 to 4)
 * nearest points along each axis. Beyond the centres of the outermost cells it is extrapolated. */
double field_sensors_value(const struct field_sensors *s, int64_t k, const struct field_grid *g,
                           int order, const double *field);

#endif
