/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lattice constants are the commonly tabulated ones at room temperature, in angstrom; thermal
 * displacements follow from tabulated Debye-Waller factors B by u = sqrt(B / 8) / pi. */
#include "data-tools/make/stem/stem_crystal.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#define CUBIC(a) 90, a, a, a
#define HEXAGONAL(a, c) 120, a, a, c
#define TETRAGONAL(a, c) 90, a, a, c
#define ONE { { 0, { 0, 0, 0 } } }, 1
#define DIAMOND(k) { { 0, { 0, 0, 0 } }, { k, { .25, .25, .25 } } }, 2
#define ROCK_SALT { { 0, { 0, 0, 0 } }, { 1, { .5, .5, .5 } } }, 2
#define FLUORITE { { 0, { 0, 0, 0 } }, { 1, { .25, .25, .25 } }, { 1, { .75, .75, .75 } } }, 3
#define CLOSE_PACKED { { 0, { 1 / 3., 2 / 3., .25 } }, { 0, { 2 / 3., 1 / 3., .75 } } }, 2
#define WURTZITE(u) { { 0, { 1 / 3., 2 / 3., 0 } }, { 0, { 2 / 3., 1 / 3., .5 } }, \
	{ 1, { 1 / 3., 2 / 3., u } }, { 1, { 2 / 3., 1 / 3., .5 + (u) } } }, 4
#define PEROVSKITE { { 0, { 0, 0, 0 } }, { 1, { .5, .5, .5 } }, { 2, { .5, .5, 0 } }, \
	{ 2, { .5, 0, .5 } }, { 2, { 0, .5, .5 } } }, 5

