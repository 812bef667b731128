/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packs of chunks, the holds of saves and removals, tags and pins. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"

#include "base/disk.h"
#include "ckpt/holds.h"
#include "ckpt/packs.h"
#include "ckpt/refs.h"

static int new_folder(void **state)
{
	return place_new(state, "packs-XXXXXX", "x");
}

static struct hash128 put(struct pack_writer *w, const void *raw, size_t n, int width)
{
	const struct hash128 address = hash128_bytes(raw, n);
	assert_int_equal(pack_put(w, address, raw, n, width), 0);
	return address;
}

static void assert_chunk(const struct packs *p, struct hash128 address, const void *raw, size_t n)
{
	uint8_t *got = mem_alloc(n);
	assert_true(packs_has(p, address, n));
	assert_int_equal(packs_read(p, address, got, n), 0);
	assert_memory_equal(got, raw, n);
	mem_free(got);
}

/* Floats as weights have them. */
static void fill(float *x, int n, uint32_t seed)
{
	for (int i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] = (float)((double)(int32_t)seed * 0x1p-34 * (1 + i % 7));
	}
}

#define FLOATS (300 * 1000)

static void test_round_trip(void **state)
{
	const struct place *p = *state;
	struct disk *d = disk_system();
	struct packs *k;
	struct pack_writer *w;
	uint64_t bytes, none;
	static float x[FLOATS];
	static const uint8_t zeros[1000];
	fill(x, FLOATS, 7);
	assert_int_equal(packs_open(&k, d, p->dir), 0);
	assert_int_equal(packs_count(k), 0);
	assert_int_equal(pack_begin(&w, k, "empty", 1), 0);
	assert_int_equal(pack_finish(w, &none), 0);
	assert_true(none == 0);
	assert_int_equal(packs_count(k), 0);

	assert_int_equal(pack_begin(&w, k, "first", 1), 0);
	const struct hash128 a = put(w, x, sizeof x, 4), b = put(w, zeros, sizeof zeros, 8),
	                     c = put(w, x, 13, 4);
	put(w, x, sizeof x, 4);                  /* written once */
	assert_int_equal(pack_finish(w, &bytes), 0);
	assert_int_equal(packs_count(k), 1);
	assert_int_equal(packs_at(k, 0).chunks, 3);
	assert_true(packs_at(k, 0).bytes == bytes);
	assert_true((double)bytes < 0.9 * sizeof x);
	assert_chunk(k, a, x, sizeof x);
	assert_chunk(k, b, zeros, sizeof zeros);
	assert_chunk(k, c, x, 13);
	assert_false(packs_has(k, a, 5));

	assert_error(pack_begin(&w, k, "first", 1), E_CANTCREATE, "there is a pack of this name");
	struct packs *other;                     /* as another process */
	assert_int_equal(packs_open(&other, d, p->dir), 0);
	assert_chunk(other, a, x, sizeof x);
	assert_int_equal(pack_begin(&w, k, "second", 1), 0);
	assert_int_equal(pack_put_from(w, 0, 2), 0);
	assert_int_equal(pack_finish(w, &bytes), 0);
	assert_int_equal(pack_remove(k, "first.pack"), 0);
	uint8_t got[13];
	const struct hash128 *gone = &a;
	assert_error(packs_read(other, *gone, x, sizeof x), E_NOINPUT, "first.pack");
	assert_int_equal(packs_refresh(other), 0);
	assert_error(packs_read(other, a, x, sizeof x), E_DATA, "no pack in");
	assert_int_equal(packs_read(other, c, got, 13), 0);
	packs_close(other);
	packs_close(k);
}

