/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Crystals by name, and slabs that are cut from them in any orientation. Lengths in angstrom. */
#ifndef DLX_DATA_TOOLS_STEM_CRYSTAL_H
#define DLX_DATA_TOOLS_STEM_CRYSTAL_H

#include <stdint.h>

#include "data-tools/make/stem/stem_atom.h"

#define CRYSTAL_KINDS 3               /* elements of a crystal at most */
#define CRYSTAL_SITES 6
#define CRYSTAL_ZONES 4

struct crystal_site {
	int kind;                     /* an index of the crystal's elements */
	double at[3];                 /* of the cell's edges */
};

struct crystal {
	const char *name;
	char centring;                /* P, I or F: every site is also at the other lattice points */
	int gamma;                    /* degrees between a and b: 90 or 120; the others are 90 */
	double a, b, c;
	double u;                     /* thermal displacement along an axis, rms, at 290 K */
	const char *element[CRYSTAL_KINDS];
	struct crystal_site site[CRYSTAL_SITES];
	int sites;
	/* Directions of the beam, in which columns are at least 1.2 angstrom apart; zeros end. */
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

/* How a slab is cut: the beam runs along the zone axis, and what is there is turned about it, then
 * tilted about the axes x and y; all angles in rad. */
struct crystal_cut {
	const int8_t *zone;
	double turn, tilt[2];
	double origin[3];             /* shifts the lattice by so much of the cell's edges */
	double extent[3];             /* the slab's box: 0 <= x < extent[0] and so on */
	uint64_t seed, step;          /* of the thermal displacements */
	double u;                     /* their rms along an axis */
};

/* The atoms of the box; mem_free. */
struct atom *crystal_slab(const struct crystal *c, const struct crystal_cut *cut, int64_t *n);

#endif
