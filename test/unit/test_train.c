/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training in process: what only counters can tell. A steady step obtains no memory; the same
 * network trained on the reference device takes the same course. Data: two record files written
 * here. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "train/run/loop.h"
#include "data_fixture.h"

static char folder[64];

static const char config_text[] =
	"run: {name: t, dir: %s/run-%s, seed: 5}\n"
	"device: %s\n"
	"model:\n"
	"  family: layers\n"
	"  layers:\n"
	"    - conv2d: {filters: 6, kernel: 3, padding: same, bias: false}\n"
	"    - batch_norm: {}\n"
	"    - relu: {}\n"
	"    - dropout: {rate: 0.2}\n"
	"    - conv2d: {filters: 2, kernel: 1}\n"
	"data: {train: %s/t.dlx, validation: %s/t.dlx, transforms: [{roll: {axis: width}}]}\n"
	"loss: {type: softmax_cross_entropy}\n"
	"metrics: [accuracy, mean_iou]\n"
	"optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}\n"
	"train: {epochs: 6, batch_size: 4}\n"
	"checkpoint: {every: null, keep: "
	"{best: 0}}\n"      /* a thread that saves allocates at any time */
	"report: {progress: none, tensorboard: true, every: 1}\n";

static struct session *open_run(const char *device, const char *tag)
{
	char text[4096], path[128];
	struct run_config *c;
	struct session *s = NULL;
	struct session_options o = { .need = SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN };
	snprintf(text, sizeof text, config_text, folder, tag, device, folder, folder);
	snprintf(path, sizeof path, "%s/t.dlx", folder);
	assert_int_equal(io_mkdirs(folder), 0);
	fixture_write(path, 10, 0);
	snprintf(path, sizeof path, "%s/c.yaml", folder);
	io_input_forget(path);
	assert_int_equal(io_write_file(path, text, strlen(text)), 0);
	int rc = config_load(&c, path, 0, NULL);
	if (rc == 0)
		rc = session_open(&s, c, &o);
	if (rc < 0)
		err_print(stderr, "test_train");
	assert_int_equal(rc, 0);
	return s;
}

static void run(struct session *s, struct train_result *r);

static void plans_come_when_needed(void **state)
{
	(void)state;
	struct train_result r;
	struct session *s = open_run("cpu", "late");
	assert_int_equal(s->nprogram, 4);        /* training and evaluation, full and short batches */
	assert_non_null(s->program[0].plan);
	for (int i = 1; i < 4; i++)
		assert_null(s->program[i].plan);
	size_t arena = s->bound_bytes;
	run(s, &r);
	for (int i = 0; i < 4; i++)
		assert_int_equal(s->program[i].plan->batch, i % 2 ? 2 : 4);
	assert_int_equal(s->bound_bytes, arena);     /* they need no more than is there */
	session_close(s);
}

/* What is alone too large for the arena has it made larger; all plans then run in the new one. */
static void the_arena_grows(void **state)
{
	(void)state;
	struct train_result a, b;
	struct session *s = open_run("cpu", "small"), *t = open_run("cpu", "grown");
	run(s, &a);
	t->arena_bytes = 2 * t->arena_bytes;
	run(t, &b);
	assert_true(t->bound_bytes >= t->arena_bytes && t->bound_bytes > s->bound_bytes);
	assert_memory_equal(&a.evaluation.loss, &b.evaluation.loss, sizeof a.evaluation.loss);
	assert_int_equal(b.step_allocations, 0);
	session_close(s);
	session_close(t);
}

static void run(struct session *s, struct train_result *r)
{
	struct train_options o = { .progress = 3 };
	int rc = train(s, &o, r);
	if (rc < 0)
		err_print(stderr, "test_train");
	assert_int_equal(rc, 0);
}

static void steps_allocate_nothing(void **state)
{
	(void)state;
	struct train_result r;
	struct session *s = open_run("cpu", "alloc");
	run(s, &r);
	assert_int_equal(r.step, 6 * 3);        /* ten samples: 4 + 4 + 2 */
	assert_int_equal(r.epoch, 6);
	assert_int_equal(r.step_allocations, 0);
	session_close(s);
}

static void reference_takes_the_same_course(void **state)
{
	(void)state;
	struct train_result a, b;
	struct session *s = open_run("cpu", "cpu"), *t = open_run("reference", "ref");
	run(s, &a);
	run(t, &b);
	assert_true(fabs(a.evaluation.loss - b.evaluation.loss) < 1e-4 * fabs(b.evaluation.loss));
	for (int i = 0; i < store_count(s->store); i++) {
		const struct store_entry *x = store_at(s->store, i), *y = store_find(t->store, x->name);
		int64_t n = shape_count(&x->shape);
		double *p = mem_alloc(sizeof *p * (size_t)n), *q = mem_alloc(sizeof *q * (size_t)n),
		       scale = 1e-3;
		assert_non_null(y);
		store_get(x, DTYPE_F64, p);
		store_get(y, DTYPE_F64, q);
		for (int64_t k = 0; k < n; k++)
			scale = fmax(scale, fabs(q[k]));
		for (int64_t k = 0; k < n; k++)
			if (fabs(p[k] - q[k]) > 2e-3 * scale)
				fail_msg("'%s' element %lld: cpu %g, reference %g", x->name, (long long)k,
				         p[k], q[k]);
		mem_free(p);
		mem_free(q);
	}
	session_close(s);
	session_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_allocate_nothing),
		cmocka_unit_test(plans_come_when_needed),
		cmocka_unit_test(the_arena_grows),
		cmocka_unit_test(reference_takes_the_same_course),
	};
	snprintf(folder, sizeof folder, "test-train-%d", (int)getpid());
	log_init("test_train", 0, 1);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	io_remove_tree(folder);
	return failed;
}
