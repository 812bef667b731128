/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transform `symmetry` against all symmetries of a cube and of a square, written down as signed
 * permutation matrices: each comes, about as often as any other, nothing else does, together they
 * are a group, and the target goes along. */
#include "cases.h"
#include "base/io.h"
#include "data/transform.h"
#include "data_fixture.h"

#define MOST   (37 * 37 * 37)
#define DRAWS  2400
#define ALL    48

static const char *const path = "test_symmetry.tmp.dlx";
static struct arena *arena;

/* A chain on a set of one sample. Element i of channel c is (i + c) modulo 251 in the input, and
 * i + 100 (c + 1) in a target that has the same places. */
struct subject {
	struct dataset *data;
	struct transform_chain *chain;
	struct transform_scratch *scratch;
	enum dtype type, target_type;
	int64_t count, target_count;
	char input[2 * MOST * 4], target[2 * MOST * 4];
	char x[2 * MOST * 4], t[2 * MOST * 4];
};

static void make_set(struct subject *u, enum dtype type, struct shape input, enum dtype target_type,
                     struct shape target)
{
	const struct record_info info = {
		.input = { type, input, NULL, 0, NULL }, .target = { target_type, target, NULL, 0, NULL },
		.mask = -1, .ignore = RECORD_NO_IGNORE,
	};
	const int64_t n = shape_count(&input), points = n / input.d[0];
	struct record_writer *w;
	u->type = type;
	u->target_type = target_type;
	u->count = n;
	u->target_count = shape_count(&target);
	for (int64_t i = 0; i < n; i++)
		dtype_set(type, u->input, i, (double)((i % points + i / points) % 251));
	for (int64_t i = 0; i < u->target_count; i++)
		dtype_set(target_type, u->target, i, (double)(i % points + 100 * (i / points + 1)));
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 1), 0);
	assert_int_equal(record_append(w, u->input, u->target), 0);
	assert_int_equal(record_commit(w), 0);
	u->data = fixture_open(&path, 1);
}

static int plan(struct subject *u, const char *yaml, bool training, bool stored)
{
	struct transform_options o = {
		.data = u->data, .training = training, .seed = 7,
		.target_dtype = dtype_is_float(u->target_type) ? DTYPE_F32 : DTYPE_I32,
		.stored_input = stored, .stored_target = stored,
	};
	struct ynode *root;
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &root), 0);
	o.list = root;
	TRY(transform_chain_new(&u->chain, &o));
	u->scratch = transform_scratch_new(u->chain);
	return 0;
}

static void run(struct subject *u, int64_t epoch)
{
	const int rc =
		transform_run(u->chain, u->scratch, epoch, 0, u->input, u->target, u->x, u->t);
	assert_int_equal(rc, 0);
}

static void end_chain(struct subject *u)
{
	transform_scratch_free(u->scratch);
	transform_chain_free(u->chain);
}

static void end(struct subject *u)
{
	end_chain(u);
	dataset_free(u->data);
}

/* --- all of them, the long way --- */

/* Row k of a matrix has one entry, sign[k] in column axis[k]. */
struct matrix {
	int axis[3], sign[3];
};

static int determinant(const struct matrix *m)
{
	int d = m->sign[0] * m->sign[1] * m->sign[2];
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < i; j++)
			if (m->axis[j] > m->axis[i])
				d = -d;
	return d;
}

/* Those of the last nspatial axes; returns how many. */
static int matrices(int nspatial, struct matrix out[ALL])
{
	int n = 0;
	for (int code = 0; code < 27 * 8; code++) {
		const int a = code / 8;
		struct matrix m = { .axis = { a / 9, a / 3 % 3, a % 3 } };
		bool good = m.axis[0] != m.axis[1] && m.axis[1] != m.axis[2] && m.axis[0] != m.axis[2];

		for (int k = 0; k < 3; k++) {
			m.sign[k] = code >> k & 1 ? -1 : 1;
			good = good && (k >= 3 - nspatial || (m.axis[k] == k && m.sign[k] == 1));
		}
		if (good)
			out[n++] = m;
	}
	return n;
}

