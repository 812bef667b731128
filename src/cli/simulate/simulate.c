/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-simulate: what a training would do on a cluster that need not be there, for many numbers of
 * ranks. Described in dlx-simulate(1). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "cli/simulate/sim_advice.h"
#include "cli/simulate/sim_cut.h"
#include "config.h"

#define PROGRAM "dlx-simulate"
#define MOST_ROWS 64
#define MOST_RANKS 10000000

enum { DO_SIMULATE, DO_HELP, DO_VERSION };

struct sim_options {
	int command;
	const char *config, *cluster, *ranks, *times, *fit, *device, *gpu, *picture;
	struct texts set;
	double noise;
	int64_t samples;
	bool json;
};

#define AT(m) offsetof(struct sim_options, m)
static const struct option_row rows[] = {
	{ "cluster", 0, OPTION_TEXT, AT(cluster), "FILE",
	  .doc = "the cluster's description, such as configs/cluster/summit.yaml" },
	{ "ranks", 0, OPTION_TEXT, AT(ranks), "N,N,...",
	  .doc = "numbers of ranks to simulate; default: 1 and multiples by eight, up to all of the "
	  "cluster" },
	{ "set", 0, OPTION_TEXTS, AT(set), "KEY=VALUE",
	  .doc = "override one config value, as of dlx-train; may be repeated" },
	{ "times", 0, OPTION_TEXT, AT(times), "FILE",
	  .doc = "take the times of kernels from what 'dlx-train --bench --profile' has printed" },
	{ "noise", 0, OPTION_FLOAT, AT(noise), "SHARE",
	  .doc = "standard deviation of the time of a step's kernels over ranks, in place of the "
	  "cluster's" },
	{ "fit", 0, OPTION_TEXT, AT(fit), "EFFICIENCY@RANKS",
	  .doc = "choose the noise with which this config has that efficiency at this many ranks" },
	{ "samples", 0, OPTION_INT, AT(samples), "N", .min = 1, .max = INT64_C(1000000000000),
	  .doc = "samples of an epoch, where the config's data is not there" },
	{ "device", 0, OPTION_TEXT, AT(device), "auto|cpu|cuda|reference",
	  .doc = "the device to plan for, as of dlx-train" },
	{ "gpu", 0, OPTION_TEXT, AT(gpu), "NAME",
	  .doc = "plan for a GPU that is not there, as of dlx-train" },
	{ "json", 0, OPTION_FLAG, AT(json), .doc = "print JSON" },
	{ "svg", 0, OPTION_TEXT, AT(picture), "FILE", .writes = ".svg .png",
	  .doc = "draw efficiency and rate over ranks" },
	{ "help", 'h', OPTION_NONE, .command = DO_HELP, .doc = "this text" },
	{ "version", 0, OPTION_NONE, .command = DO_VERSION, .doc = "the version" },
	{ 0 }
};

static void help(void)
{
	printf("usage: " PROGRAM " --cluster FILE [OPTIONS] CONFIG.yaml\n\n"
	       "Simulates the training that CONFIG.yaml describes on a cluster. Options:\n\n");
	option_help(stdout, rows);
	printf("\nSee dlx-simulate(1).\n");
}

/* --- options --- */

static int read_rank(const char *text, const char **rest, int64_t *out)
{
	char *end;
	*out = strtoll(text, &end, 10);
	*rest = end;
	return end > text && *out >= 1 && *out <= MOST_RANKS;
}

static int read_list(const char *text, int64_t list[MOST_ROWS], int *n)
{
	const char *at = text;
	for (*n = 0; *n < MOST_ROWS && read_rank(at, &at, &list[*n]); at++) {
		++*n;
		if (!*at)
			return 0;
		if (*at != ',')
			break;
	}
	return ERR(E_USAGE, NULL, "'--ranks %s': expected at most %d numbers from 1 to %d with commas "
	           "between them, as in 8,64,512", text, MOST_ROWS, MOST_RANKS);
}

/* 1, 8, 64, ... and all. */
static void list_all(const struct cluster *c, int64_t list[MOST_ROWS], int *n)
{
	const int64_t all = c->hosts * c->ranks;
	*n = 0;
	for (int64_t r = 1; r < all && *n + 1 < MOST_ROWS; r *= 8)
		list[(*n)++] = r;
	list[(*n)++] = all;
}

static int read_fit(struct sim_result *r, const char *text)
{
	char *end;
	const char *rest = "";
	r->fit_efficiency = strtod(text, &end);
	if (end > text && *end == '@' && r->fit_efficiency > 0 && r->fit_efficiency <= 1 &&
	    read_rank(end + 1, &rest, &r->fit_ranks) && !*rest && r->fit_ranks > 1)
		return 0;
	return ERR(E_USAGE, NULL, "'--fit %s': expected an efficiency from 0 to 1 and a number of "
	           "ranks, as in 0.907@27360", text);
}

