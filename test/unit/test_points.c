/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws of points.h: the sequences, that points lie evenly on regions and faces, normals,
 * differences, and picks by a residual. */
#include <math.h>

#include "arena_fixture.h"
#include "base/err.h"
#include "data/points.h"
#include "data/points_polygon.h"

#define PI 3.14159265358979323846
#define MOST 8192

static double x[MOST * POINTS_DIMS], normal[MOST * POINTS_DIMS];

/* The first set of a section. */
static const struct point_set *set_of(const char *text)
{
	struct points *p = ARENA_NEW(a, struct points);
	struct ynode *root;
	assert_int_equal(ytree_parse(a, "points.yaml", text, &root), 0);
	if (points_read(a, root, p) < 0)
		fail_msg("%s: %s", text, err_get(0)->text);
	return &p->set[0];
}

static void draw(const struct point_set *s, uint64_t seed, int64_t number, int64_t n)
{
	assert_true(n <= MOST);
	assert_int_equal(points_draw(s, seed, number, 0, n, x, s->normals ? normal : NULL), 0);
}

static void near(double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance))
		fail_msg("%.17g instead of %.17g, more than %g away", got, expected, tolerance);
}

/* A number of n that lie where a part p of all does. */
static void share(int64_t got, int64_t n, double p)
{
	near((double)got, (double)n * p, 4 * sqrt((double)n * p * (1 - p)));
}

/* --- sequences --- */

/* Joe and Kuo's program prints these. */
static void sobol_as_published(void **state)
{
	static const int first[8][4] = {
		{ 0, 0, 0, 0 }, { 4, 4, 4, 4 }, { 6, 2, 2, 2 }, { 2, 6, 6, 6 },
		{ 3, 3, 5, 7 }, { 7, 7, 1, 3 }, { 5, 1, 7, 5 }, { 1, 5, 3, 1 }
	};
	static const int later[POINTS_DIMS] = { 225, 99, 531, 693, 287, 929, 47, 921, 513, 71, 87,
	                                        261, 165, 393, 147, 379 };
	struct points_sequence q = { .kind = POINTS_SOBOL, .dims = POINTS_DIMS };
	points_sobol_directions(&q);
	points_sequence_fill(&q, 0, 8, x);
	for (int i = 0; i < 8; i++)
		for (int d = 0; d < 4; d++)
			assert_true(x[i * POINTS_DIMS + d] == first[i][d] / 8.0);
	points_sequence_fill(&q, 1000, 1, x);
	for (int d = 0; d < POINTS_DIMS; d++)
		assert_true(x[d] == later[d] / 1024.0);
}

/* A shift leaves it a net: of 256 points each of 256 intervals has one along each axis, and each
 * square of 16 by 16 of the first two axes. */
static void sobol_shifted(void **state)
{
	struct points_sequence q = { .kind = POINTS_SOBOL, .dims = POINTS_DIMS, .seed = 5, .draw = 3 };
	bool seen[POINTS_DIMS + 1][256] = { { false } };
	points_sequence_begin(&q);
	points_sequence_fill(&q, 256, 256, x);
	for (int i = 0; i < 256; i++) {
		const double *u = x + i * POINTS_DIMS;
		for (int d = 0; d < POINTS_DIMS; d++)
			seen[d][(int)(256 * u[d])] = true;
		seen[POINTS_DIMS][(int)(16 * u[0]) * 16 + (int)(16 * u[1])] = true;
	}
	for (int d = 0; d <= POINTS_DIMS; d++)
		for (int i = 0; i < 256; i++)
			assert_true(seen[d][i]);
}