/* A writer that ends leaves nothing that has a name. */
static void test_killed_writer(void **state)
{
	const struct place *p = *state;
	struct disk *d = disk_system();
	struct packs *k;
	struct disk_names names;
	char *folder = io_join(p->dir, PACKS_FOLDER);
	pid_t child = fork();
	if (child == 0) {
		struct pack_writer *w;
		uint32_t x = 5;
		packs_open(&k, d, p->dir);
		pack_begin(&w, k, "killed", 1);
		pack_put(w, hash128_bytes(&x, 4), &x, 4, 4);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	assert_int_equal(packs_open(&k, d, p->dir), 0);
	assert_int_equal(packs_count(k), 0);
	assert_int_equal(disk_list(&names, d, folder), 0);
	assert_int_equal(names.n, 1);
	disk_names_release(&names);
	assert_int_equal(disk_clean(d, folder, 1000), 0);      /* may be of a process that runs */
	assert_int_equal(disk_list(&names, d, folder), 0);
	assert_int_equal(names.n, 1);
	disk_names_release(&names);
	assert_int_equal(disk_clean(d, folder, 0), 0);
	assert_int_equal(disk_list(&names, d, folder), 0);
	assert_int_equal(names.n, 0);
	disk_names_release(&names);
	packs_close(k);
	mem_free(folder);
}

/* Every bit of a pack changed: each chunk is as it was, or an error. */
static void test_flips(void **state)
{
	const struct place *p = *state;
	struct disk *d = disk_system();
	struct packs *k;
	struct pack_writer *w;
	uint64_t bytes;
	float x[40];
	struct hash128 address[3];
	static const size_t size[] = { sizeof x, 7, 64 };
	fill(x, 40, 3);
	memset(x, 0, 64);
	assert_int_equal(packs_open(&k, d, p->dir), 0);
	assert_int_equal(pack_begin(&w, k, "one", 1), 0);
	for (int i = 0; i < 3; i++)
		address[i] = put(w, x, size[i], i == 1 ? 1 : 4);
	assert_int_equal(pack_finish(w, &bytes), 0);
	packs_close(k);
	char *path = io_join(p->dir, PACKS_FOLDER "/one.pack");
	int fd = open(path, O_RDWR), found = 0;
	for (uint64_t bit = 0; bit < 8 * bytes; bit++) {
		uint8_t byte, changed, got[sizeof x];
		assert_int_equal(pread(fd, &byte, 1, (off_t)(bit / 8)), 1);
		changed = (uint8_t)(byte ^ 1u << bit % 8);
		assert_int_equal(pwrite(fd, &changed, 1, (off_t)(bit / 8)), 1);
		int rc = packs_open(&k, d, p->dir);
		bool error = rc < 0;
		for (int i = 0; i < 3 && rc == 0; i++)
			if (packs_read(k, address[i], got, size[i]) < 0)
				error = true;
			else
				assert_memory_equal(got, x, size[i]);
		found += error;
		packs_close(k);
		err_clear();
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)(bit / 8)), 1);
	}
	close(fd);
	mem_free(path);
	assert_true(found > (int)(8 * bytes * 95 / 100));
}

/* Cut anywhere, or with bytes after it: nothing is taken from it. */
static void test_truncated(void **state)
{
	const struct place *p = *state;
	struct disk *d = disk_system();
	struct packs *k;
	struct pack_writer *w;
	uint64_t bytes;
	uint32_t x[4] = { 1, 2, 3, 4 }, got[4];
	assert_int_equal(packs_open(&k, d, p->dir), 0);
	assert_int_equal(pack_begin(&w, k, "one", 1), 0);
	const struct hash128 address = put(w, x, sizeof x, 4);
	assert_int_equal(pack_finish(w, &bytes), 0);
	packs_close(k);
	char *path = io_join(p->dir, PACKS_FOLDER "/one.pack");
	struct buf all = BUF_INIT;
	assert_int_equal(io_read_file(path, &all), 0);
	for (size_t n = 0; n <= all.len + 1; n++) {
		char *cut = mem_calloc(n + 1, 1);
		memcpy(cut, all.data, n < all.len ? n : all.len);
		assert_int_equal(io_write_file(path, cut, n), 0);
		assert_int_equal(packs_open(&k, d, p->dir), 0);
		assert_int_equal(packs_count(k), n == all.len);
		if (n == all.len)
			assert_int_equal(packs_read(k, address, got, sizeof got), 0);
		else
			assert_error(packs_read(k, address, got, sizeof got), E_DATA, "no pack in");
		packs_close(k);
		mem_free(cut);
	}
	all.data[7]++;                     /* alone it is damage, and other packs can be read */
	assert_int_equal(io_write_file(path, all.data, all.len), 0);
	assert_int_equal(packs_open(&k, d, p->dir), 0);
	assert_int_equal(packs_count(k), 0);
	packs_close(k);
	all.data[all.len - 1]++;
	assert_int_equal(io_write_file(path, all.data, all.len), 0);
	assert_error(packs_open(&k, d, p->dir), E_UNSUPPORTED, "is a pack of version 3 of its format");
	buf_release(&all);
	mem_free(path);
}

static bool alone(struct hold *h)
{
	bool is = false;
	assert_int_equal(hold_alone(h, &is), 0);
	return is;
}

