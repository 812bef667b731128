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
#include "base/pool.h"
#include "base/rng.h"
#include "base/shown.h"
#include "base/signals.h"
#include "config.h"
#include "cosmo_field.h"
#include "data/record.h"

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

/* One universe, made by a thread of the pool. */
struct job {
	const struct request *q;
	struct field *field;
	int64_t number;
	float target[PARAMETERS];
	int16_t *counts;              /* (redshift, size, size, size) */
	int rc;
	struct err_record error;
};

static int64_t cells(const struct request *q)
{
	return q->size * q->size * q->size;
}

static struct cosmology draw(struct job *j)
{
	double value[PARAMETERS];
	for (int i = 0; i < PARAMETERS; i++) {
		const double u = 2 * rng_uniform((uint64_t)j->q->seed, hash_name("cosmo.parameters"),
		                                 (uint64_t)j->number, (uint64_t)i) - 1;

		j->target[i] = (float)u;
		value[i] = parameter_mean[i] * (1 + SPREAD * u);
	}
	return (struct cosmology){ .omega_m = value[0], .omega_b = OMEGA_B, .h = value[3] / 100,
	                          .n_s = value[2], .sigma_8 = value[1], .t_cmb = T_CMB };
}

static void make_universe(void *arg)
{
	struct job *j = arg;
	const struct request *q = j->q;
	const struct cosmology c = draw(j);
	struct spectrum s;
	spectrum_init(&s, &c);
	field_displace(j->field, &s, q->cell * c.h * (double)q->size, (uint64_t)q->seed, j->number);
	j->rc = 0;
	for (int i = 0; i < REDSHIFTS && j->rc == 0; i++)
		j->rc = field_count(j->field, cosmology_growth(&c, redshift[i]), j->counts + i * cells(q));
	if (j->rc < 0)
		err_take(&j->error);
}

/* --- samples --- */

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

static int write_universe(struct record_writer *w, struct job *j, int16_t *sample)
{
	const struct request *q = j->q;
	const int64_t side = q->size / q->cube;
	if (j->rc < 0) {
		err_give(&j->error);
		return err_context(j->rc, "universe %lld", (long long)j->number);
	}
	for (int64_t i = 0; i < side * side * side; i++) {
		const int64_t at[] = { i / side / side * q->cube, i / side % side * q->cube,
		                      i % side * q->cube };

		cut(q, j->counts, at, sample);
		TRY(record_append(w, sample, j->target));
	}
	return 0;
}

/* --- all of them --- */

struct makers {
	int n;
	struct job *job;              /* twice n: one half is made while the other is written */
	struct pool *pool;
};

static int makers_new(struct makers *m, const struct request *q)
{
	m->job = mem_calloc((size_t)(2 * m->n), sizeof *m->job);
	for (int i = 0; i < 2 * m->n; i++) {
		m->job[i].q = q;
		m->job[i].counts = mem_calloc((size_t)(REDSHIFTS * cells(q)), sizeof(int16_t));
		if (i < m->n)
			TRY(field_new(&m->job[i].field, (int)q->size));
		else
			m->job[i].field = m->job[i - m->n].field;
	}
	m->pool = pool_new(m->n, m->n);
	return m->pool ? 0 : err_context(E_UNAVAILABLE, "starting threads");
}

static void makers_free(struct makers *m)
{
	pool_free(m->pool);
	for (int i = 0; m->job && i < 2 * m->n; i++) {
		if (i < m->n)
			field_free(m->job[i].field);
		mem_free(m->job[i].counts);
	}
	mem_free(m->job);
}

/* Starts universes from number `done` on, as many as there are threads. */
static int64_t start(struct makers *m, const struct request *q, int half, int64_t done)
{
	int64_t k = 0;
	for (; k < m->n && done + k < q->universes; k++) {
		struct job *j = &m->job[half * m->n + k];

		j->number = q->first + done + k;
		pool_add(m->pool, make_universe, j);
	}
	return k;
}

static int make_all(struct makers *m, const struct request *q, struct record_writer *w)
{
	int16_t *sample = mem_calloc((size_t)(REDSHIFTS * q->cube * q->cube * q->cube),
	                             sizeof *sample);
	int64_t done = 0, started = start(m, q, 0, 0);
	int rc = 0;
	for (int half = 0; started > 0 && rc == 0; half = 1 - half) {
		const int64_t ready = started;

		pool_wait(m->pool);
		started = start(m, q, 1 - half, done + ready);
		for (int64_t k = 0; k < ready && rc == 0; k++)
			rc = write_universe(w, &m->job[half * m->n + k], sample);
		done += ready;
	}
	pool_wait(m->pool);
	mem_free(sample);
	return rc;
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
	const int64_t wanted = q->threads ? q->threads : host_processors();
	struct makers m = { .n = (int)(wanted < q->universes ? wanted : q->universes) };
	const struct record_info info = describe(q);
	struct record_writer *w;
	int rc = makers_new(&m, q);
	if (rc == 0)
		rc = record_create(&w, q->output, &info, (int)q->level);
	if (rc == 0)
		rc = summary(q, w, make_all(&m, q, w));
	makers_free(&m);
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
