/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datasets and loaders: files in a row, the order of samples, the same batches for any number
 * of threads and after a seek, no memory obtained in the steady state, and errors that name
 * file, sample and byte. */
#include <math.h>

#include "cases.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "data_fixture.h"

static struct ynode shuffled = { .kind = Y_SCALAR, .text = "true" };

#define A 4
#define B 3
#define N (A + B)

static const char *const files[] = { "test_loader_a.tmp.dlx", "test_loader_b.tmp.dlx" };
static struct arena *arena;

static struct loader *start_loader(struct dataset *d, const char *yaml, bool training,
                                   int64_t batch, int64_t threads, int64_t prefetch)
{
	struct data_config c = { .shuffle = &shuffled, .keep_short_batch = true, .threads = threads,
	                        .prefetch = prefetch };
	const struct loader_options o = { .config = &c, .training = training, .seed = 5,
	                                 .batch_size = batch, .target_dtype = DTYPE_I32 };
	struct loader *l;
	if (yaml)
		assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &c.transforms), 0);
	assert_int_equal(loader_new(&l, d, &o), 0);
	return l;
}

/* The number of the fixture's sample at place k of a batch. */
static int sample_at(const struct batch *b, int k)
{
	return (int)((const float *)batch_input(b))[k * 2 * POINTS + 1] / 100;
}

static uint64_t batch_hash(const struct batch *b)
{
	return hash_bytes(batch_input(b), (size_t)b->n * 2 * POINTS * 4,
	                  hash_bytes(batch_target(b), (size_t)b->n * POINTS * 4, 0));
}

static void test_dataset(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	const struct dataset_info *i = dataset_info(d);
	float input[2 * POINTS], expected[2 * POINTS];
	uint8_t target[POINTS], label[POINTS];
	int64_t counts[3];
	double sum = 0;
	assert_int_equal(i->samples, N);
	assert_int_equal(i->mask, 1);
	assert_int_equal(i->nclasses, 2);
	assert_string_equal(i->input_channels[0], "wind");
	for (int s = 0; s < N; s++) {
		fixture_sample(s, expected, label);
		assert_int_equal(dataset_read(d, s, input, target), 0);
		assert_memory_equal(input, expected, sizeof(input));
		assert_memory_equal(target, label, sizeof(target));
		for (int k = 0; k < POINTS; k++)
			sum += k % WIDTH ? expected[k] : 0;
	}
	assert_int_equal(dataset_class_counts(d, 3, counts), 0);
	assert_int_equal(counts[0], N * 2 * (WIDTH - 1));
	assert_int_equal(counts[2], 0);
	assert_int_equal(dataset_statistics(d)[0].count, N * HEIGHT * (WIDTH - 1));
	assert_true(fabs(dataset_statistics(d)[0].mean - sum / (N * HEIGHT * (WIDTH - 1))) < 1e-9);
	dataset_free(d);
}

/* Each sample is counted as often as it is read, by its stored and its raw bytes. */
static void test_counts(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	struct record *r;
	struct data_bytes b = dataset_bytes(d);
	uint64_t stored = 0;
	assert_int_equal(b.read + b.decoded, 0);
	assert_int_equal(record_open(&r, files[0]), 0);
	for (int k = 0; k < record_chunks(r, 2); k++)
		stored += record_chunk_get(r, 2, k).stored;
	for (int i = 0; i < 3; i++)
		assert_int_equal(dataset_read(d, 2, NULL, NULL), 0);
	b = dataset_bytes(d);
	assert_int_equal(b.read, 3 * stored);
	assert_int_equal(b.decoded, 3 * record_size_bytes(record_info(r), 0));
	record_free(r);
	dataset_free(d);
}

/* Statistics over two files are those of one file with all samples. */
static void test_merged_statistics(void **state)
{
	static const char *const whole = "test_loader_whole.tmp.dlx";
	struct dataset *d = fixture_open(files, 2), *one;
	fixture_write(whole, N, 0);
	one = fixture_open(&whole, 1);
	assert_true(fabs(dataset_statistics(d)[0].std - dataset_statistics(one)[0].std) < 1e-9);
	assert_true(dataset_statistics(d)[0].max == dataset_statistics(one)[0].max);
	assert_int_not_equal(dataset_fingerprint(d), dataset_fingerprint(one));
	dataset_free(one);
	dataset_free(d);
	unlink(whole);
}

