/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sources with weights and hosts with shares of their own: exact counts in each epoch, a source
 * seen whole before any of it comes again, the same order on any number of ranks and after a seek,
 * each sample once on one host, and errors that name the entry. */
#include <math.h>

#include "cases.h"
#include "data/sources.h"
#include "data_fixture.h"

static const char *const files[] = { "test_sources_a.tmp.dlx", "test_sources_b.tmp.dlx",
	"test_sources_c.tmp.dlx" };
static struct arena *arena;

enum { A = 4, B = 13, N = A + B, EPOCHS = 6 };

static struct ynode *parse(const char *yaml)
{
	struct ynode *n;
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &n), 0);
	return n;
}

/* The section `data` of these keys. */
static struct data_config config(const char *yaml)
{
	struct data_config c;
	const struct ynode *n = parse(yaml);
	assert_int_equal(schema_read(arena, n, data_fields, "'data'", &n->loc, &c), 0);
	assert_int_equal(sources_check(&c.train), 0);
	return c;
}

#define WEIGHTED "{train: [{files: test_sources_a.tmp.dlx, weight: 3}, " \
	"{files: test_sources_b.tmp.dlx, weight: 1}]"

static struct dataset *open_set(const struct data_config *c)
{
	struct dataset *d;
	assert_int_equal(dataset_open_sources(&d, &c->train), 0);
	return d;
}

/* Of ranks counted host by host. */
static struct loader *open_rank(struct dataset *d, const struct data_config *c, int64_t batch,
                                int rank, int ranks, int hosts)
{
	const struct loader_options o = { .config = c, .training = true, .seed = 5,
		.batch_size = batch / ranks, .rank = rank, .ranks = ranks, .target_dtype = DTYPE_I32,
		.host = hosts ? rank / (ranks / hosts) : 0, .hosts = hosts };
	struct loader *l;
	assert_int_equal(loader_new(&l, d, &o), 0);
	return l;
}

/* The number of the sample at place k of a batch, whatever its window. */
static int sample_at(const struct loader *l, const struct batch *b, int k)
{
	const int64_t each = shape_count(loader_input_shape(l));
	return (int)((const float *)batch_input(b))[k * each + 1] / 100;
}

/* The samples of some epochs in their order, as all ranks have them together. */
static int read_all(struct dataset *d, const struct data_config *c, int64_t batch, int ranks,
                    int hosts, int *order)
{
	struct loader *l[7];
	int n = 0;
	for (int r = 0; r < ranks; r++)
		l[r] = open_rank(d, c, batch, r, ranks, hosts);
	for (int64_t k = 0; k < EPOCHS * loader_batches(l[0]); k++)
		for (int r = 0; r < ranks; r++) {
			const struct batch *b;

			assert_int_equal(loader_next(l[r], &b), 0);
			for (int i = 0; i < b->n && !b->absent; i++)
				order[n++] = sample_at(l[r], b, i);
		}
	for (int r = 0; r < ranks; r++)
		loader_free(l[r]);
	return n;
}

/* Whether each `each` of the n numbers from `first` on that are below first + each are all of
 * these; returns how many n are. */
static int check_walks(const int *order, int n, int first, int each)
{
	int64_t seen = 0;
	int count = 0;
	for (int i = 0; i < n; i++) {
		if (order[i] < first || order[i] >= first + each)
			continue;
		assert_false(seen >> (order[i] - first) & 1);
		seen |= INT64_C(1) << (order[i] - first);
		if (++count % each == 0)
			seen = 0;
	}
	return count;
}

static void test_walks(void **state)
{
	const struct data_config c = config(WEIGHTED "}");
	struct dataset *d = open_set(&c);
	struct loader *l = open_rank(d, &c, 4, 0, 1, 0);
	int order[EPOCHS * N], count = 0;
	/* 12.75 and 4.25 of 17. */
	assert_int_equal(loader_samples(l), N);
	assert_int_equal(loader_source_samples(l, 0), 13);
	assert_int_equal(loader_source_samples(l, 1), 4);
	assert_int_equal(read_all(d, &c, 4, 1, 0, order), EPOCHS * N);
	assert_int_equal(check_walks(order, EPOCHS * N, 0, A), EPOCHS * 13);
	assert_int_equal(check_walks(order, EPOCHS * N, A, B), EPOCHS * 4);
	for (int i = 0; i < EPOCHS * N; i++) {
		if (i % N == 0)
			count = 0;
		count += order[i] < A;
		assert_true(fabs(count - (i % N + 1) * 13.0 / N) < 2);
	}
	/* The epochs differ. */
	assert_memory_not_equal(order, order + N, N * sizeof *order);
	loader_free(l);
	dataset_free(d);
}

