/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The section `points`: what is read, and every mistake with its place. */
#include "files.h"

#include "data/points.h"

static struct arena *a;

static int setup(void **state)
{
	a = arena_new();
	err_clear();
	return 0;
}

static int teardown(void **state)
{
	arena_free(a);
	err_clear();
	return 0;
}

static int read_text(const char *text, struct points *p)
{
	struct ynode *root;
	assert_int_equal(ytree_parse(a, "points.yaml", text, &root), 0);
	return points_read(a, root, p);
}

static void sections(void **state)
{
	static const char text[] =
	    "inside: {box: {x: [-1, 1], t: [0, 1]}, count: 10000, draw: uniform, resample: 100}\n"
	    "start: {box: {x: [-1, 1], t: 0}, count: 100}\n"
	    "walls: {box: {x: {ends: [-1, 1]}, t: [0, 1]}, count: 100}\n"
	    "tube: {box: {t: [0, 1]}, disk: {center: {y: 0, x: 1e-3}, radius: .5}, count: 9, "
	    "draw: latin_hypercube}\n"
	    "rim: {faces: hole, box: {t: [0, 1]}, count: 7, resample: {by: r, every: 5, of: 70}}\n"
	    "hole: {polygon: {axes: [x, y], points: [[0, 0], [1, 0], [0, 1]]}}\n";
	struct points p;
	const struct point_set *s;
	assert_int_equal(read_text(text, &p), 0);
	assert_int_equal(p.n, 6);
	s = points_find(&p, "inside");
	assert_true(s->count == 10000 && s->draw == POINTS_UNIFORM && s->every == 100 && !s->by);
	assert_true(s->naxes == 2 && !s->normals && s->loc.line == 1 && s->loc.len == 6);
	assert_string_equal(s->axis[1], "t");
	assert_true(points_find(&p, "start")->every == 0 && !points_find(&p, "start")->normals);
	assert_true(points_find(&p, "walls")->normals);
	assert_int_equal(points_find(&p, "walls")->draw, POINTS_SOBOL);
	s = points_find(&p, "tube");
	assert_string_equal(s->axis[0], "t");
	assert_string_equal(s->axis[1], "y");
	assert_string_equal(s->axis[2], "x");
	s = points_find(&p, "rim");
	assert_true(s->normals && s->count == 7 && s->every == 5 && s->of == 70);
	assert_string_equal(s->by, "r");
	assert_string_equal(s->axis[2], "t");
	assert_int_equal(points_find(&p, "hole")->count, 0);
	assert_null(points_find(&p, "nowhere"));
	const struct strings axes = points_axes(a, &p);
	assert_int_equal(axes.n, 3);
	assert_string_equal(axes.v[0], "x");
	assert_string_equal(axes.v[2], "y");
}

/* --- mistakes --- */

