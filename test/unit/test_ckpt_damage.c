/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checkpoint store when things go wrong: damaged files, full disks, killed processes. The rule
 * is always the same: what loads is exactly what was saved, the old version or the new one, and
 * nothing that needs a hand to tidy up is left. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt_fixture.h"

/* Not synced as io_write_file would: thousands of these are written. */
static void put(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Warnings are many. */
static int stderr_kept = -1;

static void quiet(void)
{
	int null = open("/dev/null", O_WRONLY);
	stderr_kept = dup(STDERR_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
}

static void loud(void)
{
	fflush(stderr);
	dup2(stderr_kept, STDERR_FILENO);
	close(stderr_kept);
}

/* The only version of the store: its step is 3. It must be refused, with the file's name, or load
 * as it was saved. E_UNSUPPORTED: a bit of a format's number makes it a later one. */
static void expect_refused_or_whole(const char *dir, const char *id, const char *file,
                                    const char *what, size_t at, bool refused)
{
	struct ckpt_version *v;
	int rc = ckpt_load(&v, dir, id);
	if (rc == 0 && !refused && fixture_equal(v)) {
		ckpt_version_free(v);
		return;
	}
	if ((rc != E_DATA && rc != E_UNSUPPORTED) || v || err_count() == 0) {
		loud();
		fail_msg("%s: %s at %zu: loading '%s' gave %d, '%s'", file, what, at, id, rc,
		         err_count() ? err_get(0)->text : "");
	}
	err_clear();
}

/* Every bit of a manifest or a pack matters. */
static void flip_file(const char *dir, const char *id, const char *path)
{
	struct buf b = BUF_INIT;
	assert_int_equal(io_read_file(path, &b), 0);
	for (size_t i = 0; i < 8 * b.len; i++) {
		b.data[i / 8] = (char)(b.data[i / 8] ^ 1 << i % 8);
		put(path, b.data, b.len);
		expect_refused_or_whole(dir, id, path, "a flipped bit", i, true);
		b.data[i / 8] = (char)(b.data[i / 8] ^ 1 << i % 8);
	}
	put(path, b.data, b.len);
	buf_release(&b);
}

static void cut_file(const char *dir, const char *id, const char *path)
{
	struct buf b = BUF_INIT;
	assert_int_equal(io_read_file(path, &b), 0);
	for (size_t i = 0; i < b.len; i++) {
		put(path, b.data, i);
		expect_refused_or_whole(dir, id, path, "a cut", i, true);
	}
	buf_putc(&b, '\0');
	put(path, b.data, b.len);
	expect_refused_or_whole(dir, id, path, "a byte too many", b.len, true);
	put(path, b.data, b.len - 1);
	buf_release(&b);
}

/* The log is no part of a version, and only counts; run.json says where the store is. */
static void flip_side_file(const char *dir, const char *id, const char *name)
{
	char *path = fixture_path(dir, name, NULL);
	struct buf b = BUF_INIT;
	assert_int_equal(io_read_file(path, &b), 0);
	for (size_t i = 0; i < 8 * b.len; i++) {
		b.data[i / 8] = (char)(b.data[i / 8] ^ 1 << i % 8);
		put(path, b.data, b.len);
		expect_refused_or_whole(dir, id, path, "a flipped bit", i, false);
		expect_refused_or_whole(dir, "auto", path, "a flipped bit", i, false);
		b.data[i / 8] = (char)(b.data[i / 8] ^ 1 << i % 8);
	}
	put(path, b.data, b.len);
	buf_release(&b);
	mem_free(path);
}

static void test_every_bit(void **state)
{
	struct ckpt_version *v;
	char id[1][64];
	assert_int_equal(fixture_save(*state, 3, 3, 1), 0);
	assert_int_equal(fixture_ids(*state, id, 1), 1);
	char *manifest = fixture_manifest(*state, id[0]), *pack = fixture_pack(*state, 3);
	quiet();         /* each damaged pack is a warning */
	flip_file(*state, id[0], manifest);
	flip_file(*state, id[0], pack);
	cut_file(*state, id[0], manifest);
	cut_file(*state, id[0], pack);
	flip_side_file(*state, id[0], "log");
	flip_side_file(*state, id[0], "run.json");
	loud();
	assert_int_equal(ckpt_load(&v, *state, "auto"), 0);
	assert_true(fixture_equal(v));
	ckpt_version_free(v);
	mem_free(manifest);
	mem_free(pack);
}

static void copy_file(const char *from, const char *to)
{
	struct buf b = BUF_INIT;
	assert_int_equal(io_read_file(from, &b), 0);
	put(to, b.data, b.len);
	buf_release(&b);
}

/* The newer version's file replaced by the older one's of its kind, or by one of the other kind. */
static void swap_file(const char *dir, const char *file, const char *by, const char *old,
                      const char *new)
{
	char *keep = fixture_path(dir, "kept-aside", NULL);
	struct ckpt_version *v;
	copy_file(file, keep);
	copy_file(by, file);
	assert_int_equal(ckpt_load(&v, dir, new), E_DATA);
	err_clear();
	assert_int_equal(ckpt_load(&v, dir, "auto"), 0);
	assert_string_equal(ckpt_version_id(v), old);
	assert_true(fixture_equal(v));
	ckpt_version_free(v);
	copy_file(keep, file);
	assert_int_equal(unlink(keep), 0);
	mem_free(keep);
}

static void test_swapped(void **state)
{
	char id[2][64];
	assert_int_equal(fixture_save(*state, 3, 4, 2), 0);
	assert_int_equal(fixture_ids(*state, id, 2), 2);
	char *manifest[2], *pack[2];
	for (int i = 0; i < 2; i++) {
		manifest[i] = fixture_manifest(*state, id[i]);
		pack[i] = fixture_pack(*state, 3 + i);
	}
	quiet();
	swap_file(*state, manifest[1], manifest[0], id[0], id[1]);
	swap_file(*state, manifest[1], pack[1], id[0], id[1]);
	swap_file(*state, pack[1], pack[0], id[0], id[1]);
	swap_file(*state, pack[1], manifest[1], id[0], id[1]);
	loud();
	for (int i = 0; i < 2; i++) {
		mem_free(manifest[i]);
		mem_free(pack[i]);
	}
}

/* Standard error of load_auto, as text. */
static char *warnings_of(const char *dir, int *rc, struct ckpt_version **v)
{
	char *path = fixture_path(dir, ".stderr", NULL), *text;
	struct buf b = BUF_INIT;
	int saved = dup(STDERR_FILENO), fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(fd, STDERR_FILENO);
	*rc = ckpt_load(v, dir, "auto");
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fd);
	assert_int_equal(io_read_file(path, &b), 0);
	unlink(path);
	mem_free(path);
	text = buf_detach(&b);
	return text;
}

static void test_auto(void **state)
{
	struct ckpt_version *v;
	char id[3][64], *path, *text;
	int rc;
	assert_int_equal(fixture_save(*state, 3, 5, 3), 0);
	assert_int_equal(fixture_ids(*state, id, 3), 3);
	path = fixture_pack(*state, 5);
	assert_int_equal(truncate(path, 50), 0);
	mem_free(path);
	path = fixture_manifest(*state, id[1]);
	put(path, "{}", 2);
	mem_free(path);
	text = warnings_of(*state, &rc, &v);
	assert_int_equal(rc, 0);
	assert_string_equal(ckpt_version_id(v), id[0]);
	assert_true(fixture_equal(v));
	ckpt_version_free(v);
	assert_non_null(strstr(text, id[2]));
	assert_non_null(strstr(text, "000000000005-"));
	assert_non_null(strstr(text, id[1]));
	assert_int_equal(err_count(), 0);
	mem_free(text);
	/* Damaged versions are not deleted, and do not count as kept. */
	assert_int_equal(fixture_save(*state, 6, 7, 1), 0);
	path = fixture_manifest(*state, id[1]);
	assert_true(io_exists(path));
	mem_free(path);
	text = warnings_of(*state, &rc, &v);
	assert_int_equal(rc, 0);
	assert_int_equal(ckpt_version_state(v)->step, 7);
	ckpt_version_free(v);
	mem_free(text);
}

/* The same bits saved again after damage would have the damaged version's id. */
static void test_same_id(void **state)
{
	struct ckpt_config config = { .keep = { 1, 1, 0 }, .compression = 1 };
	char id[3][64], *path;
	struct ckpt_version *v;
	struct ckpt_store *s;
	struct fixture f;
	assert_int_equal(fixture_save(*state, 3, 4, 2), 0);
	assert_int_equal(fixture_ids(*state, id, 3), 2);
	path = fixture_manifest(*state, id[1]);
	put(path, "{}", 2);
	mem_free(path);
	assert_int_equal(ckpt_open(&s, *state, &config, NULL), 0);
	ckpt_set_parent(s, id[0]);
	fixture_make(&f, 4);
	assert_int_equal(ckpt_save(s, &f.state), 0);
	assert_int_equal(ckpt_wait(s), 0);
	ckpt_close(s);
	assert_int_equal(fixture_ids(*state, id, 3), 2);
	assert_int_equal(ckpt_load(&v, *state, "auto"), 0);
	assert_int_equal(ckpt_version_state(v)->step, 4);
	ckpt_version_free(v);
}

static void test_all_damaged(void **state)
{
	struct ckpt_version *v;
	char id[1][64], *path, *text;
	int rc;
	assert_int_equal(fixture_save(*state, 3, 3, 1), 0);
	assert_int_equal(fixture_ids(*state, id, 1), 1);
	path = fixture_pack(*state, 3);
	assert_int_equal(unlink(path), 0);
	mem_free(path);
	text = warnings_of(*state, &rc, &v);
	assert_int_equal(rc, E_DATA);
	assert_null(v);
	mem_free(text);
}

/* After anything at all: the newest version that loads is of step old or new, complete, and opening
 * the store leaves nothing hidden. */
static int64_t check_survivor(const char *dir, int64_t old, int64_t new)
{
	struct ckpt_config config = { .keep = { 1, 1, 0 }, .compression = 1 };
	struct ckpt_store *s;
	struct ckpt_version *v;
	int64_t step;
	char id[4][64];
	assert_int_equal(ckpt_load(&v, dir, "auto"), 0);
	assert_non_null(v);
	assert_true(fixture_equal(v));
	step = ckpt_version_state(v)->step;
	assert_true(step == old || step == new);
	ckpt_version_free(v);
	assert_int_equal(ckpt_open(&s, dir, &config, NULL), 0);
	ckpt_close(s);
	assert_int_equal(fixture_leftovers(dir), 0);
	assert_in_range(fixture_ids(dir, id, 4), 1, 3);
	return step;
}

/* The Nth write of the process fails, once or from then on, until N is past the last one. Step 4's
 * metric is the better one: had its failed save any effect, step 3 would be dropped. */
static void fault_loop(const char *dir, const char *more)
{
	int64_t step = 3, n = 0;
	int status;
	assert_int_equal(fixture_save(dir, step, step, 1), 0);
	do {
		char fault[32];
		snprintf(fault, sizeof fault, "fault=write:%lld%s", (long long)++n, more);
		status = fixture_spawn(dir, step + 1, fault);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) != 0) {
			assert_int_equal(WEXITSTATUS(status), 74);
			assert_int_equal(fixture_leftovers(dir), 0);
			assert_int_equal(check_survivor(dir, step, step), step);
		}
		assert_in_range(n, 1, 100);
	} while (WEXITSTATUS(status) != 0);
	assert_true(n > 2);   /* the writes of the pack and of the manifest have each failed once */
	assert_int_equal(check_survivor(dir, step + 1, step + 1), step + 1);
}