static int check(const struct sim_options *o)
{
	if (!o->config)
		return ERR(E_USAGE, NULL, "no config file given; usage: " PROGRAM
		           " --cluster FILE CONFIG.yaml; see --help");
	if (!o->cluster)
		return ERR(E_USAGE, NULL, "'--cluster FILE' is missing; configs/cluster has some, and "
		           "dlx-bench links writes one");
	if (o->fit && !isnan(o->noise))
		return ERR(E_USAGE, NULL, "'--fit' and '--noise' both determine the noise; give one");
	if (o->noise < 0 || o->noise > 1)
		return ERR(E_USAGE, NULL, "'--noise' is a share, from 0 to 1");
	return 0;
}

static int parse(struct sim_options *o, int argc, char **argv)
{
	*o = (struct sim_options){ .command = DO_SIMULATE, .noise = NAN };
	TRY(option_read(rows, o, &o->command, &argc, argv));
	if (argc > 2)
		return ERR(E_USAGE, NULL, "two config files: '%s' and '%s'", argv[1], argv[2]);
	o->config = argc > 1 ? argv[1] : NULL;
	return o->command == DO_SIMULATE ? check(o) : 0;
}

/* --- the simulation --- */

/* The spread with which the row's efficiency is that of r. */
static int fit(struct sim_result *r, struct sim_given *g, double *noise)
{
	struct sim_row row;
	*noise = 0;
	g->noise = noise;
	TRY(sim_row(&row, g, r->fit_ranks, NULL));
	*noise = 1;
	struct sim_row wide;
	TRY(sim_row(&wide, g, r->fit_ranks, NULL));
	*noise = (row.computing / r->fit_efficiency - row.step) / wide.slowest;
	if (*noise >= 0)
		return 0;
	return ERR(E_DATA, NULL, "'--fit': links alone make the efficiency %.3f at %" PRId64
	           " ranks, which is less than %g", row.efficiency, r->fit_ranks, r->fit_efficiency);
}

/* More ranks than samples in a step, say: ranks can share a sample. */
static int explain(const struct sim_result *r, struct sim_given *g, int64_t ranks, int rc)
{
	struct sim_change c = { .note = NULL };
	if (rc == E_CONFIG && !g->profile && sim_cut(&c, g, r->cluster, ranks, 2))
		err_context(rc, "for %" PRId64 " ranks; possible is --set '%s', with which %d ranks share "
		            "each sample: %.4g samples/s, efficiency %.3f", ranks, c.set, c.row.parts,
		            c.row.samples, c.row.efficiency);
	return rc;
}

/* Up to the first number of ranks that is impossible. */
static int simulate_all(struct sim_result *r, struct sim_given *g, const int64_t *list, int n)
{
	int rc = 0;
	r->row = ARENA_ARRAY(g->arena, struct sim_row, n);
	for (r->n = 0; r->n < n; r->n++) {
		rc = sim_row(&r->row[r->n], g, list[r->n], NULL);
		if (rc < 0) {
			rc = explain(r, g, list[r->n], rc);
			break;
		}
	}
	if (r->n > 0)
		sim_advise(r, g);
	return rc;
}

static int print(const struct sim_options *o, const struct sim_result *r)
{
	struct buf out = BUF_INIT;
	(o->json ? sim_print_json : sim_print_text)(r, &out);
	fwrite(out.data, 1, out.len, stdout);
	buf_release(&out);
	return o->picture ? sim_print_picture(r, o->picture) : 0;
}

static int simulate(const struct sim_options *o, struct arena *a)
{
	struct sim_given g = { .config = o->config, .cluster = o->cluster, .device = o->device,
		.gpu = o->gpu, .set = o->set, .samples = o->samples, .arena = a,
		.noise = isnan(o->noise) ? NULL : &o->noise };
	struct sim_result r = { .given = &g };
	struct cluster *c;
	int64_t list[MOST_ROWS];
	int n = 0;
	double noise;
	TRY(cluster_load(&c, a, o->cluster));
	r.cluster = c;
	if (o->picture)
		TRY(io_check_output(o->picture));
	if (o->ranks)
		TRY(read_list(o->ranks, list, &n));
	else
		list_all(c, list, &n);
	if (o->times)
		TRY(op_times_read(&g.profile, a, o->times));
	if (o->fit)
		TRY(read_fit(&r, o->fit));
	if (o->fit)
		TRY(fit(&r, &g, &noise));
	const int rc = simulate_all(&r, &g, list, n);
	const int printed = r.n > 0 ? print(o, &r) : 0;
	return rc < 0 ? rc : printed;
}

static int run(const struct sim_options *o)
{
	if (o->command == DO_HELP)
		help();
	else if (o->command == DO_VERSION)
		printf(PROGRAM " %s\n", PACKAGE_VERSION);
	else {
		struct arena *a = arena_new();
		int rc = simulate(o, a);
		arena_free(a);
		return rc;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sim_options o = { 0 };
	signals_block();
	log_init(PROGRAM, 0, 1);
	log_quiet(1);
	int rc = signals_begin();
	if (rc == 0)
		rc = parse(&o, argc, argv);
	if (rc == 0)
		rc = debug_read();
	if (rc == 0)
		rc = run(&o);
	io_scratch_remove();
	if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		rc = ERR(E_IO, NULL, "cannot write to standard output");
	if (rc < 0 && err_count() > 0)
		err_print(stderr, PROGRAM);
	mem_free(o.set.v);
	return rc < 0 ? err_exit_status(rc) : 0;
}
