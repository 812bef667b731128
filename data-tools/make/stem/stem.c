/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-stem: sends the focussed probe of a scanning transmission electron microscope through slabs
 * of crystals, and writes the diffraction patterns of a scan with the slab's potential as a record
 * file. Described in dlx-stem(1). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/shown.h"
#include "data-tools/make/generator_program.h"
#include "data-tools/make/stem/stem_dose.h"
#include "data-tools/make/stem/stem_wave.h"

#define PI 3.14159265358979323846
#define MRAD 1e-3
#define MOST_CRYSTALS 64

struct request {
	struct generator_options common;
	int64_t map, margin, step, detector;
	double kilovolts, semiangle, angle, defocus, spherical;
	double thinnest, thickest, slice, tilt, pixel, blur, dose;
	const char *crystals, *channels;
	const struct crystal *choice[MOST_CRYSTALS];
	int choices;
};

#define AT(m) offsetof(struct request, m)
static const struct option_row rows[] = {
	GENERATOR_OUTPUT,
	GENERATOR_NUMBER("samples", 'n'),
	{ "crystals", 0, OPTION_TEXT, AT(crystals), "LIST",
	  .doc = "names with commas between; '!' in front: all others; default: all" },
	{ "channels", 0, OPTION_CHOICE, AT(channels), "positions|detector",
	  .doc = "the input's channels; its points are then the other; default: positions" },
	{ "map", 0, OPTION_INT, AT(map), "N", .min = 8, .max = 4096,
	  .doc = "points along a side of the potential; default: 48" },
	{ "margin", 0, OPTION_INT, AT(margin), "N", .min = 0, .max = 4096,
	  .doc = "further points around it; default: 12" },
	{ "pixel", 0, OPTION_FLOAT, AT(pixel), "ANGSTROM",
	  .doc = "from point to point; default: 0.25" },
	{ "step", 0, OPTION_INT, AT(step), "N", .min = 1, .max = 4096,
	  .doc = "points from one position of the scan to the next; default: 2" },
	{ "detector", 0, OPTION_INT, AT(detector), "N", .min = 1, .max = 4096,
	  .doc = "pixels along a side of the detector; default: 16" },
	{ "angle", 0, OPTION_FLOAT, AT(angle), "MRAD",
	  .doc = "from the detector's middle to its side; default: 40" },
	{ "kilovolts", 0, OPTION_FLOAT, AT(kilovolts), "KV", .doc = "default: 100" },
	{ "semiangle", 0, OPTION_FLOAT, AT(semiangle), "MRAD",
	  .doc = "of the probe's aperture; default: 20" },
	{ "defocus", 0, OPTION_FLOAT, AT(defocus), "ANGSTROM",
	  .doc = "of the probe; default: 0" },
	{ "spherical", 0, OPTION_FLOAT, AT(spherical), "MM",
	  .doc = "the probe's spherical aberration C3; default: 0" },
	{ "thinnest", 0, OPTION_FLOAT, AT(thinnest), "ANGSTROM",
	  .doc = "of the slabs; default: 20" },
	{ "thickest", 0, OPTION_FLOAT, AT(thickest), "ANGSTROM",
	  .doc = "of the slabs; default: 60" },
	{ "slice", 0, OPTION_FLOAT, AT(slice), "ANGSTROM",
	  .doc = "the thickness of slices, nearly; default: 2" },
	{ "tilt", 0, OPTION_FLOAT, AT(tilt), "MRAD",
	  .doc = "away from the zone axis, at most; default: 5" },
	{ "blur", 0, OPTION_FLOAT, AT(blur), "ANGSTROM",
	  .doc = "smooths the potential: a Gaussian's deviation; default: 0.3" },
	{ "dose", 0, OPTION_FLOAT, AT(dose), "ELECTRONS",
	  .doc = "of a pattern, whose counts are noisy then; default: 0, no noise" },
	GENERATOR_END
};
#undef AT

struct output {
	const struct request *q;
	struct record_writer *w;
};

/* One slab and the scan over it. */
struct specimen {
	const struct request *q;
	struct multislice *m;
	bool borrowed;                /* m is its peer's */
	float *potential, *pattern;   /* of the whole cell; modes of a position */
	float *input, *target;
	char key[96];
	const struct crystal *crystal;
};

