/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The section `points`: what is read, every mistake with its place, and points of records. */
#include "arena_fixture.h"
#include "files.h"

#include "data/points.h"
#include "data/record.h"

#define RECORD "test_points_config.tmp.dlx"

static int read_text(const char *text, struct points *p)
{
	struct ynode *root;
	if (ytree_parse(a, "points.yaml", text, &root) < 0)
		fail_msg("%s", err_get(0)->text);
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
	{ "{s: {box: {x: [0, .inf]}, count: 9}}", 1, 19, 4,
	  "must be a number from -1e+15 to 1e+15, not '.inf'" },
	{ "{s: {box: {x: [0, 1e-16]}, count: 9}}", 1, 15, 0, "'x' is 1e-16 long; expected at least" },
	{ "{s: {polygon: {axes: [x, y], points: [[0, 0], [1e-16, 0], [0, 1e-16]]}, count: 9}}", 1, 6, 7,
	  "the area of the polygon is 5e-33" },
	{ "{s: {box: {x: [0, one]}, count: 9}}", 1, 19, 3, "each end of 'x' must be a number" },
	{ "{s: {box: {x: {sides: [0, 1]}}, count: 9}}", 1, 15, 0, "or its two ends, {ends: [LO, HI]}" },
	{ "{s: {box: {2x: [0, 1]}, count: 9}}", 1, 12, 2, "'2x' is no name of an axis" },
	{ "{s: {box: [0, 1], count: 9}}", 1, 11, 0, "'box' must be a map of axes" },
	{ "{s: {box: {x: {ends: [0, 1]}, y: {ends: [0, 1]}}, count: 9}}", 1, 5, 0,
	  "one axis with 'ends', or 'faces'" },
	{ "{s: {count: 9}}", 1, 5, 0,
	  "a set must have 'box', 'disk', 'polygon', 'faces', 'record' or 'samples'" },
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
	{ "{s: {disk: {center: {x: 0, y: 0}, radius: null}, count: 9}}", 1, 6, 4,
	  "missing key 'radius'" },
	{ "{s: {disk: {center: {x: 0, y: 0}, radius: {}}, count: 9}}", 1, 43, 0, "'radius' must be" },
	{ "{s: {disk: null, count: 9}}", 1, 6, 4, "missing key 'center' in 'disk'" },
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
	{ "{s: {polygon: {axes: {}, points: [[0, 0], [1, 0], [1, 1]]}, count: 9}}", 1, 22, 0,
	  "'axes' must be" },
	{ "{s: {polygon: {axes: [], points: [[0, 0], [1, 0], [1, 1]]}, count: 9}}", 1, 6, 7,
	  "missing key 'axes' in 'polygon'" },
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
	{ "{s: {record: x.dlx, realizations: 4, count: 5}}", 1, 38, 5,
	  "'count' does not go with 'realizations' of a record" },
	{ "{s: {record: x.dlx, realizations: 0}}", 1, 35, 1, "'realizations' is out of range" },
	{ "{s: {box: {x: [0, 1]}, count: 9, sensors: u}}", 1, 34, 7,
	  "'sensors' is for the points of a 'record'" },
	{ "{s: {box: {x: [0, 1]}, count: 9, realizations: 2, resample: {by: r, every: 5, of: 70}}}", 1,
	  61, 0, "'by' does not go with 'realizations'" },
	{ "{s: {record: x.dlx, within: [0, 1]}}", 1, 29, 0, "'within' must be a map of axes" },
	{ "{s: {record: x.dlx, within: {x: 1}}}", 1, 33, 1, "'x' must be an interval [LO, HI]" },
	{ "{s: {record: x.dlx, within: {x: [1, 0]}}}", 1, 33, 0, "ends below its begin" },
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

/* Regions in regions are refused before they exhaust anything, whatever is read first. */
static void nested(void **state)
{
	static const struct {
		const char *minus;
		int n, step;
		const char *message;
	} of[] = { { "s%d", 2000, 1, "more than 32 deep" }, { "s%d", 2000, -1, "more than 32 deep" },
		{ "[s%d, s%d]", 12, 1, "more than 1000 shapes" } };
	for (int k = 0; k < 3; k++) {
		struct buf b = BUF_INIT;
		struct points p;
		for (int i = 0; i < of[k].n; i++) {
			const int at = of[k].step > 0 ? i : of[k].n - 1 - i;
			buf_printf(&b, "s%d: {box: {x: [%d, %d]}, count: 3, minus: ", at, at, 9999 - at);
			buf_printf(&b, of[k].minus, at + 1, at + 1);
			buf_puts(&b, "}\n");
		}
		buf_printf(&b, "s%d: {box: {x: [4000, 5000]}}", of[k].n);
		assert_int_equal(read_text(b.data, &p), E_CONFIG);
		assert_non_null(strstr(err_get(0)->text, of[k].message));
		buf_release(&b);
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

/* --- records --- */

static const struct strings no_inputs;

/* Two samples of five sensors: x and u are channels of the input, k is measured elsewhere. */
static void write_sensors(void)
{
	static const char *const names[] = { "x", "u" };
	static const struct record_array extra[] = {
		{ .dtype = DTYPE_F64, .shape = { 1, { 5 } }, .role = RECORD_EXTRA, .name = "t" },
		{ .dtype = DTYPE_F32, .shape = { 1, { 3 } }, .role = RECORD_EXTRA, .name = "k" },
	};
	const struct record_info info = {
		.input = { .dtype = DTYPE_F32, .shape = { 2, { 2, 5 } }, .channels = names },
		.target = record_no_target(), .mask = -1, .ignore = RECORD_NO_IGNORE,
		.nextra = 2, .extra = extra,
	};
	struct record_writer *w;
	io_input_forget(RECORD);
	assert_int_equal(record_create(&w, RECORD, &info, 1), 0);
	for (int s = 0; s < 2; s++) {
		float input[10], k[3] = { 0 };
		double t[5];
		for (int i = 0; i < 5; i++) {
			input[i] = (float)(10 * s + i);
			input[5 + i] = (float)(100 + 10 * s + i);
			t[i] = 0.1 * (10 * s + i);
		}
		assert_int_equal(record_add(w, &(struct record_sample){
			.data = (const void *const[]){ input, NULL, t, k } }), 0);
	}
	assert_int_equal(record_commit(w), 0);
}

/* u (2, 3) on x of 2 and t of 3 values. */
static void write_grid(void)
{
	static const char *const name[] = { "u" };
	static const double x[] = { -1, 1 }, t[] = { 0, 0.25, 0.5 };
	static const struct axis axis[] = { { .n = 1 }, { .name = "x", .n = 2, .values = x },
		{ .name = "t", .n = 3, .values = t } };
	const struct record_info info = {
		.input = { .dtype = DTYPE_F64, .shape = { 3, { 1, 2, 3 } }, .channels = name },
		.target = record_no_target(), .mask = -1, .ignore = RECORD_NO_IGNORE,
		.axes = { .n = 3, .axis = axis },
	};
	struct record_writer *w;
	io_input_forget(RECORD);
	assert_int_equal(record_create(&w, RECORD, &info, 1), 0);
	assert_int_equal(record_append(w, (const double[]){ 1, 2, 3, 4, 5, 6 }, NULL), 0);
	assert_int_equal(record_commit(w), 0);
}

static void records(void **state)
{
	struct points p;
	double x[20], u[10];
	const struct point_set *s;
	write_sensors();
	assert_int_equal(read_text("inside: {box: {t: [0, 1], x: [0, 1]}, count: 5}\n"
	                           "all: {record: " RECORD "}\n"
	                           "some: {record: " RECORD ", count: 4, resample: 10}\n", &p), 0);
	assert_int_equal(points_open(a, &p, &no_inputs), 0);
	s = points_find(&p, "all");
	assert_true(s->count == 10 && s->naxes == 2 && s->nvalues == 1);
	assert_string_equal(s->axis[0], "t");
	assert_string_equal(s->values[0].name, "u");
	assert_int_equal(points_draw(s, 1, 5, 2, 7, x, NULL), 0);
	points_values(s, 0, 1, 5, 2, 7, u);
	for (int i = 0; i < 7; i++) {
		const int at = i + 2 < 5 ? i + 2 : i + 7;
		assert_true(x[2 * i] == 0.1 * at && x[2 * i + 1] == at && u[i] == 100 + at);
	}
	/* Five draws of four have each point twice. */
	s = points_find(&p, "some");
	int seen[10] = { 0 };
	for (int k = 0; k < 5; k++) {
		assert_int_equal(points_draw(s, 1, k, 0, 4, x, NULL), 0);
		points_values(s, 0, 1, k, 0, 4, u);
		for (int i = 0; i < 4; i++) {
			const int at = (int)x[2 * i + 1];
			assert_true(u[i] == 100 + at);
			seen[at < 5 ? at : at - 5]++;
		}
	}
	for (int i = 0; i < 10; i++)
		assert_int_equal(seen[i], 2);
}

static void grid_records(void **state)
{
	static const char *const name[] = { "t", "x" };
	const struct strings inputs = { .n = 2, .v = name };
	struct points p;
	double x[12], u[6];
	write_grid();
	assert_int_equal(read_text("{s: {record: " RECORD "}}", &p), 0);
	assert_int_equal(points_open(a, &p, &inputs), 0);
	assert_int_equal(p.set[0].count, 6);
	assert_int_equal(points_draw(&p.set[0], 1, 0, 0, 6, x, NULL), 0);
	points_values(&p.set[0], 0, 1, 0, 0, 6, u);
	for (int i = 0; i < 6; i++)
		assert_true(x[2 * i] == 0.25 * (i % 3) && x[2 * i + 1] == (i < 3 ? -1 : 1) &&
		            u[i] == i + 1);
}

/* Six realizations of u at four places and of k at two; moved: the last one is elsewhere. */
static void write_realizations(bool moved)
{
	static const struct record_array extra[] = {
		{ .dtype = DTYPE_F64, .shape = { 1, { 4 } }, .role = RECORD_EXTRA, .name = "u_sensors" },
		{ .dtype = DTYPE_F64, .shape = { 1, { 4 } }, .role = RECORD_EXTRA, .name = "u_sensors_x" },
		{ .dtype = DTYPE_F64, .shape = { 1, { 2 } }, .role = RECORD_EXTRA, .name = "k_sensors" },
		{ .dtype = DTYPE_F64, .shape = { 1, { 2 } }, .role = RECORD_EXTRA, .name = "k_sensors_x" },
	};
	const struct record_info info = {
		.input = { .dtype = DTYPE_F64, .shape = { 2, { 1, 3 } }, .name = "u" },
		.target = record_no_target(), .mask = -1, .ignore = RECORD_NO_IGNORE,
		.nextra = 4, .extra = extra,
	};
	struct record_writer *w;
	io_input_forget(RECORD);
	assert_int_equal(record_create(&w, RECORD, &info, 1), 0);
	for (int s = 0; s < 6; s++) {
		const double input[3] = { 0 }, u[4] = { 10 * s, 10 * s + 1, 10 * s + 2, 10 * s + 3 },
		             x[4] = { -1, 0, 0.5, moved && s == 5 ? 2 : 1 }, k[2] = { -s, -s - 100 },
		             kx[2] = { 0, 1 };
		assert_int_equal(record_add(w, &(struct record_sample){
			.data = (const void *const[]){ input, NULL, u, x, k, kx } }), 0);
	}
	assert_int_equal(record_commit(w), 0);
}

#define SET(name, more) name ": {record: " RECORD ", " more "}\n"

/* Samples are realizations: sets of one record have the same ones, all of which come before one
 * comes again; all points of each, or those within an interval. */
static void realizations(void **state)
{
	static const char *const name[] = { "x" };
	const struct strings inputs = { .n = 1, .v = name };
	struct points p;
	double x[8], u[12], some[6], k[6];
	int seen[6] = { 0 };
	write_realizations(false);
	assert_int_equal(read_text(SET("us", "sensors: u, realizations: 3, resample: 10")
	                           SET("some", "sensors: u, realizations: 3, resample: 10, within: {x: "
	                               "[0, 0.5]}")
	                           SET("ks", "sensors: k, realizations: 3, resample: 10")
	                           SET("all", "sensors: u, realizations: 6"), &p), 0);
	assert_int_equal(points_open(a, &p, &inputs), 0);
	assert_true(p.set[0].count == 4 && p.set[0].samples == 6 && p.set[0].nvalues == 1);
	assert_string_equal(p.set[0].values[0].name, "u");
	assert_true(p.set[1].count == 2 && p.set[2].count == 2);
	assert_int_equal(points_draw(&p.set[0], 1, 0, 1, 3, x, NULL), 0);
	assert_true(x[0] == 0 && x[1] == 0.5 && x[2] == 1);
	assert_int_equal(points_draw(&p.set[1], 1, 0, 0, 2, x, NULL), 0);
	assert_true(x[0] == 0 && x[1] == 0.5);
	for (int draw = 0; draw < 4; draw++) {
		points_values(&p.set[0], 0, 1, draw, 0, 3, u);
		points_values(&p.set[1], 0, 1, draw, 0, 2, some);
		points_values(&p.set[1], 0, 1, draw, 2, 1, some + 4);
		points_values(&p.set[2], 0, 1, draw, 0, 3, k);
		for (int r = 0; r < 3; r++) {
			const int of = (int)u[4 * r] / 10;
			seen[of]++;
			assert_true(u[4 * r + 3] == 10 * of + 3);
			assert_true(k[2 * r] == -of && k[2 * r + 1] == -of - 100);
			assert_true(some[2 * r] == 10 * of + 1 && some[2 * r + 1] == 10 * of + 2);
		}
		for (int i = 0; i < 6 && draw % 2; i++)
			assert_int_equal(seen[i], (draw + 1) / 2);
	}
	points_values(&p.set[3], 0, 1, 0, 4, 2, u);
	assert_true(u[0] == 40 && u[7] == 53);
}

static void bad_realizations(void **state)
{
	static const char *const name[] = { "x" };
	const struct strings inputs = { .n = 1, .v = name };
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ SET("s", "sensors: u, realizations: 7"), "has 6 realizations, and a draw of 's' has 7" },
		{ SET("s", "sensors: u, realizations: 6, resample: 1"), "leave out 'resample'" },
		{ SET("s", "sensors: v, realizations: 3"), "has no arrays 'v_sensors', 'v_sensors_x'" },
		{ SET("s", "sensors: u, realizations: 3, within: {y: [0, 1]}"), "'y' is no coordinate" },
		{ SET("s", "sensors: u, realizations: 3, within: {x: [3, 4]}"),
		  "has 0 points within these intervals" },
		{ SET("s", "sensors: u, realizations: 3, resample: 1") SET("t", "sensors: k, "
		  "realizations: 3"), "'s' and 't' have the same number of realizations" },
	};
	struct points p;
	write_realizations(false);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(read_text(bad[i].text, &p), 0);
		assert_error(points_open(a, &p, &inputs), E_CONFIG, bad[i].message);
	}
	write_realizations(true);
	assert_int_equal(read_text(SET("s", "sensors: u, realizations: 3"), &p), 0);
	assert_error(points_open(a, &p, &inputs), E_CONFIG,
	             "at different places: 'x' of sample 5 is another than that of the first");
}