static void test_glob_and_missing(void **state)
{
	static const char *const good = "test_loader_?.tmp.dlx";
	const char *const none = "no-*.dlx", *const missing = "missing.dlx";
	const struct loc loc = { "c.yaml", 3, 10, 4 };
	const struct strings s = { 1, &none, &loc }, m = { 1, &missing, &loc };
	struct dataset *d = fixture_open(&good, 1);
	assert_int_equal(dataset_info(d)->samples, N);
	dataset_free(d);
	assert_int_equal(dataset_open(&d, &s), E_NOINPUT);
	assert_int_equal(err_get(0)->loc.line, 3);
	err_clear();
	expect_error(dataset_open(&d, &m), E_NOINPUT, "missing.dlx");
}

static void test_validation_order(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	struct loader *l = start_loader(d, NULL, false, 3, 2, 2);
	const struct batch *b;
	assert_int_equal(loader_batches(l), 3);
	for (int k = 0; k < 2 * 3; k++) {
		assert_int_equal(loader_next(l, &b), 0);
		assert_int_equal(b->epoch, k / 3);
		assert_int_equal(b->index, k % 3);
		assert_int_equal(b->n, k % 3 == 2 ? 1 : 3);
		for (int i = 0; i < b->n; i++)
			assert_int_equal(sample_at(b, i), k % 3 * 3 + i);
	}
	loader_free(l);
	dataset_free(d);
}

/* Several windows of a sample in an epoch, each at a place of its own. */
static void test_windows(void **state)
{
	static const char yaml[] = "[{crop: {size: 3, per_sample: 4}}]";
	struct dataset *d = fixture_open(files, 2);
	struct loader *l = start_loader(d, yaml, true, 2, 2, 2),
	              *v = start_loader(d, yaml, false, 2, 2, 2);
	const struct batch *b;
	int seen[N] = { 0 }, first[N] = { 0 }, elsewhere = 0;
	assert_int_equal(loader_samples(l), 4 * N);
	assert_int_equal(loader_batches(l), 2 * N);
	assert_int_equal(loader_samples(v), N);
	for (int64_t k = 0; k < loader_batches(l); k++) {
		assert_int_equal(loader_next(l, &b), 0);
		for (int i = 0; i < b->n; i++) {
			const int value = (int)((const float *)batch_input(b))[i * 2 * 9 + 1], s = value / 100;

			first[s] = seen[s]++ ? first[s] : value;
			elsewhere += value != first[s];
		}
	}
	for (int s = 0; s < N; s++)
		assert_int_equal(seen[s], 4);
	assert_true(elsewhere > N);
	loader_free(v);
	loader_free(l);
	dataset_free(d);
}

/* Of small batches 16 are decoded ahead, in the same order; of a validation as many as it has. */
static void test_ahead(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	struct loader *one = start_loader(d, NULL, true, 2, 2, 1);
	struct loader *many = start_loader(d, NULL, true, 2, 2, 0);
	struct loader *validation = start_loader(d, NULL, false, 2, 2, 0);
	const struct batch *a, *b;
	for (int i = 0; i < 60; i++) {
		assert_int_equal(loader_next(one, &a), 0);
		assert_int_equal(loader_next(many, &b), 0);
		assert_int_equal(a->epoch, b->epoch);
		assert_int_equal(a->index, b->index);
		assert_true(a->n == b->n && batch_hash(a) == batch_hash(b));
		if (i == 35) {
			assert_int_equal(loader_seek(one, 3, 1), 0);
			assert_int_equal(loader_seek(many, 3, 1), 0);
		}
	}
	assert_int_equal(loader_memory(many), loader_memory(one) / 2 * 17);
	assert_int_equal(loader_memory(validation), loader_memory(one) / 2 * (1 + (N + 1) / 2));
	loader_free(validation);
	loader_free(many);
	loader_free(one);
	dataset_free(d);
}

static const char *const sizes[] = { "test_loader_s.tmp.dlx", "test_loader_t.tmp.dlx",
	"test_loader_u.tmp.dlx" };