static int64_t cell_side(const struct request *q)
{
	return q->map + 2 * q->margin;
}

static int64_t positions(const struct request *q)
{
	return q->map / q->step;
}

/* The largest wave number on the detector, as an index. */
static int reach(const struct request *q)
{
	return (int)(q->angle * MRAD / electron_wavelength(q->kilovolts) * q->pixel *
	             (double)cell_side(q) + 1e-9);
}

static int slices(const struct request *q, double thickness)
{
	const int n = (int)lround(thickness / q->slice);
	return n > 1 ? n : 1;
}

static void close_specimen(void *slot)
{
	struct specimen *s = slot;
	if (!s->borrowed)
		multislice_free(s->m);
	mem_free(s->potential);
	mem_free(s->pattern);
	mem_free(s->input);
	mem_free(s->target);
	mem_free(s);
}

static int open_specimen(void *user, void *peer, void **slot)
{
	const struct output *o = user;
	const struct request *q = o->q;
	const struct microscope t = { q->kilovolts, q->semiangle * MRAD, q->defocus,
		q->spherical * 1e7 };
	const int side = 2 * reach(q) + 1;
	struct specimen *s = *slot = mem_calloc(1, sizeof *s);

	s->q = q;
	s->potential = mem_calloc((size_t)(cell_side(q) * cell_side(q)), sizeof *s->potential);
	s->pattern = mem_calloc((size_t)(side * side), sizeof *s->pattern);
	s->target = mem_calloc((size_t)(q->map * q->map), sizeof *s->target);
	s->input = mem_calloc((size_t)(positions(q) * positions(q) * q->detector * q->detector),
	                      sizeof *s->input);
	s->borrowed = peer != NULL;
	if (peer)
		s->m = ((struct specimen *)peer)->m;
	return peer ? 0 :
		multislice_new(&s->m, (int)cell_side(q), q->pixel, slices(q, q->thickest), &t);
}

/* --- one sample --- */

static double uniform(const struct request *q, int64_t number, int index)
{
	return rng_uniform((uint64_t)q->common.seed, hash_name("stem.specimen"), (uint64_t)number,
	                   (uint64_t)index);
}

/* Draws what the slab is, sets its potential and returns its thickness. */
static double draw(struct specimen *s, int64_t number)
{
	const struct request *q = s->q;
	const struct crystal *c = q->choice[(int)(uniform(q, number, 0) * q->choices)];
	const int8_t *zone = c->zone[(int)(uniform(q, number, 1) * crystal_zones(c))];
	const double thickness = q->thinnest + uniform(q, number, 2) * (q->thickest - q->thinnest);
	const double tilt = q->tilt * sqrt(uniform(q, number, 4)), to = 2 * PI * uniform(q, number, 5);
	const double side = q->pixel * (double)cell_side(q);
	const struct crystal_cut cut = {
		.zone = zone, .turn = 2 * PI * uniform(q, number, 3),
		.tilt = { tilt * MRAD * cos(to), tilt * MRAD * sin(to) },
		.origin = { uniform(q, number, 6), uniform(q, number, 7), uniform(q, number, 8) },
		.extent = { side, side, thickness },
		.seed = (uint64_t)q->common.seed, .step = (uint64_t)number, .u = c->u,
	};
	int64_t atoms;
	struct atom *atom = crystal_slab(c, &cut, &atoms);

	multislice_set(s->m, c, atom, atoms, slices(q, thickness), thickness);
	mem_free(atom);
	s->crystal = c;
	snprintf(s->key, sizeof s->key, "%lld %s [%d%d%d] %.1f A, tilt %.1f mrad", (long long)number,
	         c->name, zone[0], zone[1], zone[2], thickness, tilt);
	return thickness;
}

/* The mean potential along the beam, of the cell's middle. */
static void set_target(struct specimen *s, double thickness)
{
	const struct request *q = s->q;
	multislice_potential(s->m, q->blur, s->potential);
	for (int64_t y = 0; y < q->map; y++)
		for (int64_t x = 0; x < q->map; x++)
			s->target[y * q->map + x] = (float)(s->potential[(y + q->margin) * cell_side(q) + x +
				q->margin] / thickness);
}