static void test_ranks(void **state)
{
	const struct data_config c = config(WEIGHTED "}");
	struct dataset *d = open_set(&c);
	int one[EPOCHS * N], many[EPOCHS * N];
	read_all(d, &c, 4, 1, 0, one);
	/* 14 of 17 samples are a batch; of the three that are left four ranks of seven have none. */
	static const struct { int ranks, batch; } row[] = { { 2, 4 }, { 4, 4 }, { 7, 7 }, { 7, 14 } };
	for (int i = 0; i < 4; i++) {
		assert_int_equal(read_all(d, &c, row[i].batch, row[i].ranks, 0, many), EPOCHS * N);
		assert_memory_equal(one, many, sizeof one);
	}
	dataset_free(d);
}

static void test_seek(void **state)
{
	const struct data_config c = config(WEIGHTED ", threads: 1, mixup: 0.4}");
	struct dataset *d = open_set(&c);
	struct loader *l = open_rank(d, &c, 4, 0, 1, 0), *m = open_rank(d, &c, 4, 0, 1, 0);
	const int64_t each = shape_count(loader_input_shape(l));
	const struct batch *a, *b;
	for (int64_t k = 0; k < 2 * loader_batches(l) + 3; k++)
		assert_int_equal(loader_next(l, &a), 0);
	assert_int_equal(loader_seek(m, 2, 2), 0);
	for (int k = 0; k < 4; k++, assert_int_equal(loader_next(l, &a), 0)) {
		assert_int_equal(loader_next(m, &b), 0);
		assert_int_equal(a->n, b->n);
		assert_memory_equal(batch_input(a), batch_input(b), (size_t)(a->n * each) * sizeof(float));
	}
	loader_free(m);
	loader_free(l);
	dataset_free(d);
}

/* A sample that comes again within an epoch has another window. */
static void test_windows(void **state)
{
	const struct data_config c = config(WEIGHTED ", transforms: [{crop: {size: 2}}]}");
	struct dataset *d = open_set(&c);
	struct loader *l = open_rank(d, &c, 1, 0, 1, 0);
	const struct batch *b;
	int first[A], seen[A] = { 0 }, moved = 0;
	for (int64_t k = 0; k < loader_batches(l); k++) {
		assert_int_equal(loader_next(l, &b), 0);
		const int value = (int)((const float *)batch_input(b))[1], s = value / 100;
		if (s >= A)
			continue;
		moved += seen[s]++ && value != first[s];
		first[s] = value;
	}
	assert_true(moved > 2);
	loader_free(l);
	dataset_free(d);
}

/* Without shuffle each source has its given order, and they take turns. */
static void test_given_order(void **state)
{
	const struct data_config c = config("{shuffle: false, train: [{files: test_sources_a.tmp.dlx, "
	                                    "weight: 1}, {files: test_sources_b.tmp.dlx, weight: 1}]}");
	struct dataset *d = open_set(&c);
	int order[EPOCHS * N], next[2] = { 0 };
	read_all(d, &c, 4, 1, 0, order);
	for (int i = 0; i < EPOCHS * N; i++) {
		const int k = order[i] >= A;
		assert_int_equal(order[i], k ? A + next[1]++ % B : next[0]++ % A);
	}
	assert_int_equal(next[0], EPOCHS * 9);
	dataset_free(d);
}

/* Plain entries are files of one set, as ever, and weights make another one. */
static void test_forms(void **state)
{
	static const char *const yaml[] = { "{train: 'test_sources_[ab].tmp.dlx'}",
		"{train: [test_sources_a.tmp.dlx, test_sources_b.tmp.dlx]}",
		"{train: [{files: [test_sources_a.tmp.dlx, test_sources_b.tmp.dlx], weight: 2}]}",
		"{train: [{files: test_sources_a.tmp.dlx}, test_sources_b.tmp.dlx]}" };
	static const char *const written[] = { "train: [\"test_sources_[ab].tmp.dlx\"]",
		"train: [test_sources_a.tmp.dlx, test_sources_b.tmp.dlx]" };
	struct data_config c = config(WEIGHTED "}");
	struct dataset *d = open_set(&c), *e = fixture_open(files, 2);
	const uint64_t weighted = dataset_fingerprint(d), plain = dataset_fingerprint(e);
	assert_true(weighted != plain);
	assert_int_equal(dataset_sources(d), 2);
	dataset_free(d);
	dataset_free(e);
	for (int i = 0; i < 4; i++) {
		struct buf text = BUF_INIT;
		c = config(yaml[i]);
		d = open_set(&c);
		assert_true(dataset_fingerprint(d) == plain);
		assert_int_equal(dataset_sources(d), 0);
		dataset_free(d);
		ytree_write(&text, schema_write(arena, data_fields, &c));
		if (i < 2 && !strstr(text.data, written[i]))
			fail_msg("no '%s' in '%s'", written[i], text.data);
		buf_release(&text);
	}
	c = config("{train: [{files: test_sources_a.tmp.dlx, weight: 6}, "
	           "{files: test_sources_b.tmp.dlx, weight: 2}]}");
	d = open_set(&c);
	assert_true(dataset_fingerprint(d) == weighted);
	dataset_free(d);
}

/* --- hosts --- */