static void latin_hypercube(void **state)
{
	const int64_t n = 1000;
	struct points_sequence q = { .kind = POINTS_LATIN_HYPERCUBE, .dims = 3, .count = n, .seed = 1 };
	bool seen[2][3][1000] = { { { false } } };
	double sum = 0;
	points_sequence_fill(&q, 0, 2 * n, x);
	for (int i = 0; i < 2 * n; i++) {
		for (int d = 0; d < 3; d++)
			seen[i / n][d][(int)(n * x[3 * i + d])] = true;
		sum += 12 * (x[3 * i] - 0.5) * (x[3 * i + 1] - 0.5);
	}
	for (int i = 0; i < 2 * 3 * n; i++)
		assert_true(seen[i / (3 * n)][i / n % 3][i % n]);
	near(sum / (2.0 * n), 0, 4 / sqrt(2.0 * n));        /* pairs of strata are not related */
	int same = 0;
	for (int i = 0; i < 3 * n; i++)
		same += (int)(n * x[i]) == (int)(n * x[i + 3 * n]);
	assert_true(same < 20);                             /* nor are two cubes */
}

/* Each number once, each first number about as often. */
static void permutations(void **state)
{
	bool seen[1025];
	int of[5] = { 0 };
	uint64_t key[2];
	for (int64_t n = 1; n <= 1025; n += 1 + n / 7) {
		memset(seen, 0, sizeof seen);
		points_permute_key(7, 8, 9, n, key);
		for (int64_t i = 0; i < n; i++)
			seen[points_permute(i, n, key)] = true;
		for (int64_t i = 0; i < n; i++)
			assert_true(seen[i]);
	}
	for (int k = 0; k < 2000; k++) {
		points_permute_key(7, 8, 9, k, key);
		of[points_permute(0, 5, key)]++;
	}
	for (int i = 0; i < 5; i++)
		share(of[i], 2000, 0.2);
}

/* The mean error of the integral of a smooth function over draws. */
static double integral_error(const char *how, bool additive)
{
	const struct point_set *s =
	    set_of(arena_printf(a, "{s: {box: {x: [0, 1], y: [0, 1]}, count: 1024, draw: %s}}", how));
	double all = 0;
	for (int k = 0; k < 16; k++) {
		double sum = 0;
		draw(s, 11, k, 1024);
		for (int i = 0; i < 1024; i++)
			sum += additive ? exp(x[2 * i]) + exp(x[2 * i + 1]) : exp(x[2 * i] * x[2 * i + 1]);
		/* The second is the series of 1 / (n n!). */
		all += fabs(sum / 1024 - (additive ? 2 * (exp(1) - 1) : 1.3179021514544038));
	}
	return all / 16;
}

static void even_draws_integrate_better(void **state)
{
	assert_true(integral_error("sobol", false) < 0.1 * integral_error("uniform", false));
	assert_true(integral_error("latin_hypercube", true) < 0.05 * integral_error("uniform", true));
}

/* --- draws --- */

static const char *const sets[] = {
	"{s: {box: {x: [-1, 1], t: [0, 1], k: 3}, count: 1001}}",
	"{s: {box: {x: [-1, 1], y: [0, 1], t: [0, 1]}, count: 1001, draw: uniform}}",
	"{s: {box: {x: [-1, 1], y: [0, 1], t: [0, 1]}, count: 1001, draw: latin_hypercube}}",
	"{s: {box: {x: {ends: [-1, 1]}, t: [0, 1]}, count: 1001}}",
	"{s: {disk: {center: {x: 0, y: 1}, radius: 2}, box: {t: [0, 1]}, count: 1001, draw: uniform}}",
	"{s: {faces: {polygon: {axes: [x, y], points: [[0, 0], [1, 0], [1, 1]]}}, box: {t: [0, 1]}, "
	"count: 1001}}",
	"{s: {box: {x: [0, 1], y: [0, 1]}, minus: {disk: {center: {x: 0, y: 0}, radius: 0.9}}, "
	"count: 1001}}",
	"{s: {box: {x: [0, 1], y: [0, 1]}, minus: {disk: {center: {x: 0, y: 0}, radius: 0.9}}, "
	"count: 1001, draw: latin_hypercube}}",
	"{s: {faces: {box: {x: [0, 1], y: [0, 1]}, minus: {disk: {center: {x: 0, y: 0}, radius: "
	"0.9}}}, count: 1001, draw: uniform}}",
};