/* The source of each point when the middle of the cube stays where it is. */
static void sources(const struct matrix *m, const int64_t d[3], int64_t *from)
{
	for (int64_t i = 0; i < d[0] * d[1] * d[2]; i++) {
		const int64_t at[3] = { i / (d[1] * d[2]), i / d[2] % d[1], i % d[2] };
		int64_t source[3];

		for (int k = 0; k < 3; k++) {
			const int64_t doubled = m->sign[k] * (2 * at[k] - (d[k] - 1));

			source[m->axis[k]] = (doubled + d[m->axis[k]] - 1) / 2;
		}
		from[i] = (source[0] * d[1] + source[1]) * d[2] + source[2];
	}
}

/* Whether out is in, moved so: channels of `points` elements each. */
static bool moved(const void *out, enum dtype type, const void *in, enum dtype in_type,
                  int64_t count, const int64_t *from, int64_t points)
{
	for (int64_t i = 0; i < count; i++)
		if (dtype_get(type, out, i) != dtype_get(in_type, in,
		                                         i / points * points + from[i % points]))
			return false;
	return true;
}

/* The symmetry that the last run took. It must be of exactly one, in all channels, and the target's
 * if that moves. */
static int which(const struct subject *u, const int64_t d[3], const struct matrix *m, int n,
                 bool target)
{
	static int64_t from[MOST];
	const struct transform_rest *r = transform_rest(u->chain);
	const int64_t points = d[0] * d[1] * d[2];
	int found = -1;
	for (int i = 0; i < n; i++) {
		sources(&m[i], d, from);
		if (!moved(u->x, r->input, u->input, u->type, u->count, from, points))
			continue;
		assert_int_equal(found, -1);
		found = i;
		if (target)
			assert_true(moved(u->t, r->target, u->target, u->target_type, u->target_count, from,
			                  points));
	}
	assert_int_not_equal(found, -1);
	return found;
}

static int find(const struct matrix *m, int n, const struct matrix *wanted)
{
	for (int i = 0; i < n; i++)
		if (memcmp(&m[i], wanted, sizeof *wanted) == 0)
			return i;
	return -1;
}

/* --- the tests --- */

static const struct shape cube = { 4, { 2, 3, 3, 3 } }, cube_fields = { 4, { 2, 3, 3, 3 } },
                          square = {3, {2, 5, 5}}, square_labels = {2, {5, 5}}, vector = {1, {4}};

/* How often each of n symmetries comes. */
static void count(struct subject *u, const int64_t d[3], const struct matrix *m, int n, bool target,
                  int seen[ALL])
{
	memset(seen, 0, ALL * sizeof *seen);
	for (int64_t epoch = 0; epoch < DRAWS; epoch++) {
		run(u, epoch);
		seen[which(u, d, m, n, target)]++;
	}
}

/* The symmetries that are wanted have a fair share each; of rotations alone, the others have
 * none. */
static void fair(const struct matrix *m, int n, bool rotations, const int seen[ALL])
{
	const int share = DRAWS / (rotations ? n / 2 : n);
	for (int i = 0; i < n; i++) {
		const bool wanted = !rotations || determinant(&m[i]) == 1;

		if (wanted ? seen[i] < share / 2 || seen[i] > share * 3 / 2 : seen[i] > 0)
			fail_msg("symmetry %d comes %d times of %d", i, seen[i], DRAWS);
	}
}

static void test_cube(void **state)
{
	static const int64_t d[3] = { 3, 3, 3 };
	static struct subject u;
	struct matrix m[ALL];
	int seen[ALL];
	const int n = matrices(3, m);
	assert_int_equal(n, 48);
	make_set(&u, DTYPE_F32, cube, DTYPE_F32, cube_fields);
	assert_int_equal(plan(&u, "[symmetry]", true, false), 0);
	count(&u, d, m, n, true, seen);
	fair(m, n, false, seen);
	end_chain(&u);
	assert_int_equal(plan(&u, "[{symmetry: {reflections: false}}]", true, false), 0);
	count(&u, d, m, n, true, seen);
	fair(m, n, true, seen);
	end(&u);
}

static void test_square(void **state)
{
	static const int64_t d[3] = { 1, 5, 5 };
	static struct subject u;
	struct matrix m[ALL];
	int seen[ALL];
	const int n = matrices(2, m);
	assert_int_equal(n, 8);
	make_set(&u, DTYPE_F32, square, DTYPE_U8, square_labels);
	assert_int_equal(plan(&u, "[symmetry]", true, false), 0);
	count(&u, d, m, n, true, seen);
	fair(m, n, false, seen);
	end_chain(&u);
	assert_int_equal(plan(&u, "[{symmetry: {reflections: false}}]", true, false), 0);
	count(&u, d, m, n, true, seen);
	fair(m, n, true, seen);
	end(&u);
}

