/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random rotations, magnifications, deformations and changes of values, against the formulas that
 * they are documented by. A field whose channels are its own coordinates shows where a warp has
 * taken each point from: linear interpolation is exact there. */
#include <math.h>

#include "cases.h"

#define TRANSFORM_FIXTURE_FILE "test_augment.tmp.dlx"
#include "transform_fixture.h"

#include "base/io.h"

#define SIDE 9
#define PLANE (SIDE * SIDE)
#define MIDDLE ((SIDE - 1) / 2.)
#define MOST (4 * SIDE * SIDE * SIDE)

enum { ROUGH = 2 };                     /* the channel without a slope of its own */

static const char *const field_path = "test_augment.field.tmp.dlx";

static float rough(int i)
{
	return (float)((i * i * 7 + i * 3) % 101) / 8;
}

static uint8_t label(int i)
{
	return (uint8_t)((i * i * 5 + i) % 3);
}

/* A set of one field, a square or a cube: its coordinates, and a rough channel. */
struct field_set {
	struct dataset *d;
	int axes, points;
	float x[MOST], fields[MOST];
	uint8_t labels[MOST / 4];
};

static struct field_set *field_new(int axes, enum dtype target, int64_t ignore)
{
	struct field_set *s = calloc(1, sizeof *s);
	struct record_info info = {
		.input = { DTYPE_F32, { 1 + axes, { axes + 1, SIDE, SIDE, SIDE } }, NULL, 0, NULL },
		.target = { target, { axes, { SIDE, SIDE, SIDE } }, NULL, 0, NULL },
		.mask = -1, .ignore = ignore,
	};
	struct record_writer *w;
	s->axes = axes;
	s->points = axes == 3 ? PLANE * SIDE : PLANE;
	for (int i = 0; i < s->points; i++) {
		int rest = i;

		for (int k = axes - 1; k >= 0; k--, rest /= SIDE)
			s->x[k * s->points + i] = (float)(rest % SIDE);
		s->x[axes * s->points + i] = s->fields[i] = rough(i);
		s->labels[i] = label(i);
	}
	io_input_forget(field_path);
	assert_int_equal(record_create(&w, field_path, &info, 1), 0);
	assert_int_equal(record_append(w, s->x, target == DTYPE_U8 ? (void *)s->labels : s->fields), 0);
	assert_int_equal(record_commit(w), 0);
	s->d = fixture_open(&field_path, 1);
	return s;
}

static void field_free(struct field_set *s)
{
	dataset_free(s->d);
	unlink(field_path);
	free(s);
}

struct outcome {
	float x[MOST];
	union {
		int32_t label[MOST / 4];
		float field[MOST / 4];
	} t;
};

static int field_plan(struct transform_chain **out, const struct field_set *s, const char *yaml)
{
	const bool labels = dataset_info(s->d)->target_dtype == DTYPE_U8;
	struct transform_options o = { .data = s->d, .training = true, .seed = 5,
	                              .target_dtype = labels ? DTYPE_I32 : DTYPE_F32 };
	struct ynode *root;
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &root), 0);
	o.list = root;
	return transform_chain_new(out, &o);
}

static struct outcome *field_run(const struct field_set *s, const char *yaml, int64_t epoch)
{
	struct outcome *r = calloc(1, sizeof *r);
	const bool labels = dataset_info(s->d)->target_dtype == DTYPE_U8;
	struct transform_chain *c;
	struct transform_scratch *scratch;
	if (field_plan(&c, s, yaml) < 0)
		fail_msg("%s: %s", yaml, err_get(0)->text);
	scratch = transform_scratch_new(c);
	assert_int_equal(transform_run(c, scratch, epoch, 0, s->x,
	                               labels ? (const void *)s->labels : s->fields, r->x, &r->t), 0);
	transform_scratch_free(scratch);
	transform_chain_free(c);
	return r;
}

static void close_to(double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance))
		fail_msg("%.9g instead of %.9g", got, expected);
}

/* The rough channel of a square between its points, with fill outside. */
static double bilinear(double y, double x, double fill)
{
	const int y0 = (int)floor(y), x0 = (int)floor(x);
	double sum = 0;
	for (int k = 0; k < 4; k++) {
		const int j = y0 + k / 2, i = x0 + k % 2;
		const double wy = k / 2 ? y - y0 : 1 - (y - y0), wx = k % 2 ? x - x0 : 1 - (x - x0);
		const bool inside = j >= 0 && j < SIDE && i >= 0 && i < SIDE;

		sum += wy * wx * (inside ? (double)rough(j * SIDE + i) : fill);
	}
	return sum;
}

