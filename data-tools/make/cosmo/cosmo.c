/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-cosmo: makes universes, counts their matter at four redshifts, and writes the counts with
 * the cosmological parameters as a record file. Described in dlx-cosmo(1). */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/shown.h"
#include "data-tools/make/cosmo/cosmo_field.h"
#include "data-tools/make/generator_program.h"

#define REDSHIFTS 4
static const double redshift[REDSHIFTS] = { 0, 0.5, 1.5, 3 };
static const char *const redshift_name[REDSHIFTS] = { "z=0", "z=0.5", "z=1.5", "z=3" };

/* What is learned: each parameter is mean (1 + spread u), and u, from -1 to 1, is the target. */
#define PARAMETERS 4
static const char *const parameter_name[PARAMETERS] = { "omega_m", "sigma_8", "n_s", "h_0" };
static const double parameter_mean[PARAMETERS] = { 0.30, 0.80, 0.96, 70 };
#define SPREAD 0.1
#define OMEGA_B 0.045
#define T_CMB 2.726
/* The side of a cell, Mpc: that of 512 Mpc/h for H0 = 70 in 512 cells. Its length is the same
 * whatever h is, or h could not be seen. */
#define CELL (1 / 0.7)

struct request {
	struct generator_options common;
	int64_t size, cube;
	double cell;
};

#define AT(m) offsetof(struct request, m)
static const struct option_row rows[] = {
	GENERATOR_OUTPUT,
	GENERATOR_NUMBER("universes", 'n'),
	{ "size", 0, OPTION_INT, AT(size), "N", .min = 8, .max = 1024,
	  .doc = "cells along a side of a universe, even; default: 64" },
	{ "cube", 0, OPTION_INT, AT(cube), "N", .min = 4, .max = 1024,
	  .doc = "cut universes into samples with this side; default: whole" },
	{ "cell", 0, OPTION_FLOAT, AT(cell), "MPC",
	  .doc = "the side of a cell in Mpc; default: 1.4286" },
	GENERATOR_END
};
#undef AT

/* One universe. */
struct universe {
	const struct request *q;
	struct field *field;
	bool borrowed;                /* the field is its peer's */
	float target[PARAMETERS];
	int16_t *counts;              /* (redshift, size, size, size) */
};

struct output {
	const struct request *q;
	struct record_writer *w;
	int16_t *sample;
};

static int64_t cells(const struct request *q)
{
	return q->size * q->size * q->size;
}

static void close_universe(void *slot)
{
	struct universe *u = slot;
	if (!u->borrowed)
		field_free(u->field);
	mem_free(u->counts);
	mem_free(u);
}

static int open_universe(void *user, void *peer, void **slot)
{
	const struct output *o = user;
	struct universe *u = *slot = mem_calloc(1, sizeof *u);
	u->q = o->q;
	u->counts = mem_calloc((size_t)(REDSHIFTS * cells(o->q)), sizeof *u->counts);
	u->borrowed = peer != NULL;
	if (peer)
		u->field = ((struct universe *)peer)->field;
	return peer ? 0 : field_new(&u->field, (int)o->q->size);
}

static struct cosmology draw(struct universe *u, int64_t number)
{
	double value[PARAMETERS];
	for (int i = 0; i < PARAMETERS; i++) {
		const uint64_t seed = (uint64_t)u->q->common.seed;
		const double at = 2 * rng_uniform(seed, hash_name("cosmo.parameters"), (uint64_t)number,
		                                  (uint64_t)i) - 1;
		u->target[i] = (float)at;
		value[i] = parameter_mean[i] * (1 + SPREAD * at);
	}
	return (struct cosmology){ .omega_m = value[0], .omega_b = OMEGA_B, .h = value[3] / 100,
		.n_s = value[2], .sigma_8 = value[1], .t_cmb = T_CMB };
}