/* A draw is the same again, whole or in pieces, and another one with any other key. */
static void draws_repeat(void **state)
{
	static double y[1001 * 3], m[1001 * 3];
	for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
		const struct point_set *s = set_of(sets[k]);
		struct point_set other = *s;
		const size_t bytes = sizeof *x * (size_t)(1001 * s->naxes);
		draw(s, 4, 7, 1001);
		for (int64_t at = 0, n = 1; at < 1001; at += n, n = n * 2 + 1) {
			const int64_t some = at + n > 1001 ? 1001 - at : n;
			assert_int_equal(points_draw(s, 4, 7, at, some, y + at * s->naxes,
			                             s->normals ? m + at * s->naxes : NULL), 0);
		}
		assert_memory_equal(x, y, bytes);
		if (s->normals)
			assert_memory_equal(normal, m, bytes);
		draw(s, 4, 8, 1001);
		assert_memory_not_equal(x, y, bytes);
		draw(s, 5, 7, 1001);
		assert_memory_not_equal(x, y, bytes);
		other.name = "other";
		draw(&other, 4, 7, 1001);
		assert_memory_not_equal(x, y, bytes);
	}
}

static void draw_numbers(void **state)
{
	const struct point_set *s = set_of("{s: {box: {x: [0, 1]}, count: 5, resample: 100}}");
	assert_int_equal(points_draw_at(s, 99), 0);
	assert_int_equal(points_draw_at(s, 100), 1);
	assert_int_equal(points_in_draw(s), 5);
	s = set_of("{s: {box: {x: [0, 1]}, count: 5}}");
	assert_int_equal(points_draw_at(s, 1000000), 0);
	s = set_of("{s: {box: {x: [0, 1]}, count: 5, resample: {by: r, every: 10, of: 50}}}");
	assert_int_equal(points_in_draw(s), 50);
	assert_string_equal(s->by, "r");
}

static void grids(void **state)
{
	const struct point_set *s =
	    set_of("{s: {box: {x: [-1, 2], t: [0, 0.3], k: 7}, count: 12, draw: grid}}");
	draw(s, 0, 0, 12);
	for (int i = 0; i < 12; i++) {
		near(x[3 * i], -1 + i / 3, 1e-15);
		near(x[3 * i + 1], 0.15 * (i % 3), 1e-15);
		assert_true(x[3 * i + 2] == 7);
	}
	assert_true(x[0] == -1 && x[1] == 0 && x[33] == 2 && x[34] == 0.3);
	s = set_of("{s: {box: {x: [0, 1], t: [0, 1]}, count: {t: 3, x: 5}, draw: grid}}");
	assert_int_equal(s->count, 15);
	draw(s, 0, 0, 15);
	assert_true(x[2 * 4] == 0.25 && x[2 * 4 + 1] == 0.5);
	s = set_of("{s: {box: {x: {ends: [3, 4]}, t: [0, 1]}, count: 22, draw: grid}}");
	draw(s, 0, 0, 22);
	assert_true(x[0] == 3 && x[20] == 3 && x[21] == 1 && x[22] == 4 && x[23] == 0);
	assert_true(normal[0] == -1 && normal[22] == 1 && normal[23] == 0);
}