/* The label of the nearest point, or `outside`; -1 too near to call. */
static int nearest(double y, double x, int outside)
{
	const int j = (int)floor(y + 0.5), i = (int)floor(x + 0.5);
	if (fabs(y + 0.5 - rint(y + 0.5)) < 1e-4 || fabs(x + 0.5 - rint(x + 0.5)) < 1e-4)
		return -1;
	return j >= 0 && j < SIDE && i >= 0 && i < SIDE ? label(j * SIDE + i) : outside;
}

/* That a chain takes each point from where `from` says. */
static void takes_from(const char *yaml, double fill, int outside,
                       void (*from)(double y, double x, double place[2]))
{
	struct field_set *s = field_new(2, DTYPE_U8, 255);
	struct outcome *r = field_run(s, yaml, 3);
	for (int i = 0; i < PLANE; i++) {
		double p[2];
		int expected;

		from(i / SIDE, i % SIDE, p);
		close_to((double)r->x[ROUGH * PLANE + i], bilinear(p[0], p[1], fill), 2e-3);
		expected = nearest(p[0], p[1], outside);
		if (expected >= 0)
			assert_int_equal(r->t.label[i], expected);
	}
	free(r);
	field_free(s);
}

static void turned(double y, double x, double place[2], double degrees)
{
	const double a = degrees / 180 * acos(-1), v = y - MIDDLE, u = x - MIDDLE;
	place[0] = MIDDLE + u * sin(a) + v * cos(a);
	place[1] = MIDDLE + u * cos(a) - v * sin(a);
}

static void by_30(double y, double x, double place[2])
{
	turned(y, x, place, 30);
}

static void by_half(double y, double x, double place[2])
{
	place[0] = MIDDLE + (y - MIDDLE) / 0.5;
	place[1] = MIDDLE + (x - MIDDLE) / 0.5;
}

/* First turned, then enlarged: a point goes back through the last one first. */
static void by_both(double y, double x, double place[2])
{
	turned(MIDDLE + (y - MIDDLE) / 1.7, MIDDLE + (x - MIDDLE) / 1.7, place, 30);
}

static void test_places(void **state)
{
	takes_from("[{rotate: [30, 30]}]", 0, 255, by_30);
	takes_from("[{rotate: {degrees: [30, 30], fill: 4, target: 2}}]", 4, 2, by_30);
	takes_from("[{zoom: {scale: [0.5, 0.5]}}]", 0, 255, by_half);
	/* Neighbouring warps make one interpolation, also with one between that does nothing. */
	takes_from("[{rotate: [30, 30]}, {zoom: [1.7, 1.7]}]", 0, 255, by_both);
	takes_from("[{rotate: [30, 30]}, {elastic: 0}, {zoom: [1.7, 1.7]}]", 0, 255, by_both);
}

/* A window of a warped field has the bits that the whole field has there. */
static void window_of_whole(const char *warp)
{
	enum { SIZE = 4 };
	struct field_set *s = field_new(2, DTYPE_U8, 255);
	const char *whole = arena_printf(arena, "[%s]", warp);
	const char *part = arena_printf(arena, "[%s, {crop: %d}]", warp, SIZE);
	int places[PLANE] = { 0 }, kinds = 0;

	for (int64_t epoch = 0; epoch < 30; epoch++) {
		struct outcome *a = field_run(s, whole, epoch), *b = field_run(s, part, epoch);
		int found = -1;

		for (int at = 0; at < PLANE && found < 0; at++) {
			bool fits = at / SIDE <= SIDE - SIZE && at % SIDE <= SIDE - SIZE;

			for (int i = 0; i < 3 * SIZE * SIZE && fits; i++) {
				const int from = at + i / SIZE % SIZE * SIDE + i % SIZE, c = i / (SIZE * SIZE);

				fits = b->x[i] == a->x[c * PLANE + from] &&
				       b->t.label[i % (SIZE * SIZE)] == a->t.label[from];
			}
			found = fits ? at : -1;
		}
		assert_true(found >= 0);
		kinds += places[found]++ == 0;
		free(a);
		free(b);
	}
	assert_true(kinds > 10);
	field_free(s);
}