static int open_sizes(struct loader **l, struct dataset *d, const char *yaml, bool training)
{
	struct data_config c = { .shuffle = &shuffled, .keep_short_batch = true, .threads = 2,
	                        .prefetch = 1 };
	const struct loader_options o = {.config = &c, .training = training, .seed = 5, .batch_size = 4,
		.target_dtype = DTYPE_I32 };
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &c.transforms), 0);
	return loader_new(l, d, &o);
}

/* Each window is one of its own sample, wherever that ends. */
static void check_window(const float *x, const int32_t *t, int *seen, int *most)
{
	const int s = (int)x[0] / 1000, y = (int)x[0] % 1000 / 20, at = (int)x[0] % 20;
	const int h = s < 2 ? 5 : s < 5 ? 9 : 6, w = s < 2 ? 6 : s < 5 ? 12 : 6;
	seen[s]++;
	assert_true(y + 5 <= h && at + 6 <= w);
	*most = at > *most ? at : *most;
	for (int i = 0; i < 30; i++) {
		assert_true(x[i] == (float)(1000 * s + 20 * (y + i / 6) + at + i % 6));
		assert_int_equal(t[i], (y + i / 6) % 2);
	}
}

/* A set with samples of several sizes: the loader cuts windows of one size out of all of them. */
static void test_sizes(void **state)
{
	struct dataset *d;
	struct loader *l;
	const struct batch *b;
	int seen[7] = { 0 }, most = 0;
	int64_t counts[2];
	float input[9 * 12];
	fixture_write_size(sizes[0], 0, 2, 5, 6);
	fixture_write_size(sizes[1], 2, 3, 9, 12);
	fixture_write_size(sizes[2], 5, 2, 6, 6);
	d = fixture_open(sizes, 3);
	assert_int_equal(dataset_sizes(d), 3);
	assert_int_equal(dataset_size_of(d, 4), 1);
	assert_int_equal(dataset_info_of(d, 2)->input.d[1], 6);
	assert_int_equal(dataset_read(d, 3, input, NULL), 0);
	assert_true(input[9 * 12 - 1] == 3000 + 20 * 8 + 11);
	assert_int_equal(dataset_class_counts(d, 2, counts), 0);
	assert_int_equal(counts[0] + counts[1], 2 * 30 + 3 * 108 + 2 * 36);
	assert_int_equal(open_sizes(&l, d, "[{crop: [5, 6]}]", true), 0);
	for (int k = 0; k < 20; k++) {
		assert_int_equal(loader_next(l, &b), 0);
		for (int i = 0; i < b->n; i++)
			check_window((const float *)batch_input(b) + i * 30,
			             (const int32_t *)batch_target(b) + i * 30,
			             seen, &most);
	}
	for (int s = 0; s < 7; s++)
		assert_int_equal(seen[s], 10);
	assert_true(most > 3);
	loader_free(l);
	expect_error(open_sizes(&l, d, "[{crop: [6, 6]}]", true), E_SHAPE,
	             "height 6 does not fit into 5");
	expect_error(open_sizes(&l, d, "[{crop: [5, 6]}]", false), E_DATA,
	             "give files of one size at a time");
	assert_int_equal(open_sizes(&l, d, "[{crop: {size: [5, 6], validation: centre}}]", false), 0);
	loader_free(l);
	dataset_free(d);
	for (int i = 0; i < 3; i++)
		unlink(sizes[i]);
}

static void test_training_order(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	struct loader *l = start_loader(d, NULL, true, 2, 2, 1);
	const struct batch *b;
	int order[3][N], moved = 0;
	for (int e = 0; e < 3; e++) {
		int seen = 0, k = 0;

		for (int i = 0; i < 4; i++) {
			assert_int_equal(loader_next(l, &b), 0);
			for (int j = 0; j < b->n; j++) {
				const struct loader_sample from = loader_sample(l, b->first + j);
				seen |= 1 << (order[e][k++] = sample_at(b, j));
				assert_int_equal(from.index, sample_at(b, j));
				assert_true(from.window == 0 && from.partner == -1);
			}
		}
		assert_int_equal(k, N);
		assert_int_equal(seen, (1 << N) - 1);
		moved += e > 0 && memcmp(order[e], order[0], sizeof(order[0])) != 0;
	}
	assert_true(moved > 0);
	loader_free(l);
	dataset_free(d);
}

static const char random_chain[] = "[{normalize: standard}, {roll: width}, {flip: height}, "
                                   "{normalize_sample: min_max}]";

