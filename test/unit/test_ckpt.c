/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checkpoint store when nothing goes wrong: what is saved comes back bit by bit, the right
 * versions stay, and versions are found by the names users give them. */
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt_fixture.h"

static const struct ckpt_config keep3 = { .keep = { 3, 1, 0 }, .compression = 1 };

static void test_round_trip(void **state)
{
	const char *dir = *state;
	struct ckpt_version *v;
	assert_int_equal(fixture_save(dir, 7, 7, 3), 0);
	assert_int_equal(ckpt_load(&v, dir, "auto"), 0);
	assert_non_null(v);
	assert_true(fixture_equal(v));
	assert_int_equal(strncmp(ckpt_version_id(v), "000000000007-", 13), 0);
	assert_null(ckpt_version_parent(v));
	assert_null(ckpt_version_find(v, "conv"));
	assert_null(ckpt_version_scalar(v, "conv.weight"));
	ckpt_version_free(v);
	assert_int_equal(fixture_leftovers(dir), 0);
}

/* No metric, no scalars, no tensors of one kind. */
static void test_bare(void **state)
{
	const float x[2] = { 1, 2 };
	struct ckpt_tensor t = { "x", DTYPE_F32, shape_of(1, (int64_t[]){ 2 }), x, true };
	struct ckpt_state bare = { .metric = NAN, .ntensors = 1, .tensor = &t };
	struct ckpt_version *v;
	struct ckpt_store *s;
	assert_int_equal(ckpt_open(&s, *state, &keep3, NULL), 0);
	assert_int_equal(ckpt_save(s, &bare), 0);
	assert_int_equal(ckpt_wait(s), 0);
	ckpt_close(s);
	assert_int_equal(ckpt_load(&v, *state, "0"), 0);
	assert_int_equal(ckpt_version_state(v)->ntensors, 1);
	assert_int_equal(ckpt_version_state(v)->nscalars, 0);
	assert_true(isnan(ckpt_version_state(v)->metric));
	assert_null(ckpt_version_state(v)->metric_name);
	assert_memory_equal(ckpt_version_find(v, "x")->data, x, sizeof x);
	ckpt_version_free(v);
}

/* Tensors of several chunks, the last of them short. */
static void test_large(void **state)
{
	size_t n = 3000001;
	float *x = mem_alloc(n * sizeof *x);
	struct ckpt_tensor t = { "x", DTYPE_F32, shape_of(1, (int64_t[]){ (int64_t)n }), x, true };
	struct ckpt_state large = { .step = 1, .metric = NAN, .ntensors = 1, .tensor = &t };
	struct ckpt_version *v;
	struct ckpt_store *s;
	for (size_t i = 0; i < n; i++)
		x[i] = (float)(i * 2654435761u % 1000003);
	assert_int_equal(ckpt_open(&s, *state, &keep3, NULL), 0);
	assert_int_equal(ckpt_save(s, &large), 0);
	ckpt_close(s);
	assert_int_equal(ckpt_load(&v, *state, "auto"), 0);
	assert_memory_equal(ckpt_version_find(v, "x")->data, x, n * sizeof *x);
	ckpt_version_free(v);
	mem_free(x);
}

static void test_none(void **state)
{
	struct ckpt_version *v = (struct ckpt_version *)(uintptr_t)1;
	assert_int_equal(ckpt_load(&v, *state, "auto"), 0);
	assert_null(v);
	assert_int_equal(ckpt_load(&v, "/no/such/folder", "auto"), 0);
	assert_null(v);
	assert_int_equal(ckpt_load(&v, *state, "last"), E_NOINPUT);
	assert_int_equal(ckpt_load(&v, *state, "best"), E_NOINPUT);
	assert_int_equal(ckpt_load(&v, *state, "0000"), E_NOINPUT);
	assert_int_equal(ckpt_load(&v, *state, "/no/such/version"), E_NOINPUT);
	assert_int_equal(ckpt_load(&v, "/", *state), E_DATA);
}

