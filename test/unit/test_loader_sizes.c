/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training samples of several sizes: every sample once an epoch, in batches and steps of one size
 * each, in the same order on any number of ranks, after a seek, and next to a mixup. And samples
 * that are padded to one size, in batches of all. */
#include <math.h>

#include "cases.h"
#include "data/transform.h"
#include "data_fixture.h"

static struct ynode shuffled = { .kind = Y_SCALAR, .text = "true" };

static const char *const sizes[] = { "test_loader_sizes_s.tmp.dlx", "test_loader_sizes_t.tmp.dlx",
	"test_loader_sizes_u.tmp.dlx" };

enum { MIXED = 34, GLOBAL = 4, EACH = 2, MIXED_BATCHES = 10 };

/* 13 samples of 5 x 6, 17 of 9 x 12 and 4 of 6 x 6. */
static struct dataset *open_mixed(void)
{
	fixture_write_size(sizes[0], 0, 13, 5, 6);
	fixture_write_size(sizes[1], 13, 17, 9, 12);
	fixture_write_size(sizes[2], 30, 4, 6, 6);
	return fixture_open(sizes, 3);
}

static struct loader *mixed_loader(struct dataset *d, int rank, int ranks, bool keep, double alpha)
{
	const struct data_config c = { .shuffle = &shuffled, .keep_short_batch = keep, .threads = 2,
		.prefetch = 2, .mixup = { alpha } };
	const struct loader_options o = { .config = &c, .training = true, .seed = 5,
		.batch_size = GLOBAL / ranks, .step_batches = EACH, .rank = rank, .ranks = ranks,
		.target_dtype = DTYPE_I32 };
	struct loader *l;
	assert_int_equal(loader_new(&l, d, &o), 0);
	return l;
}

/* The sample at place k of a batch, which has to be whole and of the batch's size. */
static int whole_sample_at(const struct loader *l, const struct batch *b, int k)
{
	const struct shape *s = loader_size(l, b->size).input;
	const int64_t h = s->d[1], w = s->d[2];
	const float *x = (const float *)batch_input(b) + k * h * w;
	const int32_t *t = (const int32_t *)batch_target(b) + k * h * w;
	const int sample = (int)x[0] / 1000;
	assert_int_equal(h, sample < 13 ? 5 : sample < 30 ? 9 : 6);
	for (int i = 0; i < h * w; i++) {
		assert_true(x[i] == (float)(1000 * sample + 20 * (i / w) + i % w));
		assert_int_equal(t[i], i / w % 2);
	}
	return sample;
}

/* Batch by batch, the samples of three epochs as all ranks have them together; also what each batch
 * says of itself. */
static void read_mixed(struct dataset *d, int ranks, int *order, int *size_of_batch)
{
	struct loader *l[4];
	int n = 0;
	for (int r = 0; r < ranks; r++)
		l[r] = mixed_loader(d, r, ranks, true, 0);
	for (int k = 0; k < 3 * MIXED_BATCHES; k++) {
		const int before = n;

		for (int r = 0; r < ranks; r++) {
			const struct batch *b;

			assert_int_equal(loader_next(l[r], &b), 0);
			size_of_batch[k] = r ? size_of_batch[k] : b->size;
			assert_int_equal(b->size, size_of_batch[k]);
			assert_int_equal(b->epoch, k / MIXED_BATCHES);
			for (int i = 0; i < b->n && !b->absent; i++) {
				assert_int_equal(b->first + i, n % MIXED);
				order[n++] = whole_sample_at(l[r], b, i);
			}
			assert_true(r + 1 < ranks || b->all == n - before);
		}
		assert_int_equal(loader_samples_before(l[0], k / MIXED_BATCHES, k % MIXED_BATCHES),
		                 before % MIXED);
	}
	assert_int_equal(n, 3 * MIXED);
	for (int r = 0; r < ranks; r++)
		loader_free(l[r]);
}

/* Samples of several sizes without windows: each once an epoch, in batches and steps of one size,
 * in an order that the number of ranks does not change. */
static void test_apart(void **state)
{
	struct dataset *d = open_mixed();
	struct loader *l = mixed_loader(d, 0, 1, true, 0);
	int order[4][3 * MIXED], size[4][3 * MIXED_BATCHES], moved = 0, steps = 0;
	assert_int_equal(loader_sizes(l), 3);
	assert_int_equal(loader_size(l, 0).input->d[1], 9);
	assert_int_equal(loader_size(l, 0).samples, 17);
	assert_int_equal(loader_size(l, 0).batches, 5);
	assert_int_equal(loader_size(l, 0).short_batch, 1);
	assert_int_equal(loader_size(l, 1).input->d[1], 6);
	assert_int_equal(loader_size(l, 1).batches, 1);
	assert_int_equal(loader_size(l, 1).short_batch, 0);
	assert_int_equal(loader_size(l, 2).batches, 4);
	assert_int_equal(loader_batches(l), MIXED_BATCHES);
	assert_int_equal(loader_steps(l), 6);
	assert_int_equal(loader_samples_before(l, 0, MIXED_BATCHES), MIXED);
	read_mixed(d, 1, order[1], size[1]);
	for (int e = 0; e < 3; e++) {
		int64_t seen = 0;

		for (int i = 0; i < MIXED; i++)
			seen |= INT64_C(1) << order[1][e * MIXED + i];
		assert_true(seen == (INT64_C(1) << MIXED) - 1);
		moved += memcmp(size[1] + e * MIXED_BATCHES, size[1], 3 * EACH * sizeof(int)) != 0;
		for (int64_t k = 0, n; k < MIXED_BATCHES; k += n, steps++) {
			n = loader_step_batches(l, e, k);
			assert_true(n == EACH || (n == 1 && k >= 3 * EACH));
			assert_int_equal(size[1][e * MIXED_BATCHES + k],
			                 size[1][e * MIXED_BATCHES + k + n - 1]);
		}
	}
	assert_int_equal(steps, 3 * 6);
	assert_true(moved > 0);
	for (int ranks = 2; ranks <= 4; ranks += 2) {
		read_mixed(d, ranks, order[0], size[0]);
		assert_memory_equal(order[0], order[1], sizeof(order[0]));
		assert_memory_equal(size[0], size[1], sizeof(size[0]));
	}
	loader_free(l);
	dataset_free(d);
}