static void test_hosts(void **state)
{
	const struct data_config c = config("{train: 'test_sources_[ab].tmp.dlx', "
	                                    "shuffle: {within: host}}");
	struct dataset *d = open_set(&c);
	int order[EPOCHS * N], other[EPOCHS * N];
	for (int ranks = 2; ranks <= 4; ranks += 2) {
		assert_int_equal(read_all(d, &c, 4, ranks, 2, order), EPOCHS * N);
		for (int e = 0; e < EPOCHS; e++) {
			assert_int_equal(check_walks(order + e * N, N, 0, N), N);
			for (int i = 0; i < N - 1; i++)
				assert_int_equal(order[e * N + i] >= N / 2, i % 4 >= 2);
		}
		if (ranks == 2)
			memcpy(other, order, sizeof order);
	}
	assert_memory_equal(order, other, sizeof order);
	assert_memory_not_equal(order, order + N, N * sizeof *order);
	dataset_free(d);
}

/* One host has all samples, in the order that they have anyway. */
static void test_one_host(void **state)
{
	const struct data_config c = config("{train: 'test_sources_[ab].tmp.dlx', "
	                                    "shuffle: {within: host}}"),
	                         all = config("{train: 'test_sources_[ab].tmp.dlx'}");
	struct dataset *d = open_set(&c);
	int one[EPOCHS * N], two[EPOCHS * N];
	read_all(d, &c, 4, 2, 1, one);
	read_all(d, &all, 4, 2, 0, two);
	assert_memory_equal(one, two, sizeof one);
	dataset_free(d);
}

/* Each host draws from its share of each source by weight. */
static void test_hosts_and_sources(void **state)
{
	const struct data_config c = config(WEIGHTED ", shuffle: {within: host}}");
	struct dataset *d = open_set(&c);
	struct loader *l = open_rank(d, &c, 4, 0, 2, 2);
	int order[EPOCHS * N];
	assert_int_equal(loader_source_samples(l, 0) + loader_source_samples(l, 1), N);
	assert_int_equal(loader_source_samples(l, 0), 6 + 7);
	assert_int_equal(read_all(d, &c, 4, 2, 2, order), EPOCHS * N);
	for (int e = 0; e < EPOCHS; e++)
		for (int i = 0; i < N - 1; i++) {
			const int s = order[e * N + i];
			assert_int_equal(s < A ? s >= A / 2 : s - A >= B / 2, i % 4 >= 2);
		}
	loader_free(l);
	dataset_free(d);
}

/* --- errors --- */

static int try_loader(const struct data_config *c, int hosts)
{
	const struct loader_options o = { .config = c, .training = true, .batch_size = 1, .ranks = 8,
		.hosts = hosts, .target_dtype = DTYPE_I32 };
	struct dataset *d = open_set(c);
	struct loader *l;
	const int rc = loader_new(&l, d, &o);
	if (rc == 0)
		loader_free(l);
	dataset_free(d);
	return rc;
}

static void test_errors(void **state)
{
	struct data_config c = config("{train: [{files: test_sources_a.tmp.dlx, weight: 1}, "
	                              "{files: test_sources_b.tmp.dlx, weight: 0.001}]}");
	expect_error(try_loader(&c, 0), E_CONFIG, "source 'test_sources_b.tmp.dlx' has the weight "
	             "0.001: its share of the 17 samples that are read in an epoch is less than one");
	c = config(WEIGHTED ", shuffle: {within: host}}");
	expect_error(try_loader(&c, 8), E_CONFIG,
	             "the 4 samples of source 'test_sources_a.tmp.dlx' cannot be shared by 8 hosts");
	c = config("{train: test_sources_a.tmp.dlx, shuffle: {within: host}}");
	expect_error(try_loader(&c, 8), E_CONFIG,
	             "4 training samples cannot be shared by 8 hosts");
	c = config("{train: [{files: test_sources_a.tmp.dlx, weight: 1}, "
	           "{files: test_sources_c.tmp.dlx, weight: 1}]}");
	struct dataset *d;
	expect_error(dataset_open_sources(&d, &c.train), E_DATA, "'test_sources_c.tmp.dlx' does not "
	             "fit 'test_sources_a.tmp.dlx'");
	fixture_write_size(files[0], 0, 3, 5, 6);
	c = config(WEIGHTED "}");
	fixture_write_size(files[1], 3, 3, 6, 6);
	expect_error(try_loader(&c, 0), E_CONFIG, "several sizes, which is not possible with sources");
}

static int stop(void **state)
{
	for (int i = 0; i < 3; i++)
		unlink(files[i]);
	arena_free(arena);
	return 0;
}

static int start(void **state)
{
	arena = arena_new();
	fixture_write(files[0], A, 0);
	fixture_write(files[1], B, A);
	fixture_write_size(files[2], 0, 2, HEIGHT, WIDTH);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walks),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_given_order),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_one_host),
		cmocka_unit_test(test_hosts_and_sources),
		cmocka_unit_test(test_errors),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