/* Where there are single points only, each comes in turn, whatever the draw. */
static void single_points(void **state)
{
	const struct point_set *s = set_of("{s: {box: {x: {ends: [-1, 1]}, t: 5}, draw: uniform}}");
	assert_int_equal(s->count, 2);
	draw(s, 0, 0, 3);
	assert_true(x[0] == -1 && x[2] == 1 && x[4] == -1 && x[1] == 5 && x[3] == 5);
	assert_true(normal[0] == -1 && normal[2] == 1 && normal[1] == 0);
	s = set_of("{s: {faces: {box: {x: [0, 1]}, minus: {box: {x: [0.25, 0.5]}}}}}");
	assert_int_equal(s->count, 4);
	draw(s, 0, 0, 4);
	for (int i = 0; i < 4; i++) {
		static const double at[] = { 0, 1, 0.25, 0.5 }, out[] = { -1, 1, 1, -1 };
		assert_true(x[i] == at[i] && normal[i] == out[i]);
	}
	s = set_of("{s: {box: {x: 2, t: 3}}}");
	assert_int_equal(s->count, 1);
	draw(s, 0, 0, 1);
	assert_true(x[0] == 2 && x[1] == 3);
}

/* --- regions --- */

static void disk_by_area(void **state)
{
	const struct point_set *s =
	    set_of("{s: {disk: {center: {x: 3, y: -1}, radius: 2}, count: 8000, draw: uniform}}");
	int64_t inner = 0, right = 0, wedge = 0;
	draw(s, 1, 0, 8000);
	for (int i = 0; i < 8000; i++) {
		const double dx = x[2 * i] - 3, dy = x[2 * i + 1] + 1;
		assert_true(hypot(dx, dy) <= 2 * (1 + 1e-15));
		inner += hypot(dx, dy) < 1;
		right += dx > 1;
		wedge += dx > 0 && dy > 0;
	}
	share(inner, 8000, 0.25);
	share(wedge, 8000, 0.25);
	share(right, 8000, (PI / 3 - sqrt(3) / 4) / PI);
}

/* A comb with teeth of two heights, given clockwise: where x < 1, 1 x 3; 1 < x < 2, 1 x 1; and a
 * triangle of 2 x 2 upon a base of 2 x 1. */
static const char comb[] =
	"{polygon: {axes: [x, y], points: [[0, 0], [0, 3], [1, 3], [1, 1], [2, 1], [3, 3], [4, 1], "
	"[4, 0]]}}";

static void polygon_by_area(void **state)
{
	static const char *const how[] = { "uniform", "sobol" };
	for (int k = 0; k < 2; k++) {
		const struct point_set *s = set_of(arena_printf(a, "{s: {%.*s, count: 8000, draw: %s}}",
		                                                (int)strlen(comb) - 2, comb + 1, how[k]));
		int64_t tall = 0, base = 0, left = 0;
		draw(s, 1, 0, 8000);
		for (int i = 0; i < 8000; i++) {
			const double px = x[2 * i], py = x[2 * i + 1];
			assert_true(px >= 0 && px <= 4 && py >= 0);
			assert_true(py <= (px <= 1 ? 3 : px <= 2 ? 1 : 3 - 2 * fabs(px - 3)) + 1e-12);
			tall += px < 1;
			base += py < 1;
			left += px > 2 && px < 2.5 && py > 1;
		}
		share(tall, 8000, 3.0 / 8);
		share(base, 8000, 4.0 / 8);
		share(left, 8000, 0.25 / 8);
		if (k == 1)
			near((double)tall, 3000, 8);
	}
}

/* A triangle whose corners all have other abscissas. */
static void triangle(void **state)
{
	const struct point_set *s = set_of("{s: {polygon: {axes: [x, y], points: [[0, 0], [1, 3], [4, "
	                                   "1]]}, count: 4000}}");
	int64_t of[3] = { 0 };
	draw(s, 1, 0, 4000);
	for (int i = 0; i < 4000; i++) {
		const double px = x[2 * i], py = x[2 * i + 1];
		const double part[3] = { (4 * py - px) / 11, (3 * px - py) / 11,
			(11 - 2 * px - 3 * py) / 11 };       /* barycentric coordinates */
		for (int k = 0; k < 3; k++) {
			assert_true(part[k] >= -1e-14 && part[k] <= 1 + 1e-14);
			of[k] += part[k] > 0.5;
		}
	}
	for (int k = 0; k < 3; k++)
		near((double)of[k], 1000, 25);
}