static void load_as(const char *dir, const char *which, int64_t step)
{
	struct ckpt_version *v;
	if (ckpt_load(&v, dir, which) < 0)
		fail_msg("%s: %s", which, err_get(0)->text);
	assert_int_equal(ckpt_version_state(v)->step, step);
	assert_true(fixture_equal(v));
	ckpt_version_free(v);
}

static void test_keep(void **state)
{
	struct ckpt_version *v;
	char id[8][64];

	/* The metric is best at step 5. */
	assert_int_equal(fixture_save(*state, 1, 9, 3), 0);
	assert_int_equal(fixture_ids(*state, id, 8), 4);
	assert_int_equal(strncmp(id[0], "000000000005-", 13), 0);
	assert_int_equal(strncmp(id[1], "000000000007-", 13), 0);
	assert_int_equal(strncmp(id[2], "000000000008-", 13), 0);
	assert_int_equal(strncmp(id[3], "000000000009-", 13), 0);
	load_as(*state, "best", 5);
	load_as(*state, "last", 9);
	/* The parent; where it was dropped what is before; before the first nothing. */
	assert_int_equal(ckpt_look_before(&v, *state, id[3]), 0);
	assert_string_equal(ckpt_version_id(v), id[2]);
	ckpt_version_free(v);
	assert_int_equal(ckpt_look_before(&v, *state, id[1]), 0);
	assert_string_equal(ckpt_version_id(v), id[0]);
	ckpt_version_free(v);
	assert_int_equal(ckpt_look_before(&v, *state, id[0]), 0);
	assert_null(v);
	assert_int_equal(ckpt_look(&v, *state, "best"), 0);
	assert_int_equal(ckpt_version_state(v)->step, 5);
	assert_int_equal(ckpt_version_state(v)->ntensors, 0);
	assert_true(ckpt_version_state(v)->nscalars > 0);
	ckpt_version_free(v);
	assert_int_equal(ckpt_load(&v, *state, "auto"), 0);
	assert_true(fixture_equal(v));
	assert_int_equal(strncmp(ckpt_version_parent(v), "000000000008-", 13), 0);
	ckpt_version_free(v);
	/* One that goes back and on from there is newer than what came further. */
	assert_int_equal(fixture_save(*state, 6, 6, 3), 0);
	load_as(*state, "auto", 6);
	assert_int_equal(fixture_ids(*state, id, 8), 4);
	assert_int_equal(strncmp(id[2], "000000000008-", 13), 0);
	assert_int_equal(fixture_save(*state, 6, 6, 1), 0);
	assert_int_equal(fixture_ids(*state, id, 8), 2);
	assert_int_equal(strncmp(id[0], "000000000005-", 13), 0);
	assert_int_equal(strncmp(id[1], "000000000006-", 13), 0);
	assert_int_equal(ckpt_load(&v, *state, "auto"), 0);
	assert_string_equal(ckpt_version_id(v), id[1]);
	ckpt_version_free(v);
}

/* Saving a state that is there already makes a second version. */
static void test_same_again(void **state)
{
	char id[4][64];
	struct ckpt_version *v;
	assert_int_equal(fixture_save(*state, 4, 4, 3), 0);
	assert_int_equal(fixture_save(*state, 4, 4, 3), 0);
	assert_int_equal(fixture_ids(*state, id, 4), 2);
	assert_int_equal(ckpt_load(&v, *state, "4"), E_USAGE);
	assert_non_null(strstr(err_get(0)->text, id[0]));
	assert_non_null(strstr(err_get(0)->text, id[1]));
}

static void test_names(void **state)
{
	const char *dir = *state;
	struct ckpt_version *v;
	char id[8][64], word[64], *path;
	assert_int_equal(fixture_save(dir, 4, 4, 9), 0);
	assert_int_equal(fixture_save(dir, 40, 41, 9), 0);
	assert_int_equal(fixture_ids(dir, id, 8), 3);
	load_as(dir, id[0], 4);
	load_as(dir, "4", 4);
	load_as(dir, "000000000040", 40);
	load_as(dir, "41-", 41);
	load_as(dir, "000000000041-", 41);
	snprintf(word, sizeof word, "%.16s", id[1]);
	load_as(dir, word, 40);
	load_as(dir, id[2] + 10, 41);
	path = fixture_manifest(dir, id[1]);
	load_as("/no/such/folder", path, 40);
	mem_free(path);
	load_as(dir, "0004", 4);
	assert_int_equal(ckpt_load(&v, dir, "0000000000"), E_USAGE);
	for (int i = 0; i < 3; i++)
		assert_non_null(strstr(err_get(0)->text, id[i]));
	assert_int_equal(ckpt_load(&v, dir, "400"), E_NOINPUT);
	assert_int_equal(ckpt_load(&v, dir, "41-xyz"), E_NOINPUT);
	assert_int_equal(ckpt_load(&v, dir, ""), E_NOINPUT);
}