/* In a process of its own takes a hold and ends, with or without dropping it. */
static void hold_elsewhere(const char *dir, const char *name, bool drop)
{
	pid_t child = fork();
	if (child == 0) {
		struct hold *h = NULL;
		hold_take(&h, disk_system(), dir, HOLD_SAVE, name);
		if (drop)
			hold_drop(h);
		_exit(!h);
	}
	int status;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void test_holds(void **state)
{
	const struct place *p = *state;
	struct disk *d = disk_system();
	struct hold *save, *second, *gc, *other;
	assert_int_equal(hold_take(&save, d, p->dir, HOLD_SAVE, "run1-7"), 0);
	assert_true(alone(save));
	assert_int_equal(hold_take(&second, d, p->dir, HOLD_SAVE, "run2-7"), 0);
	assert_true(alone(save));                /* saves do not exclude saves */
	assert_true(alone(second));
	assert_int_equal(hold_take(&gc, d, p->dir, HOLD_GC, "run3"), 0);
	assert_false(alone(gc));
	assert_false(alone(save));
	hold_drop(save);
	assert_false(alone(gc));
	hold_drop(second);
	assert_true(alone(gc));
	assert_int_equal(hold_take(&other, d, p->dir, HOLD_GC, "run4"), 0);
	assert_false(alone(gc));                 /* removals exclude removals */
	assert_false(alone(other));
	hold_drop(other);
	hold_elsewhere(p->dir, "killed", false);
	assert_true(alone(gc));                  /* its lock is free */
	hold_drop(gc);
	assert_int_equal(holds_clear(d, p->dir, "kil"), 0);
	char *folder = io_join(p->dir, HOLD_FOLDER);
	struct disk_names names;
	assert_int_equal(disk_list(&names, d, folder), 0);
	assert_int_equal(names.n, 0);
	disk_names_release(&names);

	/* One of another host counts until it is old. */
	char *foreign = io_join(folder, "save-run9@elsewhere");
	assert_int_equal(io_write_file(foreign, "", 0), 0);
	assert_int_equal(hold_take(&gc, d, p->dir, HOLD_GC, "run3"), 0);
	assert_false(alone(gc));
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	assert_int_equal(utimensat(AT_FDCWD, foreign, old, 0), 0);
	assert_true(alone(gc));
	hold_drop(gc);
	assert_int_equal(holds_clear(d, p->dir, "run3"), 0);
	assert_false(io_exists(foreign));        /* of whatever run, when it is old */
	mem_free(foreign);
	mem_free(folder);
}

/* Every bit of a tag's file, and the file of another tag. */
static void flip_tag(const struct place *p, const char *path)
{
	struct disk *d = disk_system();
	struct buf good = BUF_INIT;
	struct refs r;
	char *other = io_join(p->dir, "tags/y");
	assert_int_equal(io_read_file(path, &good), 0);
	for (size_t bit = 0; bit < 8 * good.len; bit++) {
		good.data[bit / 8] = (char)(good.data[bit / 8] ^ 1 << bit % 8);
		assert_int_equal(disk_write_file(d, path, good.data, good.len), 0);
		assert_error(refs_read(&r, d, p->dir), E_DATA, "tags/x");
		good.data[bit / 8] = (char)(good.data[bit / 8] ^ 1 << bit % 8);
	}
	assert_int_equal(disk_write_file(d, path, good.data, good.len), 0);
	assert_int_equal(disk_write_file(d, other, good.data, good.len), 0);
	assert_error(refs_read(&r, d, p->dir), E_DATA, "tags/y");
	assert_int_equal(io_remove_tree(other), 0);
	mem_free(other);
	buf_release(&good);
}

static void test_refs(void **state)
{
	const struct place *p = *state;
	static const char id[] = "000000000040-9f3c2a51", id2[] = "000000000050-9f3c2a51";
	struct disk *d = disk_system();
	struct refs r;
	assert_int_equal(refs_read(&r, d, p->dir), 0);
	assert_int_equal(r.n, 0);
	refs_release(&r);
	assert_int_equal(refs_set_tag(d, p->dir, "paper", id2), 0);
	assert_int_equal(refs_set_tag(d, p->dir, "paper", id), 0);
	assert_int_equal(refs_set_pin(d, p->dir, id2), 0);
	assert_int_equal(refs_read(&r, d, p->dir), 0);
	assert_int_equal(r.n, 2);
	assert_string_equal(refs_find(&r, "paper"), id);
	assert_null(refs_find(&r, "other"));
	assert_true(refs_keep(&r, id) && refs_keep(&r, id2));
	assert_false(refs_keep(&r, "000000000041-9f3c2a51"));
	refs_release(&r);
	static const char *const bad[] = { "", "40", "best", "last", "auto", ".x", "a/b", id, "ä" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_error(refs_set_tag(d, p->dir, bad[i], id), E_USAGE, "cannot be a tag");
	assert_error(refs_drop_tag(d, p->dir, "other"), E_NOINPUT, "there is no tag 'other'");
	assert_int_equal(refs_drop_tag(d, p->dir, "paper"), 0);
	assert_int_equal(refs_drop_pin(d, p->dir, id2), 0);
	assert_int_equal(refs_set_tag(d, p->dir, "x", id), 0);
	char *path = io_join(p->dir, "tags/x");
	flip_tag(p, path);
	static const char *const damage[] = { "", "\n", "000000000040-9f3c2a51", "nonsense\n" };
	for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
		assert_int_equal(io_write_file(path, damage[i], strlen(damage[i])), 0);
		assert_error(refs_read(&r, d, p->dir), E_DATA, "is damaged");
	}
	mem_free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, new_folder, place_free),
		cmocka_unit_test_setup_teardown(test_killed_writer, new_folder, place_free),
		cmocka_unit_test_setup_teardown(test_flips, new_folder, place_free),
		cmocka_unit_test_setup_teardown(test_truncated, new_folder, place_free),
		cmocka_unit_test_setup_teardown(test_holds, new_folder, place_free),
		cmocka_unit_test_setup_teardown(test_refs, new_folder, place_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
