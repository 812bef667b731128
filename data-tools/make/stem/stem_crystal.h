/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table of crystals, and slabs that are cut from them in any orientation. Lengths are in
 * angstrom. */
#ifndef DLX_DATA_TOOLS_STEM_CRYSTAL_H
#define DLX_DATA_TOOLS_STEM_CRYSTAL_H

#include <stdint.h>

#include "data-tools/make/stem/stem_atom.h"

#define CRYSTAL_KINDS 3               /* largest number of elements in a crystal */
#define CRYSTAL_SITES 6
#define CRYSTAL_ZONES 4

struct crystal_site {
	int kind;                     /* index in the crystal's elements */
	double at[3];                 /* position in units of the cell's edges */
};

struct crystal {
	const char *name;
	char centring;                /* lattice centring P, I or F, which repeats every site at the
	                               * additional lattice points */
	int gamma;                    /* degrees between a and b: 90 or 120; the others are 90 */
	double a, b, c;
	double u;                     /* rms thermal displacement along an axis at 290 K */
	const char *element[CRYSTAL_KINDS];
	struct crystal_site site[CRYSTAL_SITES];
	int sites;
	/* Zone axes for the beam, along which atomic columns are at least 1.2 angstrom apart; a zero
	 * vector ends the list. */
	int8_t zone[CRYSTAL_ZONES][3];
};

/* The i-th crystal of the table; NULL after the last. */
const struct crystal *crystal_at(int i);
const struct crystal *crystal_find(const char *name);          /* NULL: no such crystal */
int crystal_zones(const struct crystal *c);
double crystal_volume(const struct crystal *c);                /* of the cell */
/* The sites of the whole cell: at most 4 * CRYSTAL_SITES. */
int crystal_cell(const struct crystal *c, struct crystal_site *site);

struct atom {
	int kind;
	double at[3];                 /* x, y across the beam, z along it */
};

/* The orientation of a slab: the beam is along the zone axis; the crystal is turned about it, then
 * tilted about the axes x and y. Angles are in rad. */
struct crystal_cut {
	const int8_t *zone;
	double turn, tilt[2];
	double origin[3];             /* shift of the lattice in units of the cell's edges */
	double extent[3];             /* the slab's box: 0 <= x < extent[0] and so on */
	uint64_t seed, step;          /* random numbers of the thermal displacements */
	double u;                     /* rms thermal displacement along an axis */
};

/* The atoms in the box, *n of them; free with mem_free. */
struct atom *crystal_slab(const struct crystal *c, const struct crystal_cut *cut, int64_t *n);

#endif