static void polygon_contains(void **state)
{
	static const double corner[][2] = { { 0, 0 }, { 4, 0 }, { 4, 4 }, { 2, 1 }, { 0, 4 } };
	const struct points_polygon *p = points_polygon_new(a, 5, corner);
	near(p->area, 10, 1e-14);
	assert_true(points_polygon_contains(p, (double[]){ 2, 0.9 }));
	assert_false(points_polygon_contains(p, (double[]){ 2, 1.1 }));
	assert_true(points_polygon_contains(p, (double[]){ 0.1, 3 }));
	assert_false(points_polygon_contains(p, (double[]){ 5, 0.5 }));
	assert_true(points_polygon_contains(p, (double[]){ 1, 2.4 }));
	assert_false(points_polygon_contains(p, (double[]){ 1, 2.6 }));
}

static void difference(void **state)
{
	/* A plate less a hole, in time, and less all of its first tenth. */
	const struct point_set *s = set_of(
	    "{s: {box: {x: [0, 2], y: [0, 1], t: [0, 1]}, count: 4000, minus: [hole, {box: {t: [0, "
	    "0.1]}}]}, hole: {disk: {center: {x: 1, y: 0.5}, radius: 0.4}}}");
	int64_t left = 0;
	draw(s, 1, 0, 4000);
	for (int i = 0; i < 4000; i++) {
		assert_true(hypot(x[3 * i] - 1, x[3 * i + 1] - 0.5) > 0.4);
		assert_true(x[3 * i + 2] > 0.1 && x[3 * i + 2] < 1);
		left += x[3 * i] < 0.6;
	}
	near((double)left, 4000 * 0.6 / (2 - PI * 0.16), 16);       /* uniform points: 4 x 30 */
}

/* --- faces --- */

static void faces_of_a_disk(void **state)
{
	const struct point_set *s = set_of("{s: {faces: {disk: {center: {x: 3, y: -1}, radius: 2}}, "
	                                   "box: {t: [5, 6]}, count: 4000, draw: uniform}}");
	int64_t quarter = 0;
	assert_int_equal(s->naxes, 3);
	draw(s, 1, 0, 4000);
	for (int i = 0; i < 4000; i++) {
		const double *p = x + 3 * i, *m = normal + 3 * i;
		near(m[0], (p[0] - 3) / 2, 1e-15);
		near(m[1], (p[1] + 1) / 2, 1e-15);
		near(hypot(m[0], m[1]), 1, 1e-15);
		assert_true(m[2] == 0 && p[2] >= 5 && p[2] < 6);
		quarter += m[0] > 0 && m[1] > 0;
	}
	share(quarter, 4000, 0.25);
}

/* A box of 1 x 2 x 3. */
static void faces_of_a_box(void **state)
{
	static const double high[3] = { 1, 2, 3 };
	const struct point_set *s =
	    set_of("{s: {faces: {box: {x: [0, 1], y: [0, 2], z: [0, 3]}}, count: 4400}}");
	int64_t of[3] = { 0 };
	double together = 0;
	draw(s, 1, 0, 4400);
	for (int i = 0; i < 4400; i++) {
		const double *p = x + 3 * i, *m = normal + 3 * i;
		int on = 0;
		for (int d = 0; d < 3; d++)
			if (m[d] != 0) {
				assert_true(m[d] == (p[d] == 0 ? -1 : 1));
				assert_true(p[d] == 0 || p[d] == high[d]);
				on++;
				of[d]++;
			}
		assert_int_equal(on, 1);
		together += m[0] != 0 ? (p[1] - 1) * (p[2] - 1.5) : 0;
	}
	near(together / 2400, 0, 0.01);
	near((double)of[0], 2400, 3);
	near((double)of[1], 1200, 3);
	near((double)of[2], 800, 3);
}

