/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-climate: makes snapshots of weather with tropical cyclones and atmospheric rivers, labels
 * these, and writes both as a record file. Described in dlx-climate(1). */
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data-tools/make/climate/climate_label.h"
#include "data-tools/make/generator_program.h"

struct request {
	struct generator_options common;
	int64_t height, width;
	double threshold;
	int64_t count[LABELS];        /* points of each label that were written */
};

#define AT(m) offsetof(struct request, m)
static const struct option_row rows[] = {
	GENERATOR_OUTPUT,
	GENERATOR_NUMBER("snapshots", 'n'),
	{ "height", 0, OPTION_INT, AT(height), "N", .min = 16, .max = 8192,
	  .doc = "latitudes; default: 768" },
	{ "width", 0, OPTION_INT, AT(width), "N", .min = 16, .max = 8192,
	  .doc = "longitudes, even; default: 1152" },
	{ "threshold", 0, OPTION_FLOAT, AT(threshold), "KG",
	  .doc = "of moisture (kg/m^2) for rivers; default: 24" },
	GENERATOR_END
};
#undef AT

struct output {
	const struct request *q;
	struct record_writer *w;
	int64_t *count;
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
	sky_make(s->sky, (uint64_t)s->q->common.seed, number);
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

/* --- the program --- */

static struct record_info describe(const void *options)
{
	const struct request *q = options;
	const int64_t in[] = { VARIABLES, q->height, q->width };
	return (struct record_info){
		.input = { .dtype = DTYPE_F32, .shape = shape_of(3, in), .channels = variable_name },
		.target = { .dtype = DTYPE_U8, .shape = shape_of(2, in + 1) },
		.mask = -1, .ignore = RECORD_NO_IGNORE, .nclasses = LABELS, .classes = label_name,
	};
}

static int make(void *options, struct generator *g, struct record_writer *w)
{
	struct request *q = options;
	struct output o = { .q = q, .w = w, .count = q->count };
	g->user = &o;
	g->open = open_snapshot;
	g->close = close_snapshot;
	g->make = make_snapshot;
	g->write = write_snapshot;
	return generator_run(g);
}

static void tell(const void *options)
{
	const struct request *q = options;
	printf("%s: %lld snapshots of %lld x %lld points", shown(q->common.output),
	       (long long)q->common.n, (long long)q->height, (long long)q->width);
	for (int k = 0; k < LABELS; k++)
		printf("%s %s %.3f %%", k ? "," : ":", label_name[k],
		       100.0 * (double)q->count[k] / (double)(q->common.n * points(q)));
	printf("\n");
}

static int check(void *options)
{
	const struct request *q = options;
	if (q->width % 2)
		return ERR(E_USAGE, NULL, "--width: %lld is odd", (long long)q->width);
	if (!(q->threshold > 0))
		return ERR(E_USAGE, NULL, "--threshold: expected kg/m^2, above 0");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct generator_program program = { .name = "dlx-climate",
		.about = "Makes snapshots of weather with labelled cyclones and rivers of moisture.",
		.rows = rows, .check = check, .describe = describe, .make = make,
		.tell = tell };
	struct request q = { GENERATOR_DEFAULTS, .height = 768, .width = 1152,
		.threshold = RIVER_THRESHOLD };
	return generator_main(&program, &q.common, argc, argv);
}