/* A store that was moved is as good; a version of it is named by its manifest too. */
static void test_moved(void **state)
{
	char id[2][64], *from = fixture_path(*state, "here", NULL);
	char *to = fixture_path(*state, "there", NULL);
	struct ckpt_version *v;
	assert_int_equal(fixture_save(from, 4, 5, 9), 0);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(fixture_ids(to, id, 2), 2);
	char *manifest = fixture_manifest(to, id[0]);
	assert_int_equal(ckpt_load(&v, "nowhere", manifest), 0);
	assert_true(fixture_equal(v));
	assert_string_equal(ckpt_version_id(v), id[0]);
	ckpt_version_free(v);
	assert_int_equal(ckpt_load(&v, to, "auto"), 0);
	assert_string_equal(ckpt_version_id(v), id[1]);
	ckpt_version_free(v);
	assert_int_equal(ckpt_load(&v, from, "auto"), 0);
	assert_null(v);
	mem_free(manifest);
	mem_free(from);
	mem_free(to);
}

static void test_poll(void **state)
{
	struct ckpt_store *s;
	struct ckpt_done done;
	struct fixture f;
	assert_int_equal(ckpt_open(&s, *state, &keep3, NULL), 0);
	assert_false(ckpt_poll(s, &done));
	ckpt_set_parent(s, "000000000001-0badcafe");
	for (int step = 2; step <= 6; step++) {
		assert_int_equal(ckpt_wait(s), 0);   /* it borrows f */
		fixture_make(&f, step);
		assert_int_equal(ckpt_save(s, &f.state), 0);
	}
	assert_int_equal(ckpt_wait(s), 0);
	assert_true(ckpt_idle(s));
	for (int step = 2; step <= 6; step++) {
		assert_true(ckpt_poll(s, &done));
		assert_int_equal(done.step, step);
		assert_true(done.bytes > 500 && done.bytes < 100000);
		assert_true(done.seconds > 0 && done.seconds < 60);
	}
	assert_false(ckpt_poll(s, &done));
	ckpt_close(s);
}

static void test_parent(void **state)
{
	struct ckpt_store *s;
	struct ckpt_version *v;
	struct fixture f;
	assert_int_equal(ckpt_open(&s, *state, &keep3, NULL), 0);
	ckpt_set_parent(s, "000000000001-0badcafe");
	fixture_make(&f, 2);
	assert_int_equal(ckpt_save(s, &f.state), 0);
	ckpt_close(s);
	assert_int_equal(ckpt_load(&v, *state, "auto"), 0);
	assert_string_equal(ckpt_version_parent(v), "000000000001-0badcafe");
	ckpt_version_free(v);
}

/* One process at a time; a folder made on the way; a file in the way. */
static void test_open(void **state)
{
	char *deep = fixture_path(*state, "a/b", "c"), *file = fixture_path(*state, "file", NULL);
	struct ckpt_store *s, *t;
	assert_int_equal(ckpt_open(&s, deep, &keep3, NULL), 0);
	assert_int_equal(ckpt_open(&t, deep, &keep3, NULL), E_UNAVAILABLE);
	assert_null(t);
	ckpt_close(s);
	assert_int_equal(ckpt_open(&s, deep, &keep3, NULL), 0);
	ckpt_close(s);
	assert_int_equal(io_write_file(file, "x", 1), 0);
	assert_int_equal(ckpt_open(&s, file, &keep3, NULL), E_CANTCREATE);
	assert_non_null(strstr(err_get(err_count() - 1)->text, file));
	mem_free(deep);
	mem_free(file);
}

