/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staging on one rank: threads that read samples at random have the bytes of the files, each of
 * which is read once, also where few descriptors are left; a stage is closed in the middle of its
 * work, and copies that vanish are done without. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "cases.h"
#include "base/debug.h"
#include "base/hash.h"
#include "data/loader.h"
#include "data/staging.h"
#include "data_fixture.h"

#define DIR "test_staging.tmp"
#define FILES 3
#define SAMPLES 200
#define THREADS 4

static const char *const files[FILES] = { "test_staging_a.tmp.dlx", "test_staging_b.tmp.dlx",
	"test_staging_c.tmp.dlx" };

struct reader {
	struct dataset *d;
	unsigned seed;
	int reads;
};

static void check_sample(struct dataset *d, int64_t i)
{
	float input[2 * POINTS], expected[2 * POINTS];
	uint8_t target[POINTS], label[POINTS];
	fixture_sample((int)i, expected, label);
	assert_int_equal(dataset_read(d, i, input, target), 0);
	assert_memory_equal(input, expected, sizeof expected);
	assert_memory_equal(target, label, sizeof label);
}

static void *read_some(void *arg)
{
	struct reader *r = arg;
	for (int i = 0; i < r->reads; i++)
		check_sample(r->d, rand_r(&r->seed) % (FILES * SAMPLES));
	return NULL;
}