static void same_for_any_threads(struct dataset *d, const char *chain)
{
	struct loader *one = start_loader(d, chain, true, 3, 1, 1);
	struct loader *many = start_loader(d, chain, true, 3, 4, 5);
	const size_t input = (size_t)shape_count(loader_input_shape(one)) * 4;
	const size_t target = (size_t)shape_count(loader_target_shape(one)) * 4;
	const struct batch *b, *c;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(loader_next(one, &b), 0);
		assert_int_equal(loader_next(many, &c), 0);
		assert_int_equal(b->n, c->n);
		assert_memory_equal(batch_input(b), batch_input(c), (size_t)b->n * input);
		assert_memory_equal(batch_target(b), batch_target(c), (size_t)b->n * target);
	}
	loader_free(one);
	loader_free(many);
}

static void test_same_for_any_threads(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	same_for_any_threads(d, random_chain);
	same_for_any_threads(d, "[{normalize_sample: standard}, {sqrt: {negative: "
	                     "zero}}, {crop: 4}, symmetry, "
	                        "{channels: wind}]");
	dataset_free(d);
}

/* Ranks that share a host do not each start as many as the config says. */
static void test_threads(void **state)
{
	static const struct {
		int64_t wanted;
		int processors, threads;
	} t[] = { { 4, 0, 4 }, { 4, 1, 1 }, { 4, 3, 3 }, { 2, 8, 2 } };
	struct dataset *d = fixture_open(files, 2);

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		const struct data_config c = { .keep_short_batch = true, .threads = t[i].wanted,
			.prefetch = 2 };
		const struct loader_options o = {.config = &c, .training = true, .seed = 5, .batch_size = 3,
		                                 .target_dtype = DTYPE_I32, .processors = t[i].processors };
		const struct batch *b;
		struct loader *l;
		assert_int_equal(loader_new(&l, d, &o), 0);
		assert_int_equal(loader_threads(l), t[i].threads);
		for (int k = 0; k < 9; k++)
			assert_int_equal(loader_next(l, &b), 0);
		loader_free(l);
	}
	dataset_free(d);
}

static void test_seek(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	struct loader *l = start_loader(d, random_chain, true, 3, 2, 2);
	const struct batch *b;
	uint64_t want[9];
	for (int i = 0; i < 9; i++) {
		assert_int_equal(loader_next(l, &b), 0);
		want[i] = batch_hash(b);
	}
	for (int i = 8; i >= 0; i--) {
		assert_int_equal(loader_seek(l, i / 3, i % 3), 0);
		assert_int_equal(loader_next(l, &b), 0);
		assert_int_equal(b->epoch, i / 3);
		assert_int_equal(batch_hash(b), want[i]);
	}
	expect_error(loader_seek(l, 0, 3), E_DATA, "3 batches");
	loader_free(l);
	dataset_free(d);
}

static void test_steady_state_allocates_nothing(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	struct loader *l = start_loader(d, random_chain, true, 3, 2, 2);
	const struct batch *b;
	uint64_t before;
	for (int i = 0; i < 6; i++)
		assert_int_equal(loader_next(l, &b), 0);
	before = mem_count();
	for (int i = 0; i < 300; i++)
		assert_int_equal(loader_next(l, &b), 0);
	assert_int_equal(mem_count(), before);
	assert_true(loader_wait_seconds(l) >= 0);
	loader_free(l);
	dataset_free(d);
}

/* The validation set is scaled as the training set was. */
static void test_training_statistics(void **state)
{
	struct dataset *train = fixture_open(files, 1), *val = fixture_open(files + 1, 1);
	struct data_config c = { .keep_short_batch = true, .threads = 1, .prefetch = 1 };
	const struct loader_options o = { .config = &c, .batch_size = 1, .target_dtype = DTYPE_I32,
	                                 .statistics = train };
	const struct channel_stats *st = dataset_statistics(train);
	const struct batch *b;
	struct loader *l;
	assert_int_equal(ytree_parse(arena, "t.yaml", "[{normalize: standard}]", &c.transforms), 0);
	assert_int_equal(loader_new(&l, val, &o), 0);
	assert_int_equal(loader_next(l, &b), 0);
	assert_true(fabs(((const float *)batch_input(b))[1] - (401 - st->mean) / st->std) < 1e-5);
	loader_free(l);
	dataset_free(train);
	dataset_free(val);
}

