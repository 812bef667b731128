/* SPDX-License-Identifier: BSD-3-Clause
 *
 * metrics.jsonl: the lines byte by byte, and what a resumed run leaves of them. */
#include <math.h>
#include <sys/stat.h>

#include "cases.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "report/jsonl.h"
#include "files.h"

static int setup(void **state)
{
	return place_new(state, "jsonl-XXXXXX", "metrics.jsonl");
}

static void test_lines(void **state)
{
	const char *path = ((struct place *)*state)->path;
	const double iou[] = { 0.8, 0.7, NAN }, mean = 0.75;
	const struct jsonl_metric metrics[] = {
		{ "mean_iou", 1, false, 0, &mean }, { "iou", 3, true, 0, iou },
		{ "none", 0, true, 0, NULL },
		{ "confusion", 4, true, 2, (const double[]){ 5, 1, 0, 7 } },
	};
	struct jsonl *j;
	assert_int_equal(jsonl_open(&j, path, JSONL_FRESH), 0);
	assert_int_equal(jsonl_step(j, &(struct jsonl_step){ 10, 1, 0.41, 0.05, 8.1, 12.7, 80 }), 0);
	/* A line is there when the call returns. */
	assert_content(path, "{\"type\": \"step\", \"step\": 10, \"epoch\": 1, \"loss\": 0.41, "
	               "\"learning_rate\": 0.05, \"samples_per_second\": 8.1, \"seconds\": "
	               "12.7, \"samples\": 80}\n");
	jsonl_close(j);
	assert_int_equal(jsonl_open(&j, path, JSONL_FRESH), 0);
	assert_int_equal(jsonl_validation(j, &(struct jsonl_validation){ 40, 5, 320, 1.5, INFINITY,
		metrics, 4 }), 0);
	assert_int_equal(jsonl_validation(j, &(struct jsonl_validation){ 41, 5, 328, 2, 0.5, NULL, 0 }),
	                 0);
	struct jsonl_checkpoint c = { .step = 40, .id = "000000000040-\"9f\"", .durable = "host",
		.bytes = UINT64_C(1) << 40, .raw = UINT64_C(1) << 41, .seconds = 0.2, .staged = 0.125,
		.stall = 0.0625 };
	assert_int_equal(jsonl_checkpoint(j, &c), 0);
	c.interval = 900;
	assert_int_equal(jsonl_checkpoint(j, &c), 0);
	assert_int_equal(jsonl_slow(j, 41, 328, 2.5, ", \"reasons\": [\"data\"]"), 0);
	jsonl_close(j);
	assert_content(path, "{\"type\": \"validation\", \"step\": 40, \"epoch\": 5, \"seconds\": 1.5, "
	               "\"samples\": 320, \"loss\": null, "
	               "\"metrics\": {\"mean_iou\": 0.75, \"iou\": [0.8, 0.7, null], \"none\": [], "
	               "\"confusion\": [[5, 1], [0, 7]]}}\n"
	               "{\"type\": \"validation\", \"step\": 41, \"epoch\": 5, \"seconds\": 2, "
	               "\"samples\": 328, \"loss\": 0.5, \"metrics\": {}}\n"
	               "{\"type\": \"checkpoint\", \"step\": 40, \"id\": \"000000000040-\\\"9f\\\"\", "
	               "\"durable\": \"host\", \"bytes\": 1099511627776, "
	               "\"raw\": 2199023255552, \"staged\": 0.125, "
	               "\"seconds\": 0.2, \"stall\": 0.0625}\n"
	               "{\"type\": \"checkpoint\", \"step\": 40, \"id\": \"000000000040-\\\"9f\\\"\", "
	               "\"durable\": \"host\", \"bytes\": 1099511627776, "
	               "\"raw\": 2199023255552, \"staged\": 0.125, "
	               "\"seconds\": 0.2, \"stall\": 0.0625, \"interval\": 900}\n"
	               "{\"type\": \"slow\", \"step\": 41, \"seconds\": 2.5, \"samples\": 328, "
	               "\"reasons\": [\"data\"]}\n");
}

static void test_start(void **state)
{
	const char *path = ((struct place *)*state)->path;
	struct jsonl_start s = { .step = 7, .time = 1700000000, .name = "a \"b\"", .version = "1",
		.ranks = 4, .hosts = 2,
		.threads = 8, .host = "h", .device = "cpu", .device_description = "d", .precision = "f32",
		.batch = 32,
		.samples = 1000, .metric = "mae", .best = NAN, .parameters = 12, .sample_flops = 1e9 };
	struct jsonl *j;
	assert_int_equal(jsonl_open(&j, path, JSONL_FRESH), 0);
	assert_int_equal(jsonl_start(j, &s), 0);
	s.step = 0;
	s.peak_flops = 2e9;
	s.scheduler = "slurm";
	s.job = "17";
	s.element = "3";
	s.restarts = 1;
	assert_int_equal(jsonl_start(j, &s), 0);
	s.best = 0.25;
	s.best_step = 3;
	s.scheduler = s.job = s.element = NULL;
	s.peak_flops = 0;
	assert_int_equal(jsonl_start(j, &s), 0);
	jsonl_close(j);
#define BEGIN "\"time\": 1700000000, \"name\": \"a \\\"b\\\"\", \"version\": \"1\", "      \
	"\"ranks\": 4, \"hosts\": 2, "                                                          \
	"\"threads\": 8, \"host\": \"h\", \"device\": \"cpu\", \"device_description\": \"d\", " \
	"\"precision\": \"f32\", "                                                              \
	"\"batch\": 32, \"samples\": 1000, \"metric\": \"mae\", "
#define END "\"parameters\": 12, \"sample_flops\": 1000000000"
#define COMMON BEGIN END
	assert_content(path, "{\"type\": \"start\", \"step\": 7, " COMMON
	               "}\n{\"type\": \"start\", \"step\": 0, " COMMON
	               ", \"peak_flops\": 2000000000, \"scheduler\": \"slurm\", \"job\": "
	               "\"17\", \"element\": \"3\", "
	               "\"restarts\": 1}\n{\"type\": \"start\", \"step\": 0, " BEGIN
	               "\"best\": 0.25, \"best_step\": 3, " END "}\n");
}