static void faces_of_a_polygon(void **state)
{
	const double slope = 1 / sqrt(5);
	const struct point_set *s = set_of(arena_printf(a, "{s: {faces: %s, count: 4000}}", comb));
	int64_t slopes = 0;
	draw(s, 1, 0, 4000);
	for (int i = 0; i < 4000; i++) {
		const double *p = x + 2 * i, *m = normal + 2 * i;
		if (p[0] == 0)
			assert_true(m[0] == -1 && m[1] == 0);
		else if (p[1] == 0)
			assert_true(m[0] == 0 && m[1] == -1);
		else if (p[0] == 1 && p[1] < 3)
			assert_true(m[0] == 1 && m[1] == 0);
		else if (p[0] > 2 && p[0] < 4 && p[1] > 1) {
			near(m[0], p[0] < 3 ? -2 * slope : 2 * slope, 1e-15);
			near(m[1], slope, 1e-15);
			near(p[1], 3 - 2 * fabs(p[0] - 3), 1e-14);
			slopes++;
		}
	}
	near((double)slopes, 4000 * 2 * sqrt(5) / (3 + 1 + 2 + 1 + 2 * sqrt(5) + 1 + 4), 2);
}

/* Which parts of the boundary have how many points, of a set of two axes with its faces. */
struct part {
	double at[2], normal[2];
	double length;                       /* of a piece parallel to an axis with this normal */
};

static void check_parts(const char *text, const struct part *part, int nparts, double round_length)
{
	const struct point_set *s = set_of(text);
	const int64_t n = s->count;
	int64_t of[8] = { 0 }, others = 0;
	double all = round_length;
	draw(s, 3, 0, n);
	for (int64_t i = 0; i < n; i++) {
		const double *p = x + 2 * i, *m = normal + 2 * i;
		int k = 0;
		while (k < nparts && !(m[0] == part[k].normal[0] && m[1] == part[k].normal[1] &&
		                       p[m[0] == 0] == part[k].at[m[0] == 0]))
			k++;
		if (k < nparts)
			of[k]++;
		else
			others++;
	}
	for (int k = 0; k < nparts; k++)
		all += part[k].length;
	for (int k = 0; k < nparts; k++)
		near((double)of[k], (double)n * part[k].length / all, 0.01 * (double)n);
	near((double)others, (double)n * round_length / all, round_length > 0 ? 0.01 * (double)n : 0);
}

static void faces_of_differences(void **state)
{
	/* A notch at the border: the side x = 1 is shorter, the notch has three sides. */
	static const struct part notch[] = {
		{ { 0, 0 }, { -1, 0 }, 1 }, { { 1, 0 }, { 1, 0 }, 0.5 }, { { 0, 0 }, { 0, -1 }, 1 },
		{ { 0, 1 }, { 0, 1 }, 1 }, { { 0.5, 0 }, { 1, 0 }, 0.5 }, { { 0, 0.25 }, { 0, 1 }, 0.5 },
		{ { 0, 0.75 }, { 0, -1 }, 0.5 },
	};
	/* Two holes with sides in common: they are one, 0.25 x 0.75. */
	static const struct part two[] = {
		{ { 0, 0 }, { -1, 0 }, 1 }, { { 1, 0 }, { 1, 0 }, 1 }, { { 0, 0 }, { 0, -1 }, 1 },
		{ { 0, 1 }, { 0, 1 }, 1 }, { { 0.25, 0 }, { 1, 0 }, 0.625 },
		{ { 0.5, 0 }, { -1, 0 }, 0.625 }, { { 0, 0.125 }, { 0, 1 }, 0.25 },
		{ { 0, 0.75 }, { 0, -1 }, 0.25 },
	};
	check_parts("{s: {faces: {box: {x: [0, 1], y: [0, 1]}, minus: {box: {x: [0.5, 1], y: [0.25, "
	            "0.75]}}}, count: 4000}}", notch, 7, 0);
	check_parts("{s: {faces: {box: {x: [0, 1], y: [0, 1]}, minus: [{box: {x: [0.25, 0.5], y: "
	            "[0.125, 0.5]}}, {box: {x: [0.25, 0.5], y: [0.375, 0.75]}}]}, count: 4000}}", two,
	            8, 0);
	/* A hole with an island in it. */
	check_parts("{s: {faces: plate, count: 4000}, plate: {box: {x: [0, 1], y: [0, 1]}, minus: "
	            "ring}, ring: {disk: {center: {x: 0.5, y: 0.5}, radius: 0.4}, minus: {disk: "
	            "{center: {x: 0.5, y: 0.5}, radius: 0.2}}}}", two, 4, 2 * PI * 0.6);
}