static const struct mistake {
	const char *text;
	int line, col, len;                  /* len 0: not compared */
	const char *message;
} mistakes[] = {
	{ "{s: {box: {x: [0, 1]}, count: 9, drow: sobol}}", 1, 34, 4, "did you mean 'draw'?" },
	{ "{s: {box: {x: [0, 1]}, count: 9, draw: halton}}", 1, 40, 6, "uniform, sobol" },
	{ "{s: {box: {x: [1, 0]}, count: 9}}", 1, 15, 0, "'x' goes from 1 to 0: expected LO < HI" },
	{ "{s: {box: {x: [1, 1]}, count: 9}}", 1, 15, 0, "for one value write the value alone" },
	{ "{s: {box: {x: {ends: [1, 0]}}, count: 9}}", 1, 22, 0, "expected LO < HI" },
	{ "{s: {box: {x: [0, 1, 2]}, count: 9}}", 1, 15, 0, "must have two ends, [LO, HI]" },
	{ "{s: {box: {x: [0, .inf]}, count: 9}}", 1, 19, 4, "must be a finite number, not '.inf'" },
	{ "{s: {box: {x: [0, one]}, count: 9}}", 1, 19, 3, "each end of 'x' must be a finite number" },
	{ "{s: {box: {x: {sides: [0, 1]}}, count: 9}}", 1, 15, 0, "or its two ends, {ends: [LO, HI]}" },
	{ "{s: {box: {2x: [0, 1]}, count: 9}}", 1, 12, 2, "'2x' is no name of an axis" },
	{ "{s: {box: [0, 1], count: 9}}", 1, 11, 0, "'box' must be a map of axes" },
	{ "{s: {box: {x: {ends: [0, 1]}, y: {ends: [0, 1]}}, count: 9}}", 1, 5, 0,
	  "one axis with 'ends', or 'faces'" },
	{ "{s: {count: 9}}", 1, 5, 0, "a set must have 'box', 'disk', 'polygon', 'faces' or 'record'" },
	{ "{s: }", 1, 2, 1, "set 's' is empty" },
	{ "{s: 3}", 1, 5, 1, "must be a map" },
	{ "[s]", 1, 1, 0, "'points' must be a map of sets" },
	{ "{s-1: {box: {x: [0, 1]}, count: 9}}", 1, 2, 3, "'s-1' is no name of a set" },
	{ "{s: {box: {x: [0, 1]}}}", 1, 2, 1, "missing key 'count' in set 's'" },
	{ "{s: {box: {x: [0, 1]}, count: 9, minus: r}, r: {box: {x: [0, .5]}, draw: sobol}}", 1, 45, 1,
	  "missing key 'count' in set 'r'" },
	{ "{s: {box: {x: [0, 1]}, count: 0}}", 1, 31, 1, "'count' must be an integer from 1 to" },
	{ "{s: {box: {x: [0, 1]}, count: {x: 3}}}", 1, 31, 0, "is for 'draw: grid' of a box alone" },
	{ "{s: {box: {x: [0, 1], y: [0, 1]}, count: 13, draw: grid}}", 1, 42, 2,
	  "a grid of 2 axes has 12 or 16 points, not 13" },
	{ "{s: {box: {x: [0, 1], y: [0, 1]}, count: {x: 3}, draw: grid}}", 1, 42, 0, "lacks axis 'y'" },
	{ "{s: {box: {x: [0, 1], y: 3}, count: {x: 3, y: 2}, draw: grid}}", 1, 37, 0,
	  "names what is no interval of 'box'" },
	{ "{s: {disk: {center: {x: 0, y: 0}, radius: 1}, count: 9, draw: grid}}", 1, 2, 1,
	  "'grid' is for a box alone" },
	{ "{s: {box: {x: [0, 1]}, count: 9, draw: grid, resample: 5}}", 1, 46, 8,
	  "has the same points in each draw" },
	{ "{s: {box: {x: [0, 1]}, count: 9, resample: {every: 5, by: r}}}", 1, 44, 0,
	  "have all of 'by', 'every' and 'of'" },
	{ "{s: {box: {x: [0, 1]}, count: 9, resample: {every: 5, by: r, of: 9}}}", 1, 44, 0,
	  "'of' is 9: expected more candidates" },
	{ "{s: {box: {x: [0, 1]}, count: 9, resample: 0}}", 1, 44, 1, "out of range" },
	{ "{s: {disk: {center: {x: 0, y: 0}}, count: 9}}", 1, 6, 4, "missing key 'radius' in 'disk'" },
	{ "{s: {disk: {radius: 1}, count: 9}}", 1, 6, 4, "missing key 'center' in 'disk'" },
	{ "{s: {disk: {center: {x: 0, y: 0}, radius: -1}, count: 9}}", 1, 43, 2, "out of range" },
	{ "{s: {disk: {center: {x: 0}, radius: 1}, count: 9}}", 1, 21, 0, "must be a map of two axes" },
	{ "{s: {disk: 3, count: 9}}", 1, 12, 1, "'disk' must be a map" },
	{ "{s: {box: {x: [0, 1]}, disk: {center: {x: 0, y: 0}, radius: 1}, count: 9}}", 1, 40, 1,
	  "axis 'x' is there already" },
	{ "{s: {polygon: {axes: [x, y], points: [[0, 0], [1, 1], [1, 0], [0, 1]]}, count: 9}}",
	  1, 55, 0, "the edge from corner 3 to corner 4 crosses or touches the one from 1 to 2" },
	{ "{s: {polygon: {axes: [x, y], points: [[0, 0], [2, 0], [1, 0]]}, count: 9}}", 1, 47, 0,
	  "the edge from corner 2 to corner 3 crosses or touches the one from 1 to 2" },
	{ "{s: {polygon: {axes: [x, y], points: [[0, 0], [1, 0], [1, 0], [1, 1]]}, count: 9}}",
	  1, 47, 0, "crosses or touches" },
	{ "{s: {polygon: {axes: [x, y], points: [[1, 0], [.5, 0], [.5, 1], [0, 0]]}, count: 9}}", 1,
	  65, 0, "the edge from corner 4 to corner 1 crosses or touches the one from 1 to 2" },
	{ "{s: {polygon: {axes: [x, y], points: [[0, 0], [1, 0]]}, count: 9}}", 1, 38, 0,
	  "a list of 3 to 4096 corners" },
	{ "{s: {polygon: {axes: [x, y], points: [[0, 0], [1, 0], 5]}, count: 9}}", 1, 55, 1,
	  "a corner must be a list of two coordinates, not '5'" },
	{ "{s: {polygon: {axes: [x], points: [[0, 0], [1, 0], [1, 1]]}, count: 9}}", 1, 23, 0,
	  "'axes' of a polygon must be two names" },
	{ "{s: {box: {x: [0, 1]}, minus: {box: {x: [-1, 2]}}, count: 9}}", 1, 2, 1,
	  "nearly nothing of 's' is left by 'minus': 10112 of 10112 points were rejected" },
	{ "{s: {box: {x: [0, 1]}, minus: {box: {y: [0, 1]}}, count: 9}}", 1, 31, 0,
	  "axis 'y' of what is taken away is no axis of the set" },
	{ "{s: {box: {x: [0, 1]}, minus: {box: {x: 0.5}}, count: 9}}", 1, 31, 0,
	  "axis 'x' of a region for 'minus' must be an interval" },
	{ "{s: {box: {x: [0, 1]}, minus: {box: {x: [0, .5]}, count: 3}, count: 9}}", 1, 51, 5,
	  "unknown key 'count'" },
	{ "{s: {box: {x: [0, 1]}, minus: hola, count: 9}, hole: {box: {x: [0, .5]}, count: 1}}",
	  1, 31, 4, "unknown set 'hola'; did you mean 'hole'?" },
	{ "{s: {box: {x: [0, 1]}, minus: s, count: 9}}", 1, 31, 1, "set 's' is made of itself" },
	{ "{s: {faces: {disk: {center: {x: 0, y: 0}, radius: 1}}, count: 9}, r: {faces: s, count: 9}}",
	  1, 78, 1, "'s' is made of faces: expected a region" },
	{ "{s: {faces: [s], count: 9}}", 1, 13, 0, "'faces' must be the name of a set or a region" },
	{ "{s: {faces: {minus: s}, count: 9}}", 1, 13, 0, "expected a region" },
	{ "{s: {record: x.dlx, draw: sobol}}", 1, 21, 4, "'draw' does not go with 'record'" },
	{ "{s: {record: x.dlx, resample: 5}}", 1, 21, 8, "has the same points in each draw" },
};