static void test_apart_resumed(void **state)
{
	struct dataset *d = open_mixed();
	struct loader *l = mixed_loader(d, 0, 1, true, 0), *dropping = mixed_loader(d, 0, 1, false, 0);
	int want[2 * MIXED_BATCHES];
	const struct batch *b;
	for (int i = 0; i < 2 * MIXED_BATCHES; i++) {
		assert_int_equal(loader_next(l, &b), 0);
		want[i] = whole_sample_at(l, b, (int)b->n - 1);
	}
	for (int i = 2 * MIXED_BATCHES - 1; i >= 0; i--) {
		assert_int_equal(loader_seek(l, i / MIXED_BATCHES, i % MIXED_BATCHES), 0);
		assert_int_equal(loader_next(l, &b), 0);
		assert_int_equal(b->index, i % MIXED_BATCHES);
		assert_int_equal(whole_sample_at(l, b, (int)b->n - 1), want[i]);
	}
	/* 17 = 16 + 1, 13 = 12 + 1 */
	assert_int_equal(loader_batches(dropping), 8);
	assert_int_equal(loader_samples(dropping), MIXED);
	assert_int_equal(loader_samples_before(dropping, 0, 8), MIXED - 2);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(loader_next(dropping, &b), 0);
		assert_int_equal(b->n, GLOBAL);
	}
	loader_free(dropping);
	loader_free(l);
	dataset_free(d);
}

/* A sample is blended with one of its own size. */
static void test_apart_blended(void **state)
{
	struct dataset *d = open_mixed();
	struct loader *l = mixed_loader(d, 0, 1, true, 0), *m = mixed_loader(d, 0, 1, true, 0.4);
	const struct batch *a, *b;
	int others = 0;
	for (int i = 0; i < 2 * MIXED_BATCHES; i++) {
		assert_int_equal(loader_next(l, &a), 0);
		assert_int_equal(loader_next(m, &b), 0);
		for (int k = 0; k < b->n && b->share < 0.9; k++) {
			const int s = whole_sample_at(l, a, k);
			const int each = (int)shape_count(loader_size(l, b->size).input);
			const double first = ((const float *)batch_input(b))[k * each];
			const int p = (int)lround((first / 1000 - b->share * s) / (1 - b->share));

			assert_int_equal(p < 13 ? 5 : p < 30 ? 9 : 6, loader_size(l, b->size).input->d[1]);
			others += p != s;
		}
	}
	assert_true(others > 0);
	loader_free(m);
	loader_free(l);
	dataset_free(d);
}

static int stop(void **state)
{
	for (int i = 0; i < 3; i++)
		unlink(sizes[i]);
	return 0;
}

/* A loader that may leave transforms to a device, of which only one size allows it, gives what one
 * gives that may not. */
static void same_batches(struct dataset *d, struct loader_options *o)
{
	struct loader *l[2];
	for (int i = 0; i < 2; i++) {
		o->stored_input = i;
		assert_int_equal(loader_new(&l[i], d, o), 0);
		assert_int_equal(loader_seek(l[i], 0, 0), 0);
		assert_int_equal(loader_sizes(l[i]), 1);
		assert_false(loader_rest(l[i])->values);
	}
	for (int k = 0; k < (MIXED + 4) / 5; k++) {
		const struct batch *x, *y;

		assert_int_equal(loader_next(l[0], &x), 0);
		assert_int_equal(loader_next(l[1], &y), 0);
		assert_int_equal(y->n, x->n);
		assert_memory_equal(batch_input(y), batch_input(x), (size_t)x->n * 9 * 12 * sizeof(float));
	}
	loader_free(l[0]);
	loader_free(l[1]);
}

static void test_alike(void **state)
{
	struct arena *a = arena_new();
	struct ynode *list;
	assert_int_equal(ytree_parse(a, "t.yaml", "[{normalize: {method: standard, mean: 5, std: 2, "
	                             "mask: null}}, {pad: [9, 12]}]", &list), 0);
	const struct data_config c = { .transforms = list, .shuffle = &shuffled,
		.keep_short_batch = true, .threads = 2, .prefetch = 2 };
	struct loader_options o = { .config = &c, .batch_size = 5, .target_dtype = DTYPE_F32 };
	struct dataset *d = open_mixed();
	same_batches(d, &o);
	o.training = true;
	same_batches(d, &o);
	dataset_free(d);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_apart_resumed),
		cmocka_unit_test(test_apart_blended),
		cmocka_unit_test(test_alike),
	};
	return cmocka_run_group_tests(tests, NULL, stop);
}