static void bad_records(void **state)
{
	struct points p;
	assert_int_equal(read_text("{s: {record: nowhere.dlx}}", &p), 0);
	assert_error(points_open(a, &p, &no_inputs), E_NOINPUT, "nowhere.dlx");
	write_sensors();
	assert_int_equal(read_text("{i: {box: {y: [0, 1]}, count: 5}, s: {record: " RECORD "}}",
	                           &p), 0);
	assert_error(points_open(a, &p, &no_inputs), E_CONFIG,
	             "has no array of coordinates: it has 'x', 'u', 't', 'k'; expected one of 'y'");
	assert_int_equal(read_text("{i: {box: {k: [0, 1], x: [0, 1]}, count: 5}, s: {record: "
	                           RECORD "}}", &p), 0);
	assert_error(points_open(a, &p, &no_inputs), E_CONFIG, "'x' of '" RECORD "' is not of the same "
	             "points as 'k'");
	assert_int_equal(read_text("{i: {box: {x: [0, 1]}, count: 5}, s: {record: " RECORD
	                           ", count: 11}}", &p), 0);
	assert_error(points_open(a, &p, &no_inputs), E_CONFIG,
	             "has 10 points, and a draw of 's' has 11");
}

static int clean(void **state)
{
	remove(RECORD);
	return teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sections, setup, teardown),
		cmocka_unit_test_setup_teardown(mistakes_have_places, setup, teardown),
		cmocka_unit_test_setup_teardown(nested, setup, teardown),
		cmocka_unit_test_setup_teardown(all_mistakes, setup, teardown),
		cmocka_unit_test_setup_teardown(records, setup, clean),
		cmocka_unit_test_setup_teardown(grid_records, setup, clean),
		cmocka_unit_test_setup_teardown(bad_records, setup, clean),
		cmocka_unit_test_setup_teardown(realizations, setup, clean),
		cmocka_unit_test_setup_teardown(bad_realizations, setup, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