/* The intensity of a pixel where electrons are counted, in the unit of that which is expected. Of a
 * dose every mode of the undisturbed probe gets the same part. */
static double counted(const struct specimen *s, double intensity, int64_t modes, int64_t number,
                      int64_t at)
{
	const struct request *q = s->q;
	const double one = q->dose / multislice_beams(s->m) * (double)modes;
	return dose_count(intensity * one, (uint64_t)q->common.seed, (uint64_t)number,
	                  (uint64_t)at) / one;
}

/* A detector's pixel gets the mean of its modes. */
static void detect(struct specimen *s, int64_t number, int64_t position)
{
	const struct request *q = s->q;
	const int64_t side = 2 * reach(q) + 1, d = q->detector, n = positions(q) * positions(q);
	const bool points = strcmp(q->channels, "detector") == 0;

	for (int64_t i = 0; i < d * d; i++) {
		const int64_t y0 = i / d * side / d, y1 = (i / d + 1) * side / d;
		const int64_t x0 = i % d * side / d, x1 = (i % d + 1) * side / d;
		const int64_t modes = (y1 - y0) * (x1 - x0);
		double sum = 0;

		for (int64_t y = y0; y < y1; y++)
			for (int64_t x = x0; x < x1; x++)
				sum += s->pattern[y * side + x];
		sum /= (double)modes;
		if (q->dose > 0)
			sum = counted(s, sum, modes, number, position * d * d + i);
		s->input[points ? i * n + position : position * d * d + i] = (float)sum;
	}
}

static int make_specimen(void *slot, int64_t number)
{
	struct specimen *s = slot;
	const struct request *q = s->q;
	const int64_t n = positions(q);

	set_target(s, draw(s, number));
	multislice_scan(s->m, reach(q));
	for (int64_t i = 0; i < n * n; i++) {
		const double middle = (double)q->margin + (double)(q->step - 1) / 2;
		const double y = middle + (double)(i / n * q->step);
		const double x = middle + (double)(i % n * q->step);

		multislice_probe(s->m, y * q->pixel, x * q->pixel, s->pattern);
		detect(s, number, i);
	}
	return 0;
}

static int write_specimen(void *user, void *slot)
{
	const struct output *o = user;
	const struct specimen *s = slot;
	const void *const data[] = { s->input, s->target };
	const struct record_sample sample = { .data = data, .key = s->key,
		.group = s->crystal->name };
	return record_add(o->w, &sample);
}

/* --- the program --- */

static struct record_info describe(const void *options)
{
	const struct request *q = options;
	const int64_t n = positions(q), d = q->detector;
	const bool points = strcmp(q->channels, "detector") == 0;
	const int64_t in[] = { points ? d * d : n * n, points ? n : d, points ? n : d };
	const int64_t out[] = { 1, q->map, q->map };
	static const char *const name[] = { "potential" };
	return (struct record_info){
		.input = { .dtype = DTYPE_F32, .shape = shape_of(3, in) },
		.target = { .dtype = DTYPE_F32, .shape = shape_of(3, out), .channels = name },
		.mask = -1, .ignore = RECORD_NO_IGNORE,
	};
}

static int make(void *options, struct generator *g, struct record_writer *w)
{
	const struct request *q = options;
	struct output o = { .q = q, .w = w };
	g->user = &o;
	g->open = open_specimen;
	g->close = close_specimen;
	g->make = make_specimen;
	g->write = write_specimen;
	return generator_run(g);
}

static void tell(const void *options)
{
	const struct request *q = options;
	const int64_t n = positions(q), d = q->detector;
	printf("%s: %lld scans of %lld x %lld positions, patterns of %lld x %lld pixels, potentials of "
	       "%lld x %lld points (%.4g angstrom a side), %d crystals\n", shown(q->common.output),
	       (long long)q->common.n, (long long)n, (long long)n, (long long)d, (long long)d,
	       (long long)q->map, (long long)q->map, (double)q->map * q->pixel, q->choices);
}