static void mistakes_have_places(void **state)
{
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		const struct mistake *m = &mistakes[i];
		const struct err_entry *e;
		struct points p;
		assert_int_equal(read_text(m->text, &p), E_CONFIG);
		if (err_count() != 1)
			fail_msg("%s: %d mistakes, the last '%s'", m->text, err_count(),
			         err_get(err_count() - 1)->text);
		e = err_get(0);
		if (!strstr(e->text, m->message))
			fail_msg("%s: '%s' does not have '%s'", m->text, e->text, m->message);
		if (e->loc.line != m->line || e->loc.col != m->col || (m->len && e->loc.len != m->len))
			fail_msg("%s: '%s' is at %d:%d, %d long", m->text, e->text, e->loc.line, e->loc.col,
			         e->loc.len);
		err_clear();
	}
}

/* Mistakes in several sets and keys are all reported, and once where a set is used twice. */
static void all_mistakes(void **state)
{
	struct points p;
	assert_int_equal(read_text("a: {faces: c, count: 1}\n"
	                           "b: {box: {x: [0, 1]}, minus: c, count: 1}\n"
	                           "c: {box: {x: [1, 0], y: [2, 1]}, colour: 3}\n"
	                           "d: {box: {x: [0, 1]}, count: 0}", &p), E_CONFIG);
	assert_int_equal(err_count(), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sections, setup, teardown),
		cmocka_unit_test_setup_teardown(mistakes_have_places, setup, teardown),
		cmocka_unit_test_setup_teardown(all_mistakes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