static void resume(const char *path, const char *before, int64_t step, const char *after)
{
	struct jsonl *j;
	assert_int_equal(io_write_file(path, before, strlen(before)), 0);
	assert_int_equal(jsonl_open(&j, path, step), 0);
	assert_content(path, after);
	const struct jsonl_checkpoint c = { .step = 9, .id = "x", .durable = "store" };
	assert_int_equal(jsonl_checkpoint(j, &c), 0);
	jsonl_close(j);
}

static void test_resume(void **state)
{
	const char *path = ((struct place *)*state)->path;
	struct jsonl *j;
	resume(path, "{\"step\": 1}\n{\"step\": 3}\n{\"step\": 2}\n{\"step\": 4}\n", 2,
	       "{\"step\": 1}\n{\"step\": 2}\n");
	resume(path, "{\"step\": 1}\n{\"step\": 2}\n", 2, "{\"step\": 1}\n{\"step\": 2}\n");
	/* An unfinished line goes, whatever its step; what is no step line stays. */
	resume(path, "{\"step\": 1}\n{\"step\": 2}", 5, "{\"step\": 1}\n");
	resume(path, "note\n{}\n[9]\n\n{\"step\": \"9\"}\n{\"step\": 9, \"step\": 9}\n", 5,
	       "note\n{}\n[9]\n\n{\"step\": \"9\"}\n{\"step\": 9, \"step\": 9}\n");
	resume(path, "", 0, "");
	resume(path, "{\"step\": 1}\n", 0, "");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(jsonl_open(&j, path, 7), 0);
	jsonl_close(j);
	assert_content(path, "");
}

/* A process that is killed after a validation, before the checkpoint that has its metric, repeats
 * it. */
static void test_repeated_validation(void **state)
{
	const char *path = ((struct place *)*state)->path;
	const char before[] = "{\"type\": \"validation\", \"step\": 3}\n"
	                      "{\"type\": \"step\", \"step\": 6}\n"
	                      "{\"type\": \"validation\", \"step\": 6, \"loss\": 2}\n"
	                      "{\"type\": \"checkpoint\", \"step\": 6}\n";
#define VALIDATION(step, loss) "{\"type\": \"validation\", \"step\": " step ", \"epoch\": 2, "  \
	"\"seconds\": 4, \"samples\": 48, \"loss\": " loss ", \"metrics\": {}}\n"
	struct jsonl_validation v = { 6, 2, 48, 4, 0.5, NULL, 0 };
	struct jsonl *j;
	assert_int_equal(io_write_file(path, before, strlen(before)), 0);
	assert_int_equal(jsonl_open(&j, path, 6), 0);
	assert_content(path, before);
	assert_int_equal(jsonl_validation(j, &v), 0);
	v.step = 9;
	assert_int_equal(jsonl_validation(j, &v), 0);
	jsonl_close(j);
	assert_content(path, "{\"type\": \"validation\", \"step\": 3}\n"
	               "{\"type\": \"step\", \"step\": 6}\n"
	               "{\"type\": \"checkpoint\", \"step\": 6}\n"
	               VALIDATION("6", "0.5") VALIDATION("9", "0.5"));
}

static void test_errors(void **state)
{
	const char *path = ((struct place *)*state)->path;
	struct jsonl *j;
	assert_int_equal(jsonl_open(&j, "/no/such/folder/x", JSONL_FRESH), E_CANTCREATE);
	assert_null(j);
	assert_non_null(strstr(err_get(0)->text, "'/no/such/folder/x'"));
	err_clear();
	assert_int_equal(jsonl_open(&j, "/dev/full", JSONL_FRESH), E_CANTCREATE);
	err_clear();
	assert_int_equal(jsonl_open(&j, path, JSONL_FRESH), 0);
	assert_int_equal(debug_parse("fault=append:1+"), 0);
	const struct jsonl_checkpoint c = { .step = 1, .id = "x", .durable = "store" };
	assert_int_equal(jsonl_checkpoint(j, &c), E_IO);
	debug_parse(NULL);
	assert_non_null(strstr(err_get(0)->text, path));
	err_clear();
	jsonl_close(j);
}

static void test_allocates_nothing(void **state)
{
	struct jsonl *j;
	uint64_t before;
	assert_int_equal(jsonl_open(&j, ((struct place *)*state)->path, JSONL_FRESH), 0);
	assert_int_equal(jsonl_step(j, &(struct jsonl_step){ 1000, 1, 1.0 / 3, 1e-9, 2.0 / 3, 1 }), 0);
	before = mem_count();
	for (int i = 0; i < 100; i++)
		assert_int_equal(jsonl_step(j, &(struct jsonl_step){ i, 1, 0.5, 0.1, i, i }), 0);
	assert_int_equal(mem_count(), before);
	jsonl_close(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup, place_free),
		cmocka_unit_test_setup_teardown(test_start, setup, place_free),
		cmocka_unit_test_setup_teardown(test_resume, setup, place_free),
		cmocka_unit_test_setup_teardown(test_repeated_validation, setup, place_free),
		cmocka_unit_test_setup_teardown(test_errors, setup, place_free),
		cmocka_unit_test_setup_teardown(test_allocates_nothing, setup, place_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