static void test_write_fault(void **state)
{
	fault_loop(*state, "");
}

static void test_full_disk(void **state)
{
	fault_loop(*state, "+");
}

static void crash_loop(const char *dir, const char *point, bool new_visible)
{
	int64_t step = 31;
	int n = 0, status;
	assert_int_equal(fixture_save(dir, step - 1, step, 1), 0);
	do {
		char at[64];
		snprintf(at, sizeof at, "crash_at=%s#%d", point, ++n);
		status = fixture_spawn(dir, step + 1, at);
		if (WIFSIGNALED(status)) {
			assert_int_equal(WTERMSIG(status), SIGKILL);
			assert_int_equal(check_survivor(dir, step, step + 1), new_visible ? step + 1 : step);
		}
		assert_in_range(n, 1, 100);
	} while (WIFSIGNALED(status));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(n > 1);   /* the point exists */
	assert_int_equal(check_survivor(dir, step + 1, step + 1), step + 1);
}

/* Step 30 has the best metric and stays; step 31 is dropped when step 32 is durable. */
static void test_crash(void **state)
{
	static const struct {
		const char *point;
		bool new_visible;
	} points[] = {
		{ "ckpt_staged", false },   { "ckpt_chunk", false },   { "ckpt_pack", false },
		{ "ckpt_manifest", false }, { "ckpt_durable", true },  { "ckpt_removed", true },
		{ "ckpt_collected", true },
	};

	for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
		char *dir = fixture_path(*state, points[i].point, NULL);
		crash_loop(dir, points[i].point, points[i].new_visible);
		mem_free(dir);
	}
}