static void test_windows(void **state)
{
	window_of_whole("{rotate: 30}");
	window_of_whole("{rotate: {degrees: 30, probability: 0.5}}");
	window_of_whole("{rotate: 30}, {elastic: {magnitude: 1, spacing: 4}}");
}

/* A right angle meets points: the bits are those of numpy.rot90, also at the border. */
static void test_right_angle(void **state)
{
	struct field_set *s = field_new(2, DTYPE_U8, RECORD_NO_IGNORE);
	struct outcome *r = field_run(s, "[{rotate: {degrees: [90, 90], target: 9}}]", 0);
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			const int from = x * SIDE + SIDE - 1 - y;

			assert_true(r->x[ROUGH * PLANE + y * SIDE + x] == rough(from));
			assert_int_equal(r->t.label[y * SIDE + x], label(from));
		}
	free(r);
	field_free(s);
}

static void test_rotate90(void **state)
{
	struct field_set *s = field_new(2, DTYPE_U8, RECORD_NO_IGNORE);
	int seen[4] = { 0 };
	for (int64_t epoch = 0; epoch < 60; epoch++) {
		struct outcome *r = field_run(s, "[rotate90]", epoch);
		int kind = 0;

		while (kind < 4) {
			bool fits = true;

			for (int i = 0; i < PLANE; i++) {
				int y = i / SIDE, x = i % SIDE;

				for (int k = 0; k < kind; k++) {
					const int was = y;

					y = x;
					x = SIDE - 1 - was;
				}
				fits = fits && r->x[ROUGH * PLANE + i] == rough(y * SIDE + x) &&
				       r->t.label[i] == label(y * SIDE + x);
			}
			if (fits)
				break;
			kind++;
		}
		assert_true(kind < 4);
		seen[kind]++;
		free(r);
	}
	for (int k = 0; k < 4; k++)
		assert_true(seen[k] > 5);
	field_free(s);
}

/* What is outside, along the middle row of a field of half its size: x is taken from 2 x - 4. */
static void outside_is(const char *mode, const int from[SIDE], const char *target)
{
	struct field_set *s = field_new(2, DTYPE_U8, 255);
	char *yaml = arena_printf(arena, "[{zoom: {scale: [0.5, 0.5], outside: %s, target: %s}}]", mode,
	                          target);
	struct outcome *r = field_run(s, yaml, 0);
	const int row = SIDE / 2 * SIDE;
	for (int x = 0; x < SIDE; x++) {
		const bool own = x >= 2 && x <= 6;

		assert_true(r->x[ROUGH * PLANE + row + x] == rough(row + from[x]));
		assert_int_equal(r->t.label[row + x],
		                 own || strcmp(target, "same") == 0 ? label(row + from[x]) : 255);
	}
	free(r);
	field_free(s);
}

static void test_outside(void **state)
{
	const int edge[SIDE] = {0, 0, 0, 2, 4, 6, 8, 8, 8}, wrap[SIDE] = {5, 7, 0, 2, 4, 6, 8, 1, 3},
	          reflect[SIDE] = { 4, 2, 0, 2, 4, 6, 8, 6, 4 };
	outside_is("edge", edge, "auto");
	outside_is("edge", edge, "same");
	outside_is("reflect", reflect, "ignore");
	outside_is("reflect", reflect, "same");
	outside_is("wrap", wrap, "same");
}

/* Fields are interpolated as inputs are, and may be missing outside. */
static void test_field_targets(void **state)
{
	struct field_set *s = field_new(2, DTYPE_F32, RECORD_NO_IGNORE);
	struct outcome *r = field_run(s, "[{rotate: {degrees: [30, 30], outside: reflect}}]", 0);
	struct outcome *m = field_run(s, "[{rotate: {degrees: [30, 30], target: nan}}]", 0);
	int missing = 0;
	for (int i = 0; i < PLANE; i++) {
		double p[2];

		by_30(i / SIDE, i % SIDE, p);
		assert_true(r->t.field[i] == r->x[ROUGH * PLANE + i]);
		missing += isnan(m->t.field[i]);
		if (p[0] > 0 && p[0] < SIDE - 1 && p[1] > 0 && p[1] < SIDE - 1)
			close_to((double)m->t.field[i], bilinear(p[0], p[1], 0), 2e-3);
		else
			assert_true(isnan(m->t.field[i]));
	}
	assert_true(missing > 4 && missing < PLANE / 2);
	free(r);
	free(m);
	field_free(s);
}

