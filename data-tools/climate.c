/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-climate: makes snapshots of weather with tropical cyclones and atmospheric rivers, labels
 * these, and writes both as a record file. Described in dlx-climate(1). */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/shown.h"
#include "base/signals.h"
#include "climate_label.h"
#include "config.h"
#include "data/record.h"
#include "generator.h"

static const char usage[] = "usage: dlx-climate [OPTIONS] -o OUT.dlx";

struct request {
	const char *output, *command;
	int64_t snapshots, first, height, width, seed, threads, level;
	double threshold;
	bool quiet, help, version;
};

#define AT(m) offsetof(struct request, m)
static const struct option_row rows[] = {
	{ "output", 'o', OPTION_TEXT, AT(output), "FILE", .doc = "the record file to write" },
	{ "snapshots", 'n', OPTION_INT, AT(snapshots), "N", .min = 1, .max = 1 << 24,
	  .doc = "how many; default: 64" },
	{ "first", 0, OPTION_INT, AT(first), "N", .min = 0, .max = 1 << 24,
	  .doc = "the number of the first one; default: 0" },
	{ "height", 0, OPTION_INT, AT(height), "N", .min = 16, .max = 8192,
	  .doc = "latitudes; default: 768" },
	{ "width", 0, OPTION_INT, AT(width), "N", .min = 16, .max = 8192,
	  .doc = "longitudes, even; default: 1152" },
	{ "threshold", 0, OPTION_FLOAT, AT(threshold), "KG", .doc =
	  "of moisture (kg/m^2) for rivers; default: 24" },
	{ "seed", 0, OPTION_INT, AT(seed), "N", .min = 0, .max = INT64_MAX, .doc = "default: 1" },
	{ "threads", 'j', OPTION_INT, AT(threads), "N", .min = 1, .max = 1024,
	  .doc = "snapshots made at a time; default: one for each processor" },
	{ "level", 'l', OPTION_INT, AT(level), "N", .min = 1, .max = 19,
	  .doc = "zstd compression level; default: 3" },
	{ "quiet", 'q', OPTION_FLAG, AT(quiet), .doc = "no summary at the end" },
	{ "help", 'h', OPTION_FLAG, AT(help), .doc = "this text" },
	{ "version", 0, OPTION_FLAG, AT(version), .doc = "the version" },
	{ 0 }
};
#undef AT

struct output {
	const struct request *q;
	struct record_writer *w;
	int64_t count[LABELS];
};

struct snapshot {
	const struct request *q;
	struct sky *sky;
	struct labeller *labeller;
	uint8_t *label;
};

static int64_t points(const struct request *q)
{
	return q->height * q->width;
}

static void close_snapshot(void *slot)
{
	struct snapshot *s = slot;
	sky_free(s->sky);
	labeller_free(s->labeller);
	mem_free(s->label);
	mem_free(s);
}

static int open_snapshot(void *user, void *peer, void **slot)
{
	const struct output *o = user;
	struct snapshot *s = *slot = mem_calloc(1, sizeof *s);
	(void)peer;
	s->q = o->q;
	s->labeller = labeller_new(points(o->q));
	s->label = mem_calloc((size_t)points(o->q), sizeof *s->label);
	return sky_new(&s->sky, (int)o->q->height, (int)o->q->width);
}

static int make_snapshot(void *slot, int64_t number)
{
	struct snapshot *s = slot;
	sky_make(s->sky, (uint64_t)s->q->seed, number);
	labeller_run(s->labeller, s->sky, s->q->threshold, s->label);
	return 0;
}

static int write_snapshot(void *user, void *slot)
{
	struct output *o = user;
	const struct snapshot *s = slot;
	for (int64_t i = 0; i < points(o->q); i++)
		o->count[s->label[i]]++;
	return record_append(o->w, sky_values(s->sky), s->label);
}

static struct record_info describe(const struct request *q)
{
	const int64_t in[] = { VARIABLES, q->height, q->width };
	return (struct record_info){
		.input = { .dtype = DTYPE_F32, .shape = shape_of(3, in), .channels = variable_name },
		.target = { .dtype = DTYPE_U8, .shape = shape_of(2, in + 1) },
		.mask = -1, .ignore = RECORD_NO_IGNORE, .nclasses = LABELS, .classes = label_name,
		.command = q->command,
	};
}

static int finish(const struct request *q, struct output *o, int rc)
{
	if (rc < 0) {
		record_discard(o->w);
		return rc;
	}
	TRY(record_commit(o->w));
	if (q->quiet)
		return 0;
	printf("%s: %lld snapshots of %lld x %lld points", shown(q->output), (long long)q->snapshots,
	       (long long)q->height, (long long)q->width);
	for (int k = 0; k < LABELS; k++)
		printf("%s %s %.3f %%", k ? "," : ":", label_name[k],
		       100.0 * (double)o->count[k] / (double)(q->snapshots * points(q)));
	printf("\n");
	return 0;
}

static int make(const struct request *q)
{
	const struct record_info info = describe(q);
	struct output o = { .q = q };
	const struct generator g = { .user = &o, .first = q->first, .n = q->snapshots,
		.threads = (int)(q->threads ? q->threads : host_processors()),
		.open = open_snapshot, .close = close_snapshot, .make = make_snapshot,
		.write = write_snapshot };
	TRY(record_create(&o.w, q->output, &info, (int)q->level));
	return finish(q, &o, generator_run(&g));
}

/* --- the command line --- */

static int check(const struct request *q, int argc, char **argv)
{
	if (argc > 1)
		return ERR(E_USAGE, NULL, "unexpected argument '%s'; %s", argv[1], usage);
	if (!q->output)
		return ERR(E_USAGE, NULL, "no --output given; %s", usage);
	if (q->width % 2)
		return ERR(E_USAGE, NULL, "--width: %lld is odd", (long long)q->width);
	if (!(q->threshold > 0))
		return ERR(E_USAGE, NULL, "--threshold: expected kg/m^2, above 0");
	return 0;
}

static void help(void)
{
	printf("%s\n\nMakes snapshots of weather with labelled cyclones and rivers of moisture.\n\n",
	       usage);
	option_help(stdout, rows);
}

/* All that the file's content depends on, and nothing else. */
static const char *command(const struct request *q, struct arena *a)
{
	return arena_printf(a, "dlx-climate --snapshots %lld --first %lld --height %lld --width %lld "
	                    "--threshold %.17g --seed %lld --level %lld", (long long)q->snapshots,
	                    (long long)q->first, (long long)q->height, (long long)q->width,
	                    q->threshold, (long long)q->seed, (long long)q->level);
}

static int run(struct request *q, int argc, char **argv)
{
	struct arena *a = arena_new();
	int rc = option_read(rows, q, NULL, &argc, argv);
	if (rc == 0 && q->help)
		help();
	else if (rc == 0 && q->version)
		printf("dlx-climate %s\n", PACKAGE_VERSION);
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
	struct request q = { .snapshots = 64, .height = 768, .width = 1152, .seed = 1, .level = 3,
		.threshold = RIVER_THRESHOLD };
	int rc;
	signals_block();
	log_init("dlx-climate", 0, 1);
	rc = signals_begin();
	if (rc == 0)
		rc = debug_read();
	if (rc == 0)
		rc = run(&q, argc, argv);
	if (rc == 0 && fflush(stdout) != 0)
		rc = ERR(E_IO, NULL, "cannot write to the standard output: %m");
	if (rc < 0)
		err_print(stderr, "dlx-climate");
	return err_exit_status(rc);
}
