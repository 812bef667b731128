/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans of several requests over one device: what one request requests does not show in the plan of
 * another, nor in the device. */
#include "cases.h"
#include "backend/dnn/dnn.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "graph/dump.h"
#include "plan/plan.h"

static char path[64];
static struct device *dev;
static const int64_t counts[3] = { 1, 1, 1 };
static const struct plan_data data = { .input = { 3, { 4, 32, 32 } }, .target_unknown = true,
	.classes = 3,
	.ignore = INT64_MIN, .class_counts = counts };

static const char config_text[] =
	"run: {name: t}\n"
	"model:\n"
	"  family: layers\n"
	"  input: {channels: 4, size: [32, 32]}\n"
	"  classes: 3\n"
	"  layers:\n"
	"    - conv2d: {filters: 32, kernel: 3, padding: same}\n"
	"    - relu: {}\n"
	"    - conv2d: {filters: 32, kernel: 3, padding: same}\n"
	"    - relu: {}\n"
	"    - conv2d: {filters: 3, kernel: 1}\n"
	"data: {train: none.dlx}\n"
	"loss: {type: softmax_cross_entropy}\n"
	"optimizer: {type: sgd, learning_rate: 0.05}\n"
	"train: {steps: 1, batch_size: 2}\n";

static void check(int rc)
{
	if (rc < 0)
		err_print(stderr, "test_plan");
	assert_int_equal(rc, 0);
}

/* Of the config with one more setting, or NULL. */
static struct run_config *load(const char *set)
{
	struct run_config *c;
	check(config_load(&c, path, set != NULL, &set));
	return c;
}

static struct plan *make(const struct run_config *c)
{
	const struct plan_request r = { .config = c, .objective = c->objectives.v, .dev = dev,
		.data = &data, .mode = PLAN_TRAIN, .batch = 2, .limit = INT64_MIN };
	struct plan *p;
	check(plan_new(&p, &r));
	return p;
}

/* All that a plan has decided: types, layouts, places, kernels, workspaces. */
static struct buf decided(const struct plan *p)
{
	struct buf out = BUF_INIT;
	graph_dump_text(p->g, &out);
	for (int i = 0; i < p->g->nnode; i++) {
		const char *impl = exec_impl(p->exec, i);
		buf_printf(&out, "%d %s %zu\n", i, impl ? impl : "", exec_workspace(p->exec, i));
	}
	buf_printf(&out, "%zu\n", exec_arena_bytes(p->exec));
	return out;
}

static int kernels(const struct plan *p, const char *part)
{
	int n = 0;
	for (int i = 0; i < p->g->nnode; i++) {
		const char *impl = exec_impl(p->exec, i);
		n += impl && strstr(impl, part);
	}
	return n;
}

/* A plan in float32 next to, and after, one that `set` requests, which must be another. */
static void beside(const char *set)
{
	struct run_config *plain = load(NULL), *changed = load(set);
	struct plan *a = make(plain);
	const struct device before = *dev;
	struct plan *b = make(changed), *c = make(plain);
	assert_memory_equal(&before, dev, sizeof before);
	struct buf first = decided(a), other = decided(b), second = decided(c);
	assert_string_equal(first.data, second.data);
	assert_string_not_equal(first.data, other.data);
	buf_release(&first);
	buf_release(&other);
	buf_release(&second);
	plan_free(a);
	plan_free(b);
	plan_free(c);
	config_free(plain);
	config_free(changed);
}

static void bf16_beside_float32(void **state)
{
	(void)state;
	if (dnn_bf16_support() == DNN_BF16_NONE)
		skip();
	beside("precision.compute=bf16");
}

static void without_winograd(void **state)
{
	(void)state;
	assert_int_equal(debug_parse("conv=winograd"), 0);
	struct run_config *c = load(NULL);
	struct plan *p = make(c);
	int n = kernels(p, "winograd");
	plan_free(p);
	config_free(c);
	if (n > 0)
		beside("precision.winograd=false");
	assert_int_equal(debug_parse(NULL), 0);
	if (n == 0)                      /* this processor has no such kernels */
		skip();
}

static void the_config_says_what_kernels_choose_by(void **state)
{
	(void)state;
	struct run_config *plain = load(NULL), *other = load("precision.tf32=true");
	const struct plan_env e = plan_env_of(plain, NULL), f = plan_env_of(other, NULL),
	                      *d = &plan_env_default;
	assert_int_equal(e.compute, d->compute);
	assert_int_equal(e.winograd, d->winograd);
	assert_int_equal(e.deterministic, d->deterministic);
	assert_int_equal(e.any_threads, d->any_threads);
	assert_true(f.tf32 && !e.tf32 && !d->tf32);
	assert_null(e.wisdom);
	config_free(plain);
	config_free(other);
}

static int begin(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "test_plan_%d.yaml", (int)getpid());
	return io_write_file(path, config_text, strlen(config_text)) < 0 ||
	       device_open(&dev, "cpu") < 0;
}

static int end(void **state)
{
	(void)state;
	device_close(dev);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bf16_beside_float32),
		cmocka_unit_test(without_winograd),
		cmocka_unit_test(the_config_says_what_kernels_choose_by),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