/* A description answers as its set does, to the last bit. */
static void test_description(void **state)
{
	struct dataset *d = fixture_open(files, 2), *again;
	const struct channel_stats *st = dataset_statistics(d);
	struct buf text = BUF_INIT, twice = BUF_INIT;
	int64_t counts[2], before[2];
	dataset_describe(d, &text);
	assert_null(strchr(text.data, '\n'));
	assert_int_equal(dataset_from_description(&again, "test", text.data), 0);
	dataset_describe(again, &twice);
	assert_string_equal(text.data, twice.data);
	assert_true(dataset_has_samples(d) && !dataset_has_samples(again));
	assert_int_equal(dataset_info(again)->samples, N);
	assert_int_equal(dataset_info(again)->mask, 1);
	assert_string_equal(dataset_info(again)->classes[1], "odd");
	assert_memory_equal(dataset_statistics(again), st, 2 * sizeof *st);
	assert_int_equal(dataset_class_counts(d, 2, before), 0);
	assert_int_equal(dataset_class_counts(again, 2, counts), 0);
	assert_memory_equal(counts, before, sizeof counts);
	dataset_free(again);
	text.data[text.len / 2] = '\0';
	assert_int_equal(dataset_from_description(&again, "test", text.data), E_DATA);
	assert_null(again);
	err_clear();
	buf_release(&text);
	buf_release(&twice);
	dataset_free(d);
}

/* The same batches by the description of a training set as by the set. */
static void test_described_statistics(void **state)
{
	struct dataset *train = fixture_open(files, 1), *val = fixture_open(files + 1, 1), *described;
	struct data_config c = { .keep_short_batch = true, .threads = 1, .prefetch = 1 };
	struct loader_options o = { .config = &c, .batch_size = 1, .target_dtype = DTYPE_I32 };
	struct buf text = BUF_INIT;
	uint64_t hash[3];
	dataset_describe(train, &text);
	assert_int_equal(dataset_from_description(&described, "test", text.data), 0);
	assert_int_equal(ytree_parse(arena, "t.yaml", "[{normalize: standard}]", &c.transforms), 0);
	for (int i = 0; i < 3; i++) {
		const struct batch *b;
		struct loader *l;

		o.statistics = i == 0 ? train : described;
		c.statistics = i == 2 ? STATISTICS_DATA : STATISTICS_MODEL;
		assert_int_equal(loader_new(&l, val, &o), 0);
		assert_int_equal(loader_next(l, &b), 0);
		hash[i] = batch_hash(b);
		loader_free(l);
	}
	assert_int_equal(hash[0], hash[1]);
	assert_int_not_equal(hash[0], hash[2]);
	buf_release(&text);
	dataset_free(described);
	dataset_free(train);
	dataset_free(val);
}

static void test_short_batch_dropped(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	struct data_config c = { .threads = 1, .prefetch = 1 };
	struct loader_options o = {
		.config = &c, .training = true, .batch_size = 3, .target_dtype = DTYPE_I32 };
	struct loader *l;
	assert_int_equal(loader_new(&l, d, &o), 0);
	assert_int_equal(loader_batches(l), 2);
	loader_free(l);
	o.batch_size = 8;
	expect_error(loader_new(&l, d, &o), E_CONFIG, "do not fill a batch");
	assert_null(l);
	dataset_free(d);
}

/* One rank among R with a batch of B against the only one, whose batch is R B samples. */
struct sharded {
	struct loader *whole, *rank[5];
	const struct batch *all;
	int64_t at;                     /* samples of this batch that ranks before had */
	int64_t least, most;
};

/* What one rank has of the batch: the next samples, each with the same bits. */
static void check_share(struct sharded *d, const struct batch *b)
{
	const size_t input = 2 * POINTS * 4;
	assert_int_equal(b->epoch, d->all->epoch);
	assert_int_equal(b->index, d->all->index);
	assert_int_equal(b->all, d->all->n);
	if (b->absent) {
		assert_int_equal(b->n, 1);
		assert_memory_equal(batch_input(b), batch_input(d->all), input);
		d->least = 0;
		return;
	}
	assert_int_equal(b->first, d->all->first + d->at);
	assert_memory_equal(batch_input(b), (const float *)batch_input(d->all) + d->at * 2 * POINTS,
	                    (size_t)b->n * input);
	d->at += b->n;
	d->least = b->n < d->least ? b->n : d->least;
	d->most = b->n > d->most ? b->n : d->most;
}

