/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-cosmo: makes universes, counts their matter at four redshifts, and writes the counts with
 * the cosmological parameters as a record file. Described in dlx-cosmo(1). */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/rng.h"
#include "base/shown.h"
#include "base/signals.h"
#include "config.h"
#include "cosmo_field.h"
#include "data/record.h"
#include "generator.h"

static const char usage[] = "usage: dlx-cosmo [OPTIONS] -o OUT.dlx";

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
	const char *output, *command;
	int64_t universes, first, size, cube, seed, threads, level;
	double cell;
	bool quiet, help, version;
};

#define AT(m) offsetof(struct request, m)
static const struct option_row rows[] = {
	{ "output", 'o', OPTION_TEXT, AT(output), "FILE", .doc = "the record file to write" },
	{ "universes", 'n', OPTION_INT, AT(universes), "N", .min = 1, .max = 1 << 24,
	  .doc = "how many; default: 64" },
	{ "first", 0, OPTION_INT, AT(first), "N", .min = 0, .max = 1 << 24,
	  .doc = "the number of the first one; default: 0" },
	{ "size", 0, OPTION_INT, AT(size), "N", .min = 8, .max = 1024,
	  .doc = "cells along a side of a universe, even; default: 64" },
	{ "cube", 0, OPTION_INT, AT(cube), "N", .min = 4, .max = 1024,
	  .doc = "cut universes into samples with this side; default: whole" },
	{ "cell", 0, OPTION_FLOAT, AT(cell), "MPC",
	  .doc = "the side of a cell in Mpc; default: 1.4286" },
	{ "seed", 0, OPTION_INT, AT(seed), "N", .min = 0, .max = INT64_MAX, .doc = "default: 1" },
	{ "threads", 'j', OPTION_INT, AT(threads), "N", .min = 1, .max = 1024,
	  .doc = "universes made at a time; default: one for each processor" },
	{ "level", 'l', OPTION_INT, AT(level), "N", .min = 1, .max = 19,
	  .doc = "zstd compression level; default: 3" },
	{ "quiet", 'q', OPTION_FLAG, AT(quiet), .doc = "no summary at the end" },
	{ "help", 'h', OPTION_FLAG, AT(help), .doc = "this text" },
	{ "version", 0, OPTION_FLAG, AT(version), .doc = "the version" },
	{ 0 }
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
		const double at = 2 * rng_uniform((uint64_t)u->q->seed, hash_name("cosmo.parameters"),
		                                  (uint64_t)number, (uint64_t)i) - 1;
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
	field_displace(u->field, &s, q->cell * c.h * (double)q->size, (uint64_t)q->seed, number);
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

static struct record_info describe(const struct request *q)
{
	const int64_t in[] = { REDSHIFTS, q->cube, q->cube, q->cube }, out[] = { PARAMETERS };
	struct record_info i = {
		.input = { .dtype = DTYPE_I16, .shape = shape_of(4, in), .channels = redshift_name },
		.target = { .dtype = DTYPE_F32, .shape = shape_of(1, out), .channels = parameter_name },
		.mask = -1, .ignore = RECORD_NO_IGNORE, .command = q->command,
	};
	return i;
}

static int summary(const struct request *q, struct record_writer *w, int rc)
{
	const int64_t side = q->size / q->cube;
	if (rc < 0) {
		record_discard(w);
		return rc;
	}
	TRY(record_commit(w));
	if (!q->quiet)
		printf("%s: %lld universes of %.4g Mpc a side, %lld samples of %lld x %lld x %lld cells at "
		       "%d redshifts\n", shown(q->output), (long long)q->universes,
		       q->cell * (double)q->size, (long long)(q->universes * side * side * side),
		       (long long)q->cube, (long long)q->cube, (long long)q->cube, REDSHIFTS);
	return 0;
}

static int make(const struct request *q)
{
	const struct record_info info = describe(q);
	struct output o = { .q = q };
	const struct generator g = { .user = &o, .first = q->first, .n = q->universes,
		.threads = (int)(q->threads ? q->threads : host_processors()),
		.open = open_universe, .close = close_universe, .make = make_universe,
		.write = write_universe };
	TRY(record_create(&o.w, q->output, &info, (int)q->level));
	o.sample = mem_calloc((size_t)(REDSHIFTS * q->cube * q->cube * q->cube), sizeof *o.sample);
	const int rc = summary(q, o.w, generator_run(&g));
	mem_free(o.sample);
	return rc;
}

/* --- the command line --- */

static int check(struct request *q, int argc, char **argv)
{
	if (argc > 1)
		return ERR(E_USAGE, NULL, "unexpected argument '%s'; %s", argv[1], usage);
	if (!q->output)
		return ERR(E_USAGE, NULL, "no --output given; %s", usage);
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

/* All that the file's content depends on, and nothing else: it is the same for any number of
 * threads. */
static const char *command(const struct request *q, struct arena *a)
{
	return arena_printf(a, "dlx-cosmo --universes %lld --first %lld --size %lld --cube %lld "
	                    "--cell %.17g --seed %lld --level %lld", (long long)q->universes,
	                    (long long)q->first, (long long)q->size, (long long)q->cube, q->cell,
	                    (long long)q->seed, (long long)q->level);
}

static void help(void)
{
	printf("%s\n\nMakes universes of known parameters, for networks that tell these from them.\n\n",
	       usage);
	option_help(stdout, rows);
}

static int run(struct request *q, int argc, char **argv)
{
	struct arena *a = arena_new();
	int rc;
	rc = option_read(rows, q, NULL, &argc, argv);
	if (rc == 0 && q->help)
		help();
	else if (rc == 0 && q->version)
		printf("dlx-cosmo %s\n", PACKAGE_VERSION);
	else if (rc == 0)
		rc = check(q, argc, argv);
	if (rc == 0 && !q->help && !q->version) {
		q->command = command(q, a);
		rc = make(q);
	}
	arena_free(a);
	return rc;
}

int main(int argc, char **argv)
{
	struct request q = { .universes = 64, .size = 64, .cell = CELL, .seed = 1, .level = 3 };
	int rc;
	signals_block();
	log_init("dlx-cosmo", 0, 1);
	rc = signals_begin();
	if (rc == 0)
		rc = debug_read();
	if (rc == 0)
		rc = run(&q, argc, argv);
	if (rc == 0 && fflush(stdout) != 0)
		rc = ERR(E_IO, NULL, "cannot write to the standard output: %m");
	if (rc < 0)
		err_print(stderr, "dlx-cosmo");
	return err_exit_status(rc);
}