/* A volume about its second axis: height stays. */
static void test_volume(void **state)
{
	struct field_set *s = field_new(3, DTYPE_U8, 255);
	struct outcome *r =
		field_run(s, "[{rotate: {degrees: [20, 20], about: height, outside: edge}}]", 0);
	for (int i = 0; i < s->points; i++) {
		const int z = i / PLANE, y = i / SIDE % SIDE, x = i % SIDE;
		double p[2];

		turned(z, x, p, 20);
		close_to((double)r->x[s->points + i], y, 1e-5);
		close_to((double)r->x[i], fmin(fmax(p[0], 0), SIDE - 1), 1e-4);
		close_to((double)r->x[2 * s->points + i], fmin(fmax(p[1], 0), SIDE - 1), 1e-4);
	}
	free(r);
	field_free(s);
}

/* Displacements have the deviation requested at the coarse grid's points, mean 0, and no relation
 * between the axes; the target goes with the input. */
static void test_elastic(void **state)
{
	static const char yaml[] = "[{elastic: {magnitude: 0.5, spacing: 4}}]";
	enum { EPOCHS = 500 };
	const int centre = 4 * SIDE + 4;
	struct field_set *s = field_new(2, DTYPE_U8, 255);
	double sum = 0, squares[2] = { 0 }, product = 0;

	for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
		struct outcome *r = field_run(s, yaml, epoch);
		const double y = (double)r->x[centre], x = (double)r->x[PLANE + centre];

		sum += y - 4;
		squares[0] += (y - 4) * (y - 4);
		squares[1] += (x - 4) * (x - 4);
		product += (y - 4) * (x - 4);
		if (nearest(y, x, 255) >= 0)
			assert_int_equal(r->t.label[centre], nearest(y, x, 255));
		free(r);
	}
	close_to(sum / EPOCHS, 0, 0.08);
	close_to(sqrt(squares[0] / EPOCHS), 0.5, 0.06);
	close_to(sqrt(squares[1] / EPOCHS), 0.5, 0.06);
	close_to(product / EPOCHS, 0, 0.04);
	field_free(s);
}

/* Angles and scales fill their ranges; a probability is a share of the samples. */
static void test_ranges(void **state)
{
	enum { EPOCHS = 400 };
	struct field_set *s = field_new(2, DTYPE_U8, 255);
	double least = 9, most = -9, below = 0, still = 0;

	for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
		struct outcome *r = field_run(s, "[{rotate: 10}]", epoch);
		struct outcome *z = field_run(s, "[{zoom: {scale: 1.25, probability: 0.3}}]", epoch);
		const int right = 4 * SIDE + 7;                /* three to the right of the middle */
		const double angle = asin(((double)r->x[right] - 4) / 3) * 180 / acos(-1);
		const double scale = 3 / ((double)z->x[PLANE + right] - 4);

		least = fmin(least, angle);
		most = fmax(most, angle);
		assert_true(scale > 0.79 && scale < 1.26);
		still += scale == 1;
		below += scale < 0.9999;
		free(r);
		free(z);
	}
	assert_true(least > -10.001 && least < -9.5 && most > 9.5 && most < 10.001);
	close_to(still / EPOCHS, 0.7, 0.08);
	close_to(below / EPOCHS, 0.15, 0.06);
	field_free(s);
}

/* What takes part of a missing point is missing, and 0; the others are made of valid ones. */
static void test_mask(void **state)
{
	const struct result r = apply("[{rotate: [20, 20]}]", true, 0, 1);
	int valid = 0;
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			const double a = acos(-1) / 9, v = y - 1.5, u = x - 2.5;
			const double py = 1.5 + u * sin(a) + v * cos(a), px = 2.5 + u * cos(a) - v * sin(a);
			const bool whole = py >= 0 && py <= HEIGHT - 1 && px >= 1 && px <= WIDTH - 1;

			assert_true(r.x[POINTS + y * WIDTH + x] == (float)whole);
			close_to((double)r.x[y * WIDTH + x], whole ? 100 + 10 * py + px : 0, 2e-3);
			valid += whole;
		}
	assert_true(valid > 6);
}