static void read_by_threads(struct dataset *d, int reads)
{
	struct reader r[THREADS];
	pthread_t t[THREADS];
	for (int i = 0; i < THREADS; i++) {
		r[i] = (struct reader){ d, (unsigned)i + 1, reads };
		assert_int_equal(pthread_create(&t[i], NULL, read_some, &r[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
}

static struct staging *start(struct dataset *d, int64_t limit)
{
	const struct staging_config c = { .dir = DIR, .limit = limit };
	struct staging *s;
	assert_int_equal(staging_open(&s, NULL, &c, &d, 1), 0);
	assert_int_equal(staging_begin(s), 0);
	return s;
}

/* Bytes of the samples of the first files. */
static int64_t all_bytes(int n_files)
{
	int64_t sum = 0;
	for (int i = 0; i < n_files; i++) {
		struct record *r;
		assert_int_equal(record_open(&r, files[i]), 0);
		const int64_t last = record_info(r)->samples - 1, n = record_chunks(r, last);
		const struct record_chunk c = record_chunk_get(r, last, n - 1);
		sum += (int64_t)(c.offset + c.stored) - 16;
		record_free(r);
	}
	return sum;
}

static void test_once(void **state)
{
	struct dataset *d = fixture_open(files, FILES);
	struct staging *s = start(d, INT64_MIN);
	const int64_t all = all_bytes(FILES);
	read_by_threads(d, 500);
	for (int64_t i = 0; i < FILES * SAMPLES; i++)
		check_sample(d, i);
	assert_int_equal(staging_counts(s).read, all);
	assert_int_equal(staging_counts(s).kept, all);
	assert_int_equal(staging_counts(s).repaired, 0);
	staging_close(s, false);
	check_sample(d, 5);                     /* by the files again */
	s = start(d, INT64_MIN);
	read_by_threads(d, 100);
	assert_int_equal(staging_counts(s).read, 0);
	assert_int_equal(dataset_bytes(d).decoded,
	                 (FILES * SAMPLES + 1 + THREADS * 600) * (2 * POINTS * sizeof(float) + POINTS));
	staging_close(s, false);
	dataset_free(d);
}

#define EPOCHS 2

/* The samples of two epochs in their order, as all ranks have them together, by hashes of their
 * bytes. */
static void read_order(struct dataset *d, int ranks, uint64_t *order)
{
	static struct ynode shuffled = { .kind = Y_SCALAR, .text = "true" };
	const struct data_config c = { .shuffle = &shuffled, .keep_short_batch = true,
		.threads = 2, .prefetch = 2 };
	struct loader *l[7];
	int n = 0;
	for (int r = 0; r < ranks; r++) {
		const struct loader_options o = { .config = &c, .training = true, .seed = 5,
			.batch_size = 14 / ranks, .rank = r, .ranks = ranks, .target_dtype = DTYPE_I32 };
		assert_int_equal(loader_new(&l[r], d, &o), 0);
	}
	for (int64_t k = 0; k < EPOCHS * loader_batches(l[0]); k++)
		for (int r = 0; r < ranks; r++) {
			const struct batch *b;

			assert_int_equal(loader_next(l[r], &b), 0);
			for (int i = 0; i < b->n && !b->absent; i++)
				order[n++] = hash_bytes((const float *)batch_input(b) + (size_t)i * 2 * POINTS,
				                        2 * POINTS * sizeof(float), 0);
		}
	assert_int_equal(n, EPOCHS * FILES * SAMPLES);
	for (int r = 0; r < ranks; r++)
		loader_free(l[r]);
}

/* One rank, two and seven have the same samples in the same order, with staging and without. */
static void test_order(void **state)
{
	enum { N = EPOCHS * FILES * SAMPLES };
	static const int ranks[] = { 1, 2, 7 };
	static uint64_t first[N], order[N];
	struct dataset *d = fixture_open(files, FILES);
	for (int k = 0; k < 6; k++) {
		struct staging *s = k < 3 ? NULL : start(d, INT64_MIN);
		read_order(d, ranks[k % 3], k ? order : first);
		if (s)
			staging_close(s, false);
		if (k)
			assert_memory_equal(order, first, sizeof first);
	}
	assert_memory_not_equal(first, first + N / EPOCHS, sizeof first / EPOCHS);
	dataset_free(d);
}

/* A file that is named twice is read once. */
static void test_twice(void **state)
{
	const char *const twice[] = { files[0], files[1], files[0] };
	struct dataset *d = fixture_open(twice, 3);
	struct staging *s = start(d, INT64_MIN);
	float first[2 * POINTS], again[2 * POINTS];
	for (int64_t i = 0; i < SAMPLES; i++) {
		check_sample(d, i);
		check_sample(d, SAMPLES + i);
		assert_int_equal(dataset_read(d, i, first, NULL), 0);
		assert_int_equal(dataset_read(d, 2 * SAMPLES + i, again, NULL), 0);
		assert_memory_equal(first, again, sizeof first);
	}
	assert_int_equal(staging_counts(s).read, all_bytes(2));
	staging_close(s, false);
	dataset_free(d);
}

/* Nothing fits on the disk, not even the head of a copy. */
static void test_no_room(void **state)
{
	struct rlimit was, none;
	struct dataset *d = fixture_open(files, FILES);
	struct staging *s;
	getrlimit(RLIMIT_FSIZE, &was);
	none = (struct rlimit){ 0, was.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	s = start(d, INT64_MIN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	read_by_threads(d, 100);
	assert_int_equal(staging_counts(s).kept, 0);
	assert_true(staging_counts(s).read > 0);
	staging_close(s, false);
	dataset_free(d);
}

/* What is closed early is gone on with. */
static void test_early(void **state)
{
	struct dataset *d = fixture_open(files, FILES);
	const int64_t all = all_bytes(FILES);
	int64_t kept = 0;
	for (int i = 0; i < 20; i++) {
		struct staging *s = start(d, INT64_MIN);
		if (i % 2)
			read_by_threads(d, i);
		staging_close(s, i % 3 == 0);
	}
	struct staging *s = start(d, INT64_MIN);
	for (int64_t i = 0; i < FILES * SAMPLES; i++)
		check_sample(d, i);
	kept = staging_counts(s).kept;
	assert_true(kept < all);
	staging_close(s, false);
	dataset_free(d);
}

static void test_limit(void **state)
{
	struct dataset *d = fixture_open(files, FILES);
	const int64_t all = all_bytes(FILES);
	struct staging *s = start(d, all / 3);
	read_by_threads(d, 500);
	assert_true(staging_counts(s).kept <= all / 3);
	assert_true(staging_counts(s).kept > all / 4);
	assert_true(staging_counts(s).read > all);
	staging_close(s, false);
	dataset_free(d);
}

/* Copies are cut off and removed while there are readers. */
static void test_vanished(void **state)
{
	struct rlimit was, few = { 8, 8 };
	struct dataset *d;
	getrlimit(RLIMIT_NOFILE, &was);
	few.rlim_max = was.rlim_max;
	for (int i = 0; i < 2; i++) {
		if (i == 1)                        /* descriptors are opened for each use */
			assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		d = fixture_open(files, FILES);
		struct staging *s = start(d, INT64_MIN);
		if (i == 1)
			assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		read_by_threads(d, 100);
		assert_int_equal(system(i ? "rm -r " DIR : "for f in " DIR "/*; do : >$f; done"), 0);
		read_by_threads(d, 200);
		staging_close(s, false);
		dataset_free(d);
	}
}

static int clean(void **state)
{
	return io_remove_tree(DIR);
}

static int setup(void **state)
{
	debug.stage_extent = 700;
	for (int i = 0; i < FILES; i++)
		fixture_write(files[i], SAMPLES, i * SAMPLES);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < FILES; i++)
		unlink(files[i]);
	return clean(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_once, clean), cmocka_unit_test_setup(test_early, clean),
		cmocka_unit_test_setup(test_twice, clean), cmocka_unit_test_setup(test_no_room, clean),
		cmocka_unit_test_setup(test_limit, clean), cmocka_unit_test_setup(test_vanished, clean),
		cmocka_unit_test_setup(test_order, clean),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
