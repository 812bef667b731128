/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a checkpoint's manifest may say although its hash is right. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "ckpt/manifest.h"
#include "ckpt/sealed.h"

static const struct ckpt_scalar scalars[] = { { "a", "1" }, { "b \"", "\n" } };
static const struct ckpt_metric metrics[] = { { "mean_iou", 0.1 }, { "loss", -2.5e-300 } };
static const struct hash128 chunks[] = { { 1, 2 }, { UINT64_MAX, 3 } };
static const char *const parents[] = { "000000000030-51c0ffee" };

static struct manifest example(struct manifest_tensor t[2])
{
	t[0] = (struct manifest_tensor){ "conv.weight", DTYPE_F32,
		shape_of(1, (int64_t[]){ 1100000 }), true, 2, chunks };
	t[1] = (struct manifest_tensor){ "step \xc3\xa9", DTYPE_F64, shape_of(2, (int64_t[]){ 0, 4 }),
		false, 0, chunks };
	return (struct manifest){ .run = "0123456789abcdef0123456789abcdef", .serial = 3, .step = 40,
		.epoch = 5, .time = 1764000000, .nparents = 1, .parent = parents, .fork = true,
		.metric_name = "mean_iou", .metric = 0.1, .nmetrics = 2, .metrics = metrics,
		.nscalars = 2, .scalar = scalars, .config = "model: {}\n", .program = "dlx",
		.data = "", .ranks = 2, .ntensors = 2, .tensor = t };
}

static void expect_same_tensor(const struct manifest_tensor *a, const struct manifest_tensor *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->dtype, b->dtype);
	assert_true(shape_equal(&a->shape, &b->shape));
	assert_int_equal(a->weight, b->weight);
	assert_int_equal(a->nchunks, b->nchunks);
	for (int64_t i = 0; i < a->nchunks; i++)
		assert_true(hash128_equal(a->chunk[i], b->chunk[i]));
}

static void test_round_trip(void **unused)
{
	struct manifest_tensor t[2];
	struct arena *a = arena_new();
	struct manifest m = example(t), got;
	struct buf b = BUF_INIT;
	char id[CKPT_ID];
	manifest_write(&b, &m);
	assert_int_equal(manifest_parse(&got, a, "x", b.data, b.len), 0);
	assert_string_equal(got.run, m.run);
	assert_int_equal(got.serial, 3);
	assert_int_equal(got.step, 40);
	assert_int_equal(got.epoch, 5);
	assert_int_equal(got.time, 1764000000);
	assert_int_equal(got.ranks, 2);
	assert_true(got.fork);
	assert_int_equal(got.nparents, 1);
	assert_string_equal(got.parent[0], parents[0]);
	assert_string_equal(got.metric_name, m.metric_name);
	assert_true(got.metric == 0.1);
	assert_int_equal(got.nmetrics, 2);
	assert_true(got.metrics[1].value == metrics[1].value);
	assert_int_equal(got.nscalars, 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(got.scalar[i].name, scalars[i].name);
		assert_string_equal(got.scalar[i].value, scalars[i].value);
		expect_same_tensor(&got.tensor[i], &t[i]);
	}
	assert_true(hash128_equal(got.hash, m.hash));
	manifest_id(&got, id);
	assert_int_equal(strlen(id), 21);
	assert_int_equal(strncmp(id, "000000000040-", 13), 0);
	buf_release(&b);
	arena_free(a);
}

/* The example's text with the first `from` replaced, under a hash that is right again. */
static int parse_edited(struct arena *a, const char *from, const char *to)
{
	struct manifest_tensor t[2];
	struct manifest m = example(t), got;
	struct buf b = BUF_INIT, edited = BUF_INIT;
	manifest_write(&b, &m);
	*strstr(b.data, ",\n  \"hash\": ") = '\0';
	const char *hit = strstr(b.data, from);
	if (!hit)
		fail_msg("no '%s'", from);
	buf_add(&edited, b.data, (size_t)(hit - b.data));
	buf_printf(&edited, "%s%s", to, hit + strlen(from));
	sealed_end(&edited, 0);
	int rc = manifest_parse(&got, a, "x.json", edited.data, edited.len);
	buf_release(&b);
	buf_release(&edited);
	return rc;
}

static void test_form(void **unused)
{
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{ "checkpoint 2", "checkpoint 3", "of a later dlx" },
		{ "checkpoint 2", "checkpoint 1", "is not 'dlx checkpoint 2'" },
		{ "\"dlx checkpoint 2\"", "1", "'format': expected a string" },
		{ "\"format\"", "\"Format\"", "'format' is missing" },
		{ "\"little\"", "\"big\"", "the byte order 'big'" },
		{ "{\n  \"format\"", "[\n  \"format\"", "expected ',' or ']'" },
		{ "\"serial\": 3", "\"serial\": -3", "'serial': expected an integer" },
		{ "\"step\": 40", "\"step\": 9223372036854775807", "'step': expected an integer" },
		{ "\"step\": 40", "\"step\": 40.0", "'step': expected an integer" },
		{ "\"epoch\": 5", "\"epoch\": \"5\"", "'epoch': expected an integer" },
		{ "\"epoch\": 5", "\"epoch\": 5, \"epoch\": 5", "stands twice" },
		{ "[\"000000000030-51c0ffee\"]", "[30]", "'parents': expected" },
		{ "[\"000000000030-51c0ffee\"]", "null", "'parents': expected" },
		{ "\"fork\": true", "\"fork\": 1", "'fork': expected" },
		{ "{\"mean_iou\": 0.1}", "0.1", "'metric': expected" },
		{ "{\"mean_iou\": 0.1}", "{\"mean_iou\": 1e999}", "'metric': expected" },
		{ "{\"mean_iou\": 0.1}", "{\"a\": 1, \"b\": 2}", "'metric': expected" },
		{ "\"a\": \"1\"", "\"a\": 1", "'a': expected a string" },
		{ "\"scalars\": {", "\"scalars\": [], \"x\": {", "'scalars': expected" },
		{ "\"tensors\": [", "\"tensors\": {}, \"x\": [", "'tensors': expected" },
		{ "\"type\": \"f32\"", "\"type\": \"f33\"", "'type': expected" },
		{ "[1100000]", "[-1]", "'shape': expected" },
		{ "[1100000]", "[9223372036854775807]", "'shape': expected" },
		{ "[1100000]", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", "'shape': expected" },
		{ "[1100000]", "[1000000]", "'chunks': expected as many" },
		{ "\"use\": \"weight\"", "\"use\": \"food\"", "'use': expected" },
		{ "00000000000000010000000000000002", "0000000000000001000000000000000",
		  "'chunks': expected addresses" },
		{ "00000000000000010000000000000002", "0000000000000001000000000000000G",
		  "'chunks': expected addresses" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *a = arena_new();
		int rc = parse_edited(a, cases[i].from, cases[i].to);
		if (rc != E_DATA || err_count() != 1 || !strstr(err_get(0)->text, cases[i].says))
			fail_msg("'%s': %d '%s'", cases[i].to, rc, err_count() ? err_get(0)->text : "");
		assert_non_null(strstr(err_get(0)->text, "'x.json'"));
		err_clear();
		arena_free(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