static void test_noise(void **state)
{
	double sum = 0, squares = 0;
	const int n = 200 * (POINTS - HEIGHT);
	float last = 0;
	for (int64_t epoch = 0; epoch < 200; epoch++) {
		const struct result r = apply("[{noise: 0.25}]", true, epoch, 1);

		for (int i = 0; i < POINTS; i++) {
			const double d = (double)r.x[i] - (i % WIDTH ? 100 + i / WIDTH * 10 + i % WIDTH : 0);

			assert_true(i % WIDTH || d == 0);
			assert_true(r.x[POINTS + i] == (float)(i % WIDTH != 0));
			sum += d;
			squares += d * d;
		}
		assert_true(r.x[1] != last);
		last = r.x[1];
	}
	close_to(sum / n, 0, 0.02);
	close_to(sqrt(squares / n), 0.25, 0.01);
}

static void test_brightness(void **state)
{
	struct field_set *s = field_new(2, DTYPE_U8, 255);
	double least = 9, most = -9;
	for (int64_t epoch = 0; epoch < 200; epoch++) {
		struct outcome *r = field_run(s, "[{brightness: [0.5, 2]}]", epoch);
		struct outcome *c = field_run(s, "[{brightness: {shift: 2, per: channel}}]", epoch);

		for (int i = 0; i < 3 * PLANE; i++) {
			close_to((double)(r->x[i] - s->x[i]), (double)r->x[0], 1e-5);
			close_to((double)(c->x[i] - s->x[i]),
			         (double)(c->x[i / PLANE * PLANE] - s->x[i / PLANE * PLANE]), 1e-5);
		}
		assert_true(fabsf(c->x[0] - c->x[PLANE]) > 1e-6F);
		least = fmin(least, (double)r->x[0]);
		most = fmax(most, (double)r->x[0]);
		free(r);
		free(c);
	}
	assert_true(least >= 0.5 && least < 0.55 && most > 1.95 && most <= 2);
	field_free(s);
}

static void test_contrast(void **state)
{
	struct field_set *s = field_new(2, DTYPE_U8, 255);
	struct outcome *r = field_run(s, "[{contrast: {factor: [1.5, 1.5], channels: [0, 2]}}]", 0);
	struct outcome *z = field_run(s, "[{contrast: {factor: 0.2, about: zero}}]", 0);
	const double factor = (double)z->x[PLANE - 1] / (SIDE - 1);
	assert_true(fabs(factor - 1) < 0.2 && fabs(factor - 1) > 1e-4);
	for (int i = 0; i < PLANE; i++) {
		close_to((double)r->x[i], MIDDLE + 1.5 * (i / SIDE - MIDDLE), 1e-5);
		close_to((double)r->x[PLANE + i], i % SIDE, 0);
		close_to((double)z->x[ROUGH * PLANE + i], factor * (double)rough(i), 1e-4);
	}
	free(r);
	free(z);
	field_free(s);
}

/* What normalize knows is as it was: random changes are none of the data's. */
static void test_statistics(void **state)
{
	static const char changes[] = "[{brightness: 9}, {contrast: 0.5}, {noise: 3}, "
	                              "{normalize: standard}]";
	const struct result a = apply(changes, false, 0, 1);
	const struct result b = apply("[{normalize: standard}]", false, 0, 1);
	const struct result c = apply("[{noise: 0}, {normalize: standard}]", true, 0, 1);
	for (int i = 0; i < POINTS; i++) {
		assert_true(a.x[i] == b.x[i]);
		assert_true(c.x[i] == b.x[i]);
	}
}

/* Labels stay in the stored type and values are not left to others. */
static void test_stored(void **state)
{
	struct transform_options o = { .data = set, .training = true, .target_dtype = DTYPE_I32,
	                              .stored_input = true, .stored_target = true };
	struct transform_chain *c;
	struct ynode *root;
	assert_int_equal(ytree_parse(arena, "t.yaml", "[{flip: width}, {cast: 2}]", &root), 0);
	o.list = root;
	assert_int_equal(transform_chain_new(&c, &o), 0);
	assert_true(transform_rest(c)->values);
	transform_chain_free(c);
	assert_int_equal(ytree_parse(arena, "t.yaml", "[{rotate: 5}, {cast: 2}]", &root), 0);
	o.list = root;
	assert_int_equal(transform_chain_new(&c, &o), 0);
	assert_false(transform_rest(c)->values);
	transform_chain_free(c);
	assert_int_equal(ytree_parse(arena, "t.yaml", "[{noise: 5}, {cast: 2}]", &root), 0);
	o.list = root;
	assert_int_equal(transform_chain_new(&c, &o), 0);
	assert_false(transform_rest(c)->values);
	transform_chain_free(c);
}