/* Two in a row are one of the 48 again, all 48 of them, by the matrices and by what is seen. */
static void test_group(void **state)
{
	static const int64_t d[3] = { 3, 3, 3 };
	static struct subject u;
	struct matrix m[ALL];
	int seen[ALL];
	const int n = matrices(3, m);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			struct matrix p;

			for (int k = 0; k < 3; k++) {
				p.axis[k] = m[j].axis[m[i].axis[k]];
				p.sign[k] = m[i].sign[k] * m[j].sign[m[i].axis[k]];
			}
			assert_int_not_equal(find(m, n, &p), -1);
		}
	make_set(&u, DTYPE_F32, cube, DTYPE_F32, cube_fields);
	assert_int_equal(plan(&u, "[symmetry, symmetry]", true, false), 0);
	count(&u, d, m, n, true, seen);
	fair(m, n, false, seen);
	end(&u);
}

/* Extents that are no multiple of a tile, elements of each size, batches as stored, labels that
 * move and a vector that does not. */
static void test_large(void **state)
{
	static const enum dtype types[] = { DTYPE_U8, DTYPE_I16, DTYPE_F32 };
	static const int64_t d[3] = { 37, 37, 37 };
	static const struct shape large = { 4, { 2, 37, 37, 37 } }, labels = { 3, { 37, 37, 37 } };
	static struct subject u;
	struct matrix m[ALL];
	const int n = matrices(3, m);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (int kind = 0; kind < 2; kind++) {
			make_set(&u, types[i], large, kind ? DTYPE_F32 : DTYPE_I16, kind ? vector : labels);
			assert_int_equal(plan(&u, "[symmetry]", true, true), 0);
			assert_int_equal(transform_rest(u.chain)->input, types[i]);
			for (int64_t epoch = 0; epoch < 6; epoch++) {
				run(&u, epoch);
				which(&u, d, m, n, kind == 0);
				if (kind)
					assert_memory_equal(u.t, u.target, 4 * sizeof(float));
			}
			end(&u);
		}
}

static void test_only_in_training(void **state)
{
	static struct subject u;
	make_set(&u, DTYPE_F32, cube, DTYPE_F32, cube_fields);
	assert_int_equal(plan(&u, "[symmetry]", false, false), 0);
	for (int64_t epoch = 0; epoch < 20; epoch++) {
		run(&u, epoch);
		assert_memory_equal(u.x, u.input, (size_t)u.count * 4);
		assert_memory_equal(u.t, u.target, (size_t)u.target_count * 4);
	}
	end(&u);
}

static void refuse(struct shape input, const char *yaml, int code, const char *part)
{
	static struct subject u;
	make_set(&u, DTYPE_F32, input, DTYPE_F32, vector);
	expect_error(plan(&u, yaml, true, false), code, part);
	dataset_free(u.data);
}

static void test_refusals(void **state)
{
	refuse((struct shape){ 4, { 1, 4, 4, 5 } }, "[symmetry]", E_SHAPE, "4 x 4 x 5");
	refuse((struct shape){ 4, { 1, 5, 4, 4 } }, "[symmetry]", E_SHAPE, "5 x 4 x 4");
	refuse((struct shape){ 3, { 1, 4, 5 } }, "[symmetry]", E_SHAPE, "have 4 x 5");
	refuse((struct shape){ 3, { 1, 5, 5 } }, "[{crop: [5, 4]}, symmetry]", E_SHAPE, "have 5 x 4");
	refuse((struct shape){ 2, { 1, 4 } }, "[symmetry]", E_SHAPE, "one spatial axis");
	refuse((struct shape){ 1, { 4 } }, "[symmetry]", E_SHAPE, "no spatial axes");
	refuse(square, "[{symmetry: {reflection: false}}]", E_CONFIG, "did you mean 'reflections'");
}

static int start(void **state)
{
	arena = arena_new();
	return 0;
}

static int stop(void **state)
{
	arena_free(arena);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cube),
		cmocka_unit_test(test_square),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_only_in_training),
		cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