static void deal(struct dataset *d, int ranks, int64_t batch_size, bool training)
{
	struct data_config c = { .shuffle = &shuffled, .keep_short_batch = true, .threads = 1,
	                        .prefetch = 1 };
	struct loader_options o = { .config = &c, .training = training, .seed = 5,
		.target_dtype = DTYPE_I32 };
	struct sharded t;
	const struct batch *b;
	assert_int_equal(ytree_parse(arena, "t.yaml", random_chain, &c.transforms), 0);
	o.batch_size = ranks * batch_size;
	assert_int_equal(loader_new(&t.whole, d, &o), 0);
	o.batch_size = batch_size;
	o.ranks = ranks;
	for (o.rank = 0; o.rank < ranks; o.rank++)
		assert_int_equal(loader_new(&t.rank[o.rank], d, &o), 0);
	for (int64_t k = 0; k < 2 * loader_batches(t.whole); k++) {
		t.at = t.most = 0;
		t.least = INT64_MAX;
		assert_int_equal(loader_next(t.whole, &t.all), 0);
		for (int r = 0; r < ranks; r++) {
			assert_int_equal(loader_batches(t.rank[r]), loader_batches(t.whole));
			assert_int_equal(loader_next(t.rank[r], &b), 0);
			check_share(&t, b);
			if (b->all < ranks * batch_size)
				assert_int_equal(loader_short_batch(t.rank[r]), b->n);
		}
		assert_int_equal(t.at, t.all->n);
		assert_true(t.most - t.least <= 1 && t.most <= batch_size);
	}
	for (int r = 0; r < ranks; r++)
		loader_free(t.rank[r]);
	loader_free(t.whole);
}

/* N = 7 samples: even shares, uneven ones, and fewer samples left than there are ranks. */
static void test_ranks(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	for (int ranks = 1; ranks <= 5; ranks++)
		for (int batch_size = 1; batch_size <= 4; batch_size++) {
			deal(d, ranks, batch_size, true);
			deal(d, ranks, batch_size, false);
		}
	dataset_free(d);
}

/* With micros first ranks have as much of a short batch as of a whole one, and cuts are at the
 * same places for any number of ranks. N = 7 samples: 4, then 3. */
static void test_micro_batches(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	struct data_config c = { .keep_short_batch = true, .threads = 1, .prefetch = 1 };
	struct loader_options o = { .config = &c, .training = true, .batch_size = 2, .ranks = 2,
		.micro = 2,
	                           .target_dtype = DTYPE_I32 };
	static const struct { int64_t n, first; bool absent; } want[2][4] = {
		{{2, 4, false}, {1, 6, false}}, {{1, 4, false}, {1, 5, false}, {1, 6, false}, {1, 4, true}},
	};
	struct loader *l;
	const struct batch *b;

	for (int i = 0; i < 2; i++) {
		o.ranks = i ? 4 : 2;
		o.batch_size = i ? 1 : 2;
		o.micro = o.batch_size;
		for (o.rank = 0; o.rank < o.ranks; o.rank++) {
			assert_int_equal(loader_new(&l, d, &o), 0);
			assert_int_equal(loader_next(l, &b), 0);
			assert_int_equal(b->n, o.batch_size);
			assert_int_equal(b->first, o.rank * o.batch_size);
			assert_int_equal(loader_next(l, &b), 0);
			assert_int_equal(b->n, want[i][o.rank].n);
			assert_int_equal(b->first, want[i][o.rank].first);
			assert_int_equal(b->absent, want[i][o.rank].absent);
			assert_int_equal(b->all, 3);
			assert_int_equal(loader_short_batch(l), b->n);
			loader_free(l);
		}
	}
	/* A rank without samples keeps step with a whole micro, or with all there is. */
	o = (struct loader_options){ .config = &c, .training = true, .batch_size = 5, .rank = 1,
		.ranks = 2, .micro = 5,
	                            .target_dtype = DTYPE_I32 };
	assert_int_equal(loader_new(&l, d, &o), 0);
	assert_int_equal(loader_next(l, &b), 0);
	assert_true(b->n == 2 && !b->absent && b->first == 5);
	loader_free(l);
	o.batch_size = 8;
	o.micro = 4;
	assert_int_equal(loader_new(&l, d, &o), 0);
	assert_int_equal(loader_next(l, &b), 0);
	assert_true(b->n == 4 && b->absent && b->first == 0 && b->all == 7);
	loader_free(l);
	o.micro = 8;
	assert_int_equal(loader_new(&l, d, &o), 0);
	assert_int_equal(loader_next(l, &b), 0);
	assert_true(b->n == 7 && b->absent);
	loader_free(l);
	dataset_free(d);
}