/* Killed while tidying up after a kill. */
static void test_crash_in_cleaning(void **state)
{
	char *dir = fixture_path(*state, "x", NULL);
	int status;
	assert_int_equal(fixture_save(dir, 20, 20, 1), 0);
	status = fixture_spawn(dir, 21, "crash_at=ckpt_chunk");
	assert_true(WIFSIGNALED(status));
	assert_int_equal(fixture_leftovers(dir), 2);   /* a pack that was begun, and its hold */
	status = fixture_spawn(dir, 21, "crash_at=ckpt_cleaned");
	assert_true(WIFSIGNALED(status));
	assert_int_equal(check_survivor(dir, 20, 20), 20);
	mem_free(dir);
}

/* A folder that cannot be written to: reported once, with path and reason; training could go on. */
static void test_unwritable(void **state)
{
	struct ckpt_config config = { .keep = { 1, 1, 0 }, .compression = 1 };
	char *dir = fixture_path(*state, "x", NULL), *away = fixture_path(*state, "y", NULL);
	struct ckpt_store *s;
	struct fixture f;
	fixture_make(&f, 3);
	assert_int_equal(ckpt_open(&s, dir, &config, NULL), 0);
	assert_int_equal(ckpt_save(s, &f.state), 0);
	assert_int_equal(ckpt_wait(s), 0);
	assert_int_equal(rename(dir, away), 0);
	put(dir, "", 0);
	fixture_make(&f, 4);
	assert_int_equal(ckpt_save(s, &f.state), 0);
	assert_int_equal(ckpt_save(s, &f.state), E_CANTCREATE);
	assert_non_null(strstr(err_get(0)->text, dir));
	assert_int_equal(err_get(0)->ncontext, 1);
	err_clear();
	assert_int_equal(ckpt_wait(s), 0);
	assert_int_equal(unlink(dir), 0);
	assert_int_equal(rename(away, dir), 0);
	fixture_make(&f, 5);
	assert_int_equal(ckpt_save(s, &f.state), 0);
	assert_int_equal(ckpt_wait(s), 0);
	assert_int_equal(rename(dir, away), 0);
	put(dir, "", 0);
	fixture_make(&f, 6);
	assert_int_equal(ckpt_save(s, &f.state), 0);
	ckpt_close(s);   /* warns of the failure that no caller requested */
	assert_int_equal(err_count(), 0);
	assert_int_equal(unlink(dir), 0);
	assert_int_equal(rename(away, dir), 0);
	assert_int_equal(check_survivor(dir, 5, 5), 5);
	mem_free(dir);
	mem_free(away);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_bit, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_swapped, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_auto, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_same_id, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_all_damaged, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_write_fault, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_crash, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_crash_in_cleaning, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_unwritable, fixture_setup, fixture_teardown),
	};
	fixture_child(argc, argv);
	log_init("test_ckpt_damage", 0, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