static const struct crystal crystals[] = {
	/* face-centred metals */
	{ "Al", 'F', CUBIC(4.0495), .10, { "Al" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	{ "Ni", 'F', CUBIC(3.5240), .07, { "Ni" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	{ "Cu", 'F', CUBIC(3.6149), .08, { "Cu" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	{ "Ag", 'F', CUBIC(4.0853), .09, { "Ag" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	{ "Pt", 'F', CUBIC(3.9242), .07, { "Pt" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	{ "Au", 'F', CUBIC(4.0782), .09, { "Au" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	{ "Pb", 'F', CUBIC(4.9508), .16, { "Pb" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	/* body-centred metals, and an alloy whose two sites differ */
	{ "Fe", 'I', CUBIC(2.8665), .07, { "Fe" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	{ "Mo", 'I', CUBIC(3.1470), .06, { "Mo" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	{ "W", 'I', CUBIC(3.1652), .05, { "W" }, ONE, { { 0, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } } },
	{ "NiAl", 'P', CUBIC(2.887), .08, { "Ni", "Al" }, ROCK_SALT,
	  { { 0, 0, 1 }, { 1, 1, 0 } } },
	/* hexagonal metals */
	{ "Mg", 'P', HEXAGONAL(3.2094, 5.2108), .13, { "Mg" }, CLOSE_PACKED,
	  { { 0, 0, 1 }, { 1, 0, 0 } } },
	{ "Ti", 'P', HEXAGONAL(2.9508, 4.6855), .08, { "Ti" }, CLOSE_PACKED,
	  { { 0, 0, 1 }, { 1, 0, 0 } } },
	/* diamond, sphalerite, wurtzite */
	{ "Si", 'F', CUBIC(5.4310), .08, { "Si" }, DIAMOND(0), { { 0, 0, 1 }, { 1, 1, 0 },
	  { 1, 1, 1 } } },
	{ "Ge", 'F', CUBIC(5.6579), .08, { "Ge" }, DIAMOND(0), { { 0, 0, 1 }, { 1, 1, 0 },
	  { 1, 1, 1 } } },
	{ "GaAs", 'F', CUBIC(5.6533), .09, { "Ga", "As" }, DIAMOND(1), { { 0, 0, 1 }, { 1, 1, 0 },
	  { 1, 1, 1 } } },
	{ "ZnS", 'F', CUBIC(5.4093), .10, { "Zn", "S" }, DIAMOND(1), { { 0, 0, 1 }, { 1, 1, 0 },
	  { 1, 1, 1 } } },
	{ "ZnO", 'P', HEXAGONAL(3.2498, 5.2066), .09, { "Zn", "O" }, WURTZITE(.3819),
	  { { 0, 0, 1 } } },
	{ "GaN", 'P', HEXAGONAL(3.189, 5.185), .07, { "Ga", "N" }, WURTZITE(.377), { { 0, 0, 1 } } },
	/* salts and oxides */
	{ "NaCl", 'F', CUBIC(5.6402), .14, { "Na", "Cl" }, ROCK_SALT, { { 0, 0, 1 }, { 1, 1, 0 } } },
	{ "KCl", 'F', CUBIC(6.2931), .16, { "K", "Cl" }, ROCK_SALT, { { 0, 0, 1 }, { 1, 1, 0 } } },
	{ "MgO", 'F', CUBIC(4.2117), .07, { "Mg", "O" }, ROCK_SALT, { { 0, 0, 1 }, { 1, 1, 0 } } },
	{ "CaF2", 'F', CUBIC(5.4626), .09, { "Ca", "F" }, FLUORITE, { { 0, 0, 1 }, { 1, 1, 0 } } },
	{ "CeO2", 'F', CUBIC(5.4110), .07, { "Ce", "O" }, FLUORITE, { { 0, 0, 1 }, { 1, 1, 0 } } },
	{ "TiO2", 'P', TETRAGONAL(4.5937, 2.9587), .07, { "Ti", "O" },
	  { { 0, { 0, 0, 0 } }, { 0, { .5, .5, .5 } }, { 1, { .3048, .3048, 0 } },
	    { 1, { .6952, .6952, 0 } }, { 1, { .8048, .1952, .5 } }, { 1, { .1952, .8048, .5 } } }, 6,
	  { { 0, 0, 1 } } },
	{ "SrTiO3", 'P', CUBIC(3.905), .08, { "Sr", "Ti", "O" }, PEROVSKITE,
	  { { 0, 0, 1 }, { 1, 1, 0 } } },
	{ "BaTiO3", 'P', TETRAGONAL(3.994, 4.038), .08, { "Ba", "Ti", "O" },
	  { { 0, { 0, 0, 0 } }, { 1, { .5, .5, .5224 } }, { 2, { .5, .5, .9756 } },
	    { 2, { .5, 0, .4895 } }, { 2, { 0, .5, .4895 } } }, 5, { { 0, 0, 1 }, { 1, 1, 0 } } },
	/* layers */
	{ "MoS2", 'P', HEXAGONAL(3.1604, 12.295), .08, { "Mo", "S" },
	  { { 0, { 1 / 3., 2 / 3., .25 } }, { 0, { 2 / 3., 1 / 3., .75 } },
	    { 1, { 1 / 3., 2 / 3., .621 } }, { 1, { 2 / 3., 1 / 3., .121 } },
	    { 1, { 2 / 3., 1 / 3., .379 } }, { 1, { 1 / 3., 2 / 3., .879 } } }, 6, { { 0, 0, 1 } } },
	{ "graphite", 'P', HEXAGONAL(2.461, 6.708), .08, { "C" },
	  { { 0, { 0, 0, .25 } }, { 0, { 0, 0, .75 } }, { 0, { 1 / 3., 2 / 3., .25 } },
	    { 0, { 2 / 3., 1 / 3., .75 } } }, 4, { { 0, 0, 1 } } },
};

const struct crystal *crystal_at(int i)
{
	return i < (int)(sizeof crystals / sizeof *crystals) ? &crystals[i] : NULL;
}

const struct crystal *crystal_find(const char *name)
{
	for (int i = 0; crystal_at(i); i++)
		if (strcmp(crystal_at(i)->name, name) == 0)
			return crystal_at(i);
	return NULL;
}

int crystal_zones(const struct crystal *c)
{
	int n = 0;
	while (n < CRYSTAL_ZONES && (c->zone[n][0] || c->zone[n][1] || c->zone[n][2]))
		n++;
	return n;
}

int crystal_cell(const struct crystal *c, struct crystal_site *site)
{
	static const double shift[][3] = { { 0, 0, 0 }, { .5, .5, .5 },
		{ 0, .5, .5 }, { .5, 0, .5 }, { .5, .5, 0 } };
	int n = 0;
	for (int k = 0; k < 5; k++)
		for (int i = 0; i < c->sites && (k == 0 || (c->centring == 'I' && k == 1) ||
		                                 (c->centring == 'F' && k > 1)); i++, n++) {
			site[n].kind = c->site[i].kind;
			for (int j = 0; j < 3; j++)
				site[n].at[j] = fmod(c->site[i].at[j] + shift[k][j], 1);
		}
	return n;
}

/* --- vectors: the rows of a matrix --- */

static double dot(const double x[3], const double y[3])
{
	return x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
}

static void cross(const double x[3], const double y[3], double out[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = x[(i + 1) % 3] * y[(i + 2) % 3] - x[(i + 2) % 3] * y[(i + 1) % 3];
}

static void normalize(double x[3])
{
	const double length = sqrt(dot(x, x));
	for (int i = 0; i < 3; i++)
		x[i] /= length;
}

/* The edges of the cell, before any turn. */
static void edges(const struct crystal *c, double edge[3][3])
{
	const double gamma = c->gamma == 90 ? 0 : -0.5;          /* its cosine */
	memset(edge, 0, 9 * sizeof(double));
	edge[0][0] = c->a;
	edge[1][0] = c->b * gamma;
	edge[1][1] = c->b * sqrt(1 - gamma * gamma);
	edge[2][2] = c->c;
}

double crystal_volume(const struct crystal *c)
{
	double edge[3][3];
	edges(c, edge);
	return edge[0][0] * edge[1][1] * edge[2][2];
}

/* Turns axes p and q by an angle: from p to q. */
static void turn(double x[3], int p, int q, double angle)
{
	const double at = x[p];
	x[p] = at * cos(angle) - x[q] * sin(angle);
	x[q] = at * sin(angle) + x[q] * cos(angle);
}

/* The edges where the beam runs along z. */
static void orient(const struct crystal *c, const struct crystal_cut *cut, double edge[3][3])
{
	double axis[3][3] = { { 0 } }, plain[3][3];
	int least = 0;
	edges(c, plain);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			axis[2][j] += cut->zone[i] * plain[i][j];
	normalize(axis[2]);
	for (int j = 1; j < 3; j++)
		least = fabs(axis[2][j]) < fabs(axis[2][least]) ? j : least;
	axis[0][least] = 1;
	cross(axis[2], axis[0], axis[1]);
	normalize(axis[1]);
	cross(axis[1], axis[2], axis[0]);
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			edge[i][j] = dot(plain[i], axis[j]);
		turn(edge[i], 0, 1, cut->turn);
		turn(edge[i], 1, 2, cut->tilt[0]);
		turn(edge[i], 2, 0, cut->tilt[1]);
	}
}

/* --- slabs --- */

struct slab {
	const struct crystal_cut *cut;
	double edge[3][3], first[3];  /* first: where lattice point 0, 0, 0 is */
	struct atom *atom;
	int64_t n, room;
	uint64_t tried;               /* sites, each with displacements of its own */
};

static void add(struct slab *s, const struct crystal_site *site, const int cell[3])
{
	const struct crystal_cut *cut = s->cut;
	struct atom a = { .kind = site->kind };
	const uint64_t stream = hash_name("stem.displacement"), index = 3 * s->tried++;
	for (int j = 0; j < 3; j++) {
		a.at[j] = s->first[j];
		for (int i = 0; i < 3; i++)
			a.at[j] += (cell[i] + site->at[i]) * s->edge[i][j];
		if (a.at[j] < 0 || a.at[j] >= cut->extent[j])
			return;
	}
	for (int j = 0; j < 3 && cut->u > 0; j++)
		a.at[j] += cut->u * rng_normal(cut->seed, stream, cut->step, index + (uint64_t)j);
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->atom = mem_realloc(s->atom, (size_t)s->room * sizeof *s->atom);
	}
	s->atom[s->n++] = a;
}

struct atom *crystal_slab(const struct crystal *c, const struct crystal_cut *cut, int64_t *n)
{
	struct crystal_site site[4 * CRYSTAL_SITES];
	const int sites = crystal_cell(c, site);
	struct slab s = { .cut = cut };
	double normal[3][3];
	int reach[3], cell[3];

	orient(c, cut, s.edge);
	/* Lattice planes that a ball around the box meets, on each side of its middle. */
	const double radius = 0.5 * sqrt(dot(cut->extent, cut->extent));
	for (int i = 0; i < 3; i++) {
		cross(s.edge[(i + 1) % 3], s.edge[(i + 2) % 3], normal[i]);
		reach[i] = 2 + (int)(radius * sqrt(dot(normal[i], normal[i])) / crystal_volume(c));
	}
	for (int j = 0; j < 3; j++) {
		s.first[j] = cut->extent[j] / 2;
		for (int i = 0; i < 3; i++)
			s.first[j] += cut->origin[i] * s.edge[i][j];
	}
	for (cell[0] = -reach[0]; cell[0] <= reach[0]; cell[0]++)
		for (cell[1] = -reach[1]; cell[1] <= reach[1]; cell[1]++)
			for (cell[2] = -reach[2]; cell[2] <= reach[2]; cell[2]++)
				for (int i = 0; i < sites; i++)
					add(&s, &site[i], cell);
	*n = s.n;
	return s.atom;
}