/* Normals point out of what is left: into the hole, and out of the island. */
static void normals_of_a_ring(void **state)
{
	const struct point_set *s =
	    set_of("{s: {faces: {disk: {center: {x: 1, y: 0}, radius: 2}, minus: {disk: {center: {x: "
	           "1, y: 0}, radius: 1}}}, count: 3000}}");
	int64_t inner = 0;
	draw(s, 1, 0, 3000);
	for (int i = 0; i < 3000; i++) {
		const double r = hypot(x[2 * i] - 1, x[2 * i + 1]), side = r < 1.5 ? -1 : 1;
		near(r, side < 0 ? 1 : 2, 1e-14);
		near(normal[2 * i], side * (x[2 * i] - 1) / r, 1e-14);
		near(normal[2 * i + 1], side * x[2 * i + 1] / r, 1e-14);
		inner += side < 0;
	}
	near((double)inner, 1000, 10);
}

/* A hole that lacks an axis is a tube along it, without ends of its own. */
static void tube(void **state)
{
	const struct point_set *s =
	    set_of("{s: {faces: {box: {x: [0, 1], t: [2, 4], y: [0, 1]}, minus: {disk: {center: {x: "
	           "0.5, y: 0.5}, radius: 0.25}}}, count: 4000}}");
	const double walls = 8, ends = 2 * (1 - PI / 16), inside = PI;
	int64_t of[3] = { 0 }, low = 0;
	draw(s, 1, 0, 4000);
	for (int i = 0; i < 4000; i++) {
		const double *p = x + 3 * i, *m = normal + 3 * i, r = hypot(p[0] - 0.5, p[2] - 0.5);
		assert_true(p[1] >= 2 && p[1] <= 4 && r >= 0.25 - 1e-12);
		if (m[1] != 0)
			of[1]++;
		else if (r < 0.26) {
			of[2]++;
			low += p[1] < 3;
			near(m[0], (0.5 - p[0]) / r, 1e-12);
		} else
			of[0]++;
	}
	near((double)of[0], 4000 * walls / (walls + ends + inside), 20);
	near((double)of[1], 4000 * ends / (walls + ends + inside), 20);
	near((double)low, (double)of[2] / 2, 20);
}

/* Faces of a set may be less than all: a wall without its door. */
static void faces_less(void **state)
{
	const struct point_set *s = set_of("{s: {faces: {box: {x: [0, 1], y: [0, 1]}}, minus: {box: "
	                                   "{x: [-1, 0.5], y: [0.25, 0.75]}}, count: 1000}}");
	draw(s, 1, 0, 1000);
	for (int i = 0; i < 1000; i++)
		assert_true(x[2 * i] > 0.5 || x[2 * i + 1] < 0.25 || x[2 * i + 1] > 0.75);
	s = set_of("{s: {faces: {polygon: {axes: [x, y], points: [[0.1, 0], [0.7, 0], [0.7, 1], "
	           "[0.1, 1]]}}, minus: [left, {box: {y: {ends: [0, 1]}}}], count: 1000}, "
	           "left: {box: {x: 0.1, y: [0, 1]}}}");
	draw(s, 1, 0, 1000);
	for (int i = 0; i < 1000; i++)
		assert_true(x[2 * i] > 0.69);
}