/* Whether a list with commas has a name. */
static bool listed(const char *list, const char *name)
{
	const size_t length = strlen(name);
	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (strncmp(p, name, length) == 0 && (p[length] == ',' || !p[length]))
			return true;
	return false;
}

static int check_names(const char *list)
{
	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		const int length = (int)strcspn(p, ",");
		bool known = false;

		for (int i = 0; crystal_at(i) && !known; i++)
			known = strncmp(crystal_at(i)->name, p, (size_t)length) == 0 &&
				!crystal_at(i)->name[length];
		if (!known || length == 0)
			return ERR(E_USAGE, NULL, "--crystals: no crystal '%.*s'; dlx-stem(1) lists them",
			           length, p);
	}
	return 0;
}

static int choose(struct request *q)
{
	const bool others = q->crystals && q->crystals[0] == '!';
	const char *list = others ? q->crystals + 1 : q->crystals;
	TRY(check_names(list));
	for (int i = 0; crystal_at(i) && i < MOST_CRYSTALS; i++)
		if (!list || listed(list, crystal_at(i)->name) != others)
			q->choice[q->choices++] = crystal_at(i);
	return q->choices ? 0 : ERR(E_USAGE, NULL, "--crystals: none is left");
}

static int check_lengths(const struct request *q)
{
	const struct { const char *name; double is, least, most; } range[] = {
		{ "pixel", q->pixel, 0.01, 1 }, { "kilovolts", q->kilovolts, 10, 1000 },
		{ "semiangle", q->semiangle, 0.1, 200 }, { "angle", q->angle, 0.1, 400 },
		{ "defocus", q->defocus, -1e5, 1e5 }, { "spherical", q->spherical, -100, 100 },
		{ "thinnest", q->thinnest, 0.1, 1e4 }, { "thickest", q->thickest, 0.1, 1e4 },
		{ "slice", q->slice, 0.1, 100 }, { "tilt", q->tilt, 0, 1000 }, { "blur", q->blur, 0, 10 },
		{ "dose", q->dose, 0, 1e12 },
	};
	for (size_t i = 0; i < sizeof range / sizeof *range; i++)
		if (!(range[i].is >= range[i].least && range[i].is <= range[i].most))
			return ERR(E_USAGE, NULL, "--%s: %g is not from %g to %g", range[i].name, range[i].is,
			           range[i].least, range[i].most);
	if (q->thinnest > q->thickest)
		return ERR(E_USAGE, NULL, "--thinnest: %g is above --thickest, %g", q->thinnest,
		           q->thickest);
	return 0;
}

static int check(void *options)
{
	struct request *q = options;
	TRY(check_lengths(q));
	TRY(choose(q));
	const double limit = 2 / 3. / (2 * q->pixel) * electron_wavelength(q->kilovolts) / MRAD;
	if (q->map % q->step)
		return ERR(E_USAGE, NULL, "--step: %lld points are not divided by %lld",
		           (long long)q->map, (long long)q->step);
	if (q->semiangle >= limit || q->angle >= limit)
		return ERR(E_USAGE, NULL, "--%s: %g mrad is not below %.1f, the largest angle that points "
		           "%g angstrom apart can have", q->angle >= limit ? "angle" : "semiangle",
		           q->angle >= limit ? q->angle : q->semiangle, limit, q->pixel);
	if (q->detector > 2 * reach(q) + 1)
		return ERR(E_USAGE, NULL, "--detector: a cell of %.4g angstrom has %d wave numbers within "
		           "%g mrad, fewer than %lld pixels", q->pixel * (double)cell_side(q),
		           2 * reach(q) + 1, q->angle, (long long)q->detector);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct generator_program program = { .name = "dlx-stem",
		.about = "Makes diffraction patterns of scanned crystals, with the potential of each.",
		.rows = rows, .check = check, .describe = describe, .make = make,
		.tell = tell };
	struct request q = { GENERATOR_DEFAULTS, .map = 48, .margin = 12, .pixel = 0.25, .step = 2,
		.detector = 16, .angle = 40, .kilovolts = 100, .semiangle = 20, .thinnest = 20,
		.thickest = 60, .slice = 2, .tilt = 5, .blur = 0.3, .channels = "positions" };
	return generator_main(&program, &q.common, argc, argv);
}