static int make_universe(void *slot, int64_t number)
{
	struct universe *u = slot;
	const struct request *q = u->q;
	const struct cosmology c = draw(u, number);
	struct spectrum s;
	spectrum_init(&s, &c);
	field_displace(u->field, &s, q->cell * c.h * (double)q->size, (uint64_t)q->common.seed, number);
	for (int i = 0; i < REDSHIFTS; i++)
		TRY(field_count(u->field, cosmology_growth(&c, redshift[i]), u->counts + i * cells(q)));
	return 0;
}

/* The cube whose first cell is (x, y, z), of all redshifts. */
static void cut(const struct request *q, const int16_t *counts, const int64_t at[3], int16_t *to)
{
	const int64_t n = q->size, m = q->cube;
	for (int64_t c = 0; c < REDSHIFTS; c++)
		for (int64_t x = 0; x < m; x++)
			for (int64_t y = 0; y < m; y++)
				memcpy(to + ((c * m + x) * m + y) * m,
				       counts + ((c * n + at[0] + x) * n + at[1] + y) * n + at[2],
				       (size_t)m * sizeof *to);
}

static int write_universe(void *user, void *slot)
{
	const struct output *o = user;
	const struct universe *u = slot;
	const int64_t cube = o->q->cube, side = o->q->size / cube;
	for (int64_t i = 0; i < side * side * side; i++) {
		const int64_t at[] = { i / side / side * cube, i / side % side * cube, i % side * cube };
		cut(o->q, u->counts, at, o->sample);
		TRY(record_append(o->w, o->sample, u->target));
	}
	return 0;
}

/* --- the program --- */

static struct record_info describe(const void *options)
{
	const struct request *q = options;
	const int64_t in[] = { REDSHIFTS, q->cube, q->cube, q->cube }, out[] = { PARAMETERS };
	return (struct record_info){
		.input = { .dtype = DTYPE_I16, .shape = shape_of(4, in), .channels = redshift_name },
		.target = { .dtype = DTYPE_F32, .shape = shape_of(1, out), .channels = parameter_name },
		.mask = -1, .ignore = RECORD_NO_IGNORE,
	};
}

static int make(void *options, struct generator *g, struct record_writer *w)
{
	const struct request *q = options;
	struct output o = { .q = q, .w = w };
	o.sample = mem_calloc((size_t)(REDSHIFTS * q->cube * q->cube * q->cube), sizeof *o.sample);
	g->user = &o;
	g->open = open_universe;
	g->close = close_universe;
	g->make = make_universe;
	g->write = write_universe;
	const int rc = generator_run(g);
	mem_free(o.sample);
	return rc;
}

static void tell(const void *options)
{
	const struct request *q = options;
	const int64_t side = q->size / q->cube;
	printf("%s: %lld universes of %.4g Mpc a side, %lld samples of %lld x %lld x %lld cells at %d "
	       "redshifts\n", shown(q->common.output), (long long)q->common.n,
	       q->cell * (double)q->size, (long long)(q->common.n * side * side * side),
	       (long long)q->cube, (long long)q->cube, (long long)q->cube, REDSHIFTS);
}

static int check(void *options)
{
	struct request *q = options;
	if (q->size % 2)
		return ERR(E_USAGE, NULL, "--size: %lld is odd", (long long)q->size);
	if (!(q->cell > 0 && q->cell < 1e4))
		return ERR(E_USAGE, NULL, "--cell: expected a length in Mpc, above 0");
	q->cube = q->cube ? q->cube : q->size;
	if (q->cube > q->size || q->size % q->cube)
		return ERR(E_USAGE, NULL, "--cube: universes of %lld cells are not cut into cubes of %lld",
		           (long long)q->size, (long long)q->cube);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct generator_program program = { .name = "dlx-cosmo",
		.about = "Makes universes of known parameters, for networks that tell these from them.",
		.rows = rows, .check = check, .describe = describe, .make = make,
		.tell = tell };
	struct request q = { GENERATOR_DEFAULTS, .size = 64, .cell = CELL };
	return generator_main(&program, &q.common, argc, argv);
}