static void test_due(void **unused)
{
	struct ckpt_config c = { .every = { .steps = 10, .minutes = 1, .seconds = 30, .epochs = 2 } };
	struct ckpt_config never = { .compression = 1 };
	assert_true(ckpt_due(&c.every, &(struct ckpt_clock){ 20, 1, false, 1 }));
	assert_false(ckpt_due(&c.every, &(struct ckpt_clock){ 21, 1, false, 1 }));
	assert_false(ckpt_due(&c.every, &(struct ckpt_clock){ 21, 1, false, 89.9 }));
	assert_true(ckpt_due(&c.every, &(struct ckpt_clock){ 21, 1, false, 90 }));
	assert_true(ckpt_due(&c.every, &(struct ckpt_clock){ 21, 2, true, 1 }));
	assert_false(ckpt_due(&c.every, &(struct ckpt_clock){ 21, 2, false, 1 }));
	assert_false(ckpt_due(&c.every, &(struct ckpt_clock){ 21, 3, true, 1 }));
	assert_false(ckpt_due(&never.every, &(struct ckpt_clock){ 20, 2, true, 1e9 }));
}

static int read_config(const char *text, struct ckpt_config *c, struct ynode **written)
{
	static struct arena *a;
	struct ynode *root;
	arena_free(a);
	a = arena_new();
	assert_int_equal(ytree_parse(a, "x.yaml", text, &root), 0);
	TRY(schema_read(a, root, ckpt_fields, "section 'checkpoint'", NULL, c));
	*written = schema_write(a, ckpt_fields, c);
	return 0;
}

static void test_config(void **unused)
{
	static const struct {
		const char *text;
		struct ckpt_config want;
	} cases[] = {
		{ "{}", { .every = { .minutes = 10 }, .keep = { 3, 1, 0 }, .compression = 1 } },
		{ "every: {minutes: 10}\nkeep: {last: 3, best: 1}\ncompression: 1",
		  { .every = { .minutes = 10 }, .keep = { 3, 1, 0 }, .compression = 1 } },
		{ "{every: {steps: 100}}",
		  { .every = { .steps = 100 }, .keep = { 3, 1, 0 }, .compression = 1 } },
		{ "{every: {epochs: 2, seconds: 1.5}, keep: {best: 0, every: 50}}",
		  { .every = { .seconds = 1.5, .epochs = 2 }, .keep = { 3, 0, 50 }, .compression = 1 } },
		{ "{every: {failures: 3h}, plain: weights}",
		  { .every = { .failures = 10800 }, .keep = { 3, 1, 0 }, .compression = 1,
		    .plain = PLAIN_WEIGHTS } },
		{ "{every: null, compression: 19}", { .keep = { 3, 1, 0 }, .compression = 19 } },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct buf text = BUF_INIT;
		struct ckpt_config c, want = cases[i].want;
		struct ynode *written;
		want.reserve = 60;
		for (int pass = 0; pass < 2; pass++) {   /* as given, and as written back */
			memset(&c, 0xee, sizeof c);
			assert_int_equal(read_config(pass ? text.data : cases[i].text, &c, &written), 0);
			assert_memory_equal(&c, &want, offsetof(struct ckpt_config, plain));
			assert_int_equal(c.plain, want.plain);
			buf_clear(&text);
			ytree_write(&text, written);
		}
		buf_release(&text);
	}
}

static void test_bad_config(void **unused)
{
	static const char *const bad[] = {
		"{every: {step: 1}}", "{every: {steps: -1}}", "{every: 5}", "{keep: {last: 0}}",
		"{compression: 20}", "{compression: 0}", "{every: {minutes: often}}", "{keeps: 1}",
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct ckpt_config c;
		struct ynode *written;
		assert_int_equal(read_config(bad[i], &c, &written), E_CONFIG);
		assert_int_equal(err_count(), 1);
		err_clear();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_bare, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_large, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_none, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_keep, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_same_again, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_names, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_moved, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_poll, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_parent, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_open, fixture_setup, fixture_teardown),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_bad_config),
	};
	log_init("test_ckpt", 0, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