/* Both ends have the same number, and each its own normal. */
static void ends(void **state)
{
	const struct point_set *s = set_of("{s: {box: {t: [0, 1], x: {ends: [-1, 3]}}, count: 1000}}");
	int64_t right = 0;
	draw(s, 1, 0, 1000);
	for (int i = 0; i < 1000; i++) {
		assert_true(x[2 * i + 1] == (normal[2 * i + 1] > 0 ? 3 : -1));
		assert_true(normal[2 * i] == 0 && fabs(normal[2 * i + 1]) == 1);
		right += normal[2 * i + 1] > 0;
	}
	assert_int_equal(right, 500);
}

/* --- by residual --- */

static void picks(void **state)
{
	const struct point_set *s =
	    set_of("{s: {box: {x: [0, 1]}, count: 100, resample: {by: r, every: 10, of: 1000}}}");
	static struct point_key work[1000];
	static double score[1000];
	int64_t chosen[100], again[100], of[4] = { 0 };
	for (int i = 0; i < 1000; i++)
		score[i] = i / 250;              /* none of the first quarter */
	for (int k = 0; k < 40; k++) {
		assert_int_equal(points_pick(s, score, 3, k, work, chosen), 0);
		for (int i = 0; i < 100; i++) {
			assert_true(i == 0 || chosen[i] > chosen[i - 1]);
			of[chosen[i] / 250]++;
		}
	}
	/* Nearly as 0 : 1 : 2 : 3, as a tenth is picked. */
	assert_int_equal(of[0], 0);
	near((double)of[2] / (double)of[1], 2, 0.25);
	near((double)of[3] / (double)of[1], 3, 0.4);
	assert_int_equal(points_pick(s, score, 3, 39, work, again), 0);
	assert_memory_equal(chosen, again, sizeof again);
	assert_int_equal(points_pick(s, score, 4, 39, work, again), 0);
	assert_memory_not_equal(chosen, again, sizeof again);
	for (int i = 0; i < 1000; i++)
		score[i] = i == 777 ? 1e-30 : 0;
	assert_int_equal(points_pick(s, score, 3, 0, work, chosen), 0);
	assert_int_equal(chosen[99], 777);
	score[5] = NAN;
	assert_int_equal(points_pick(s, score, 3, 0, work, chosen), E_DIVERGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sobol_as_published, setup, teardown),
		cmocka_unit_test_setup_teardown(sobol_shifted, setup, teardown),
		cmocka_unit_test_setup_teardown(latin_hypercube, setup, teardown),
		cmocka_unit_test_setup_teardown(permutations, setup, teardown),
		cmocka_unit_test_setup_teardown(even_draws_integrate_better, setup, teardown),
		cmocka_unit_test_setup_teardown(draws_repeat, setup, teardown),
		cmocka_unit_test_setup_teardown(draw_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(grids, setup, teardown),
		cmocka_unit_test_setup_teardown(single_points, setup, teardown),
		cmocka_unit_test_setup_teardown(disk_by_area, setup, teardown),
		cmocka_unit_test_setup_teardown(polygon_by_area, setup, teardown),
		cmocka_unit_test_setup_teardown(triangle, setup, teardown),
		cmocka_unit_test_setup_teardown(polygon_contains, setup, teardown),
		cmocka_unit_test_setup_teardown(difference, setup, teardown),
		cmocka_unit_test_setup_teardown(faces_of_a_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(faces_of_a_box, setup, teardown),
		cmocka_unit_test_setup_teardown(faces_of_a_polygon, setup, teardown),
		cmocka_unit_test_setup_teardown(faces_of_differences, setup, teardown),
		cmocka_unit_test_setup_teardown(normals_of_a_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(tube, setup, teardown),
		cmocka_unit_test_setup_teardown(faces_less, setup, teardown),
		cmocka_unit_test_setup_teardown(ends, setup, teardown),
		cmocka_unit_test_setup_teardown(picks, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