static void test_short_batch_of_ranks_dropped(void **state)
{
	struct dataset *d = fixture_open(files, 2);
	struct data_config c = { .threads = 1, .prefetch = 1 };
	struct loader_options o = { .config = &c, .training = true, .batch_size = 2, .rank = 1,
		.ranks = 2,
	                           .target_dtype = DTYPE_I32 };
	struct loader *l;
	assert_int_equal(loader_new(&l, d, &o), 0);
	assert_int_equal(loader_batches(l), 1);
	assert_int_equal(loader_short_batch(l), 0);
	assert_int_equal(loader_samples(l), N);
	loader_free(l);
	o.batch_size = 4;
	expect_error(loader_new(&l, d, &o), E_CONFIG, "a batch of 8");
	dataset_free(d);
}

static void test_damage(void **state)
{
	static const char *const bad = "test_loader_bad.tmp.dlx";
	struct buf file = BUF_INIT;
	const struct batch *b;
	struct dataset *d;
	struct loader *l;
	assert_int_equal(io_read_file(files[0], &file), 0);
	file.data[30] ^= 1;
	assert_int_equal(io_write_file(bad, file.data, file.len), 0);
	d = fixture_open(&bad, 1);
	l = start_loader(d, NULL, false, 2, 2, 2);
	expect_error(loader_next(l, &b), E_DATA, "'test_loader_bad.tmp.dlx': sample 0, array 'input', "
	             "chunk 0 at byte 16: damaged");
	assert_null(b);
	assert_int_equal(loader_next(l, &b), 0);
	assert_int_equal(sample_at(b, 0), 2);
	loader_free(l);
	l = start_loader(d, NULL, false, 2, 2, 2);   /* freed with the error still inside */
	loader_free(l);
	dataset_free(d);
	buf_release(&file);
	unlink(bad);
}

static void test_misfit(void **state)
{
	static const char *const both[] = { "test_loader_a.tmp.dlx", "test_loader_other.tmp.dlx" };
	const struct record_info info = {
		.input = { DTYPE_F32, { 1, { 2 } }, NULL, 0, NULL },
		.target = { DTYPE_I64, { 0, { 0 } }, NULL, 0, NULL },
		.mask = -1,
		.ignore = RECORD_NO_IGNORE,
	};
	const struct strings s = { 2, both, NULL };
	struct record_writer *w;
	struct dataset *d;
	io_input_forget(both[1]);
	assert_int_equal(record_create(&w, both[1], &info, 1), 0);
	assert_int_equal(record_append(w, (float[]){ 1, 2 }, &(int64_t){ 0 }), 0);
	assert_int_equal(record_commit(w), 0);
	expect_error(dataset_open(&d, &s), E_DATA, "input is f32 2, expected f32 2x4x6");
	unlink(both[1]);
}

static int start(void **state)
{
	fixture_write(files[0], A, 0);
	fixture_write(files[1], B, A);
	arena = arena_new();
	return 0;
}

static int stop(void **state)
{
	arena_free(arena);
	unlink(files[0]);
	return unlink(files[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dataset),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_merged_statistics),
		cmocka_unit_test(test_glob_and_missing),
		cmocka_unit_test(test_validation_order),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_training_order),
		cmocka_unit_test(test_same_for_any_threads),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_steady_state_allocates_nothing),
		cmocka_unit_test(test_training_statistics),
		cmocka_unit_test(test_description),
		cmocka_unit_test(test_described_statistics),
		cmocka_unit_test(test_short_batch_dropped),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_micro_batches),
		cmocka_unit_test(test_short_batch_of_ranks_dropped),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_misfit),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