/* Labels that the loss would not take: the data's ignore value is 255, the loss ignores 9. */
static void test_foreign_labels(void **state)
{
	struct transform_options o = { .data = set, .training = true, .target_dtype = DTYPE_I32,
	                              .classes = 4, .ignore = 9 };
	static const char *const taken[] = { "[{rotate: {degrees: 15, target: 3}}]",
		"[{zoom: {scale: 2, target: 9}}]",
		"[{rotate: {degrees: 5, outside: edge, target: same}}]" };
	static const char *const refused[] = { "[{rotate: {degrees: 15, target: 4}}]",
		"[{elastic: {magnitude: 1, target: -1}}]", "[{rotate: 15}]", "[{pad: 8}]" };
	struct transform_chain *c;
	struct ynode *root;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ytree_parse(arena, "t.yaml", taken[i], &root), 0);
		o.list = root;
		assert_int_equal(transform_chain_new(&c, &o), 0);
		transform_chain_free(c);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ytree_parse(arena, "t.yaml", refused[i], &root), 0);
		o.list = root;
		assert_int_equal(transform_chain_new(&c, &o), E_CONFIG);
		assert_non_null(strstr(err_get(0)->text, "the classes are 0..3"));
		assert_int_equal(err_get(0)->loc.col, 3);
		err_clear();
	}
}

static void refuse(const char *yaml, int code, const char *part, int column)
{
	struct field_set *s = field_new(2, DTYPE_U8, RECORD_NO_IGNORE);
	struct transform_chain *t;
	assert_int_equal(field_plan(&t, s, yaml), code);
	assert_null(t);
	if (err_get(0)->loc.col != column)
		fail_msg("%s: column %d instead of %d (%s)", yaml, err_get(0)->loc.col, column,
		         err_get(0)->text);
	if (!strstr(err_get(0)->text, part))
		fail_msg("%s: '%s' does not hold '%s'", yaml, err_get(0)->text, part);
	err_clear();
	field_free(s);
}

static void test_refusals(void **state)
{
	refuse("[{rotate: 15}]", E_CONFIG, "need an ignore value", 3);
	refuse("[{zoom: {scale: 2, outside: edge}}]", E_CONFIG, "need an ignore value", 3);
	refuse("[{rotate: {degrees: 15, target: same}}]", E_CONFIG, "'outside: fill' repeats none", 3);
	refuse("[{rotate: {degrees: 15, target: none}}]", E_CONFIG, "unknown 'target' 'none'", 3);
	refuse("[{rotate: {degrees: 15, target: 1.5}}]", E_CONFIG, "is no class label", 3);
	refuse("[{rotate: {degrees: [5, -5], target: 0}}]", E_CONFIG, "above the largest", 3);
	refuse("[{rotate: {degrees: [1, 2, 3], target: 0}}]", E_CONFIG, "one number, or", 3);
	refuse("[{rotate: {degrees: 15, about: width, target: 0}}]", E_SHAPE, "for volumes", 3);
	refuse("[{rotate: {target: 0}}]", E_CONFIG, "missing key 'degrees'", 3);
	refuse("[{zoom: 0}]", E_CONFIG, "'scale'", 9);
	refuse("[{elastic: {magnitude: 3, spacing: 1}}]", E_CONFIG, "'spacing'", 36);
	refuse("[{contrast: 1.2}]", E_CONFIG, "must be below 1", 3);
	refuse("[{brightness: [2, 1]}]", E_CONFIG, "above the largest", 3);
	refuse("[{noise: -1}]", E_CONFIG, "'deviation'", 10);
	refuse("[{noise: {deviation: 1, channels: 7}}]", E_CONFIG, "no input channel '7'", 35);
	refuse("[{crop: [4, 5]}, rotate90]", E_SHAPE, "equal extents; the inputs have 4 x 5", 18);
	refuse("[{rotate90: height}]", E_SHAPE, "for volumes", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places), cmocka_unit_test(test_windows),
		cmocka_unit_test(test_right_angle),
		cmocka_unit_test(test_rotate90), cmocka_unit_test(test_outside),
		cmocka_unit_test(test_field_targets), cmocka_unit_test(test_volume),
		cmocka_unit_test(test_elastic), cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_mask), cmocka_unit_test(test_noise),
		cmocka_unit_test(test_brightness), cmocka_unit_test(test_contrast),
		cmocka_unit_test(test_statistics), cmocka_unit_test(test_stored),
		cmocka_unit_test(test_foreign_labels),
		cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, transform_start, transform_stop);
}
