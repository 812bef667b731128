/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small FC-DenseNet taught a map it can learn, with everything of model/ and optim/ in one graph:
 * forward, loss, gradients, clipping, update; then evaluated by a second graph on the same store.
 * The reference and the CPU backend must tell the same story. */
#include <math.h>

#include "cases.h"
#include "backend/dnn/dnn.h"
#include "backend/exec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/model.h"
#include "optim/optim.h"
#include "pass/autodiff.h"
#include "pass/pass.h"

enum { N = 2, C = 3, H = 9, W = 14, CLASSES = 3, MAX_PARAMS = 64 };

static const char model_yaml[] =
	"{family: fcn, growth: 6, kernel: 3, poolings: 2, layers_per_block: [1, 1, 2, 1, 1], "
	"transition_up_kernel: 3, batch_norm: all, dropout: 0, gamma_init: 1}";
static const char optimizer_yaml[] =
	"{type: sgd, momentum: 0.9, nesterov: true, weight_decay: 1e-4}";
static const char loss_yaml[] = "{type: softmax_cross_entropy, class_weights: [1, 0.5, 2]}";

struct run {
	struct arena *a;
	struct graph *g;
	struct exec *exec;
	void *memory;
	size_t bytes;
	tid x, y, rate, step, loss, matrix;
	struct metrics *metrics;
};

static void ok(int rc)
{
	if (rc < 0)
		fail_msg("%s", err_count() ? err_get(0)->text : "failed");
}

static struct variant_value variant(struct arena *a, const char *yaml,
                                    const struct variant *variants)
{
	struct ynode *root;
	struct variant_value v;
	ok(ytree_parse(a, "test.yaml", yaml, &root));
	if (variants == model_variants)
		ok(model_read(a, root, "'model'", &v));
	else
		ok(schema_read_variant(a, root, variants, "'it'", &v));
	return v;
}

/* Clipping and update of every parameter. */
static void emit_update(struct run *r)
{
	struct variant_value o = variant(r->a, optimizer_yaml, optimizer_variants);
	struct optim_input in = { r->rate, r->step, NONE, NONE };
	struct shape scalar = { 0 };
	tid param[MAX_PARAMS], grad[MAX_PARAMS];
	int n = 0;
	ok(graph_input(r->g, "rate", DTYPE_F32, &scalar, &in.learning_rate));
	ok(graph_input(r->g, "step", DTYPE_I64, &scalar, &in.step));
	r->rate = in.learning_rate;
	r->step = in.step;
	for (tid t = 0; t < r->g->ntensor; t++)
		if (graph_t(r->g, t)->role == ROLE_PARAM)
			param[n++] = t;
	ok(autodiff(r->g, 1, &r->loss, (tid[]){ NONE }, n, param, grad));
	struct bundles *b = bundles_new(r->g, NULL, n, param, grad, BUNDLE_CACHED, NULL);
	ok(clip_emit(r->g, 1.0, b, NONE, &in.grad_scale));
	ok(optim_emit(r->g, &o, b, &in));
}

static void emit_metrics(struct run *r, tid logits)
{
	static const char *const names[] = { "accuracy" };
	struct strings list = { 1, names, NULL };
	int n;
	ok(metrics_new(&r->metrics, &list, TARGET_LABELS, CLASSES));
	ok(metrics_emit(r->metrics, r->g, logits, r->y, 255, &r->matrix, 1, &n));
}

static void build(struct run *r, bool training)
{
	struct shape x = { 4, { N, C, H, W } }, y = { 3, { N, H, W } };
	struct loss_out loss;
	struct model_outputs out;
	*r = (struct run){ .a = arena_new(), .g = graph_new() };
	struct variant_value m = variant(r->a, model_yaml, model_variants);
	struct variant_value l = variant(r->a, loss_yaml, loss_variants);
	ok(graph_input(r->g, "x", DTYPE_F32, &x, &r->x));
	ok(graph_input(r->g, "y", DTYPE_I32, &y, &r->y));
	ok(model_build(r->g, r->a, &m, training, r->x, CLASSES, &out));
	ok(loss_emit(r->g, &l, out.v[0].t, r->y, 255, NULL, &loss));
	r->loss = loss.loss;
	graph_t(r->g, r->loss)->output = true;
	if (training)
		emit_update(r);
	else
		emit_metrics(r, out.v[0].t);
}

static void plan(struct run *r, struct device *dev, const struct plan_env *how, struct store *store)
{
	static const struct pass passes[] = {
		{ "precision", "", pass_precision, STAGE_BUILT },
		{ "fold", "", pass_fold, STAGE_BUILT },
		{ "dce", "", pass_dce, STAGE_BUILT },
		{ "layout", "", pass_layout, STAGE_LAID_OUT },
		{ "sched", "", pass_sched, STAGE_LAID_OUT },
	};
	struct pass_env env = { .backend = dev->backend, .dev = dev, .plan = how };
	store_preset(store, r->g);
	ok(pass_run(r->g, passes, 5, &env));
	ok(exec_new(&r->exec, r->g, dev, how));
	r->bytes = exec_arena_bytes(r->exec) + EXEC_ARENA_SLACK;
	r->memory = mem_map(r->bytes);
	ok(exec_bind(r->exec, store, r->memory, NULL));
}

static void release(struct run *r)
{
	exec_free(r->exec);
	mem_unmap(r->memory, r->bytes);
	metrics_free(r->metrics);
	graph_free(r->g);
	arena_free(r->a);
}

/* Smooth noise; the class is the largest of the three channels, averaged over neighbours, and 255
 * here and there. */
static void make_data(float *x, int32_t *y)
{
	for (int i = 0; i < N * C * H * W; i++)
		x[i] = (float)rng_normal(1, 2, 3, (uint64_t)i);
	for (int i = 0; i < N * H * W; i++) {
		int n = i / (H * W), p = i % (H * W);
		double best = -1e9;
		for (int c = 0; c < C; c++) {
			const float *row = x + (n * C + c) * H * W;
			double v = row[p] + row[p ? p - 1 : p] + row[p + 1 < H * W ? p + 1 : p];
			if (v > best) {
				best = v;
				y[i] = c;
			}
		}
		if (i % 17 == 0)
			y[i] = 255;
	}
}

static double run_once(struct run *r, const float *x, const int32_t *y, int64_t step)
{
	double loss;
	float rate = 0.05f;
	exec_write(r->exec, r->x, DTYPE_F32, x);
	exec_write(r->exec, r->y, DTYPE_I32, y);
	if (!r->metrics)
		exec_write(r->exec, r->rate, DTYPE_F32, &rate);
	ok(exec_run(r->exec, EXEC_MICRO | EXEC_UPDATE));
	exec_read(r->exec, r->loss, DTYPE_F64, &loss);
	return loss;
}

struct story {
	double first, second, last, evaluated, accuracy;
};

static struct story teach(const char *device, enum dtype compute, uint64_t seed)
{
	static float x[N * C * H * W];
	static int32_t y[N * H * W];
	struct story s = { 0 };
	struct plan_env env = plan_env_default;
	struct device *dev;
	struct run train, eval;
	double matrix[CLASSES * CLASSES];
	const double *value = matrix;
	int n;
	make_data(x, y);
	ok(device_open(&dev, device));
	env.compute = compute;
	ok(plan_env_check(&env, dev, true));
	struct store *store = store_new(dev, seed);
	build(&train, true);
	plan(&train, dev, &env, store);
	build(&eval, false);
	plan(&eval, dev, &env, store);
	for (int i = 0; i < 30; i++) {
		s.last = run_once(&train, x, y, i);
		if (i == 0)
			s.first = s.last;
		if (i == 1)
			s.second = s.last;
	}
	s.evaluated = run_once(&eval, x, y, 0);
	exec_read(eval.exec, eval.matrix, DTYPE_F64, matrix);
	metrics_add(eval.metrics, &value);
	s.accuracy = metrics_values(eval.metrics, &n)->v[0];
	release(&eval);
	release(&train);
	store_free(store);
	device_close(dev);
	return s;
}

static void test_learns(void **state)
{
	struct story a = teach("reference", DTYPE_F32, 7), b = teach("cpu", DTYPE_F32, 7);
	assert_true(a.first > 0.5 && a.first < 5);
	assert_true(a.last < 0.5 * a.first);
	assert_true(a.accuracy > 0.8);
	assert_true(fabs(a.evaluated - a.last) < 0.5);
	assert_true(fabs(a.first - b.first) < 1e-4 * a.first);
	assert_true(fabs(a.second - b.second) < 1e-3 * a.second);
	assert_true(fabs(a.accuracy - b.accuracy) < 0.05);
}

/* The first loss, the last and the accuracy in bf16 are as far from those in float32 as other
 * initial weights are, at most. */
static void test_learns_in_bf16(void **state)
{
	enum { SEEDS = 4 };
	struct story f[SEEDS], h;
	double first = 0, last = 0, lowest = 1;
	if (dnn_bf16_support() == DNN_BF16_NONE)
		skip();
	h = teach("cpu", DTYPE_BF16, 7);
	for (int i = 0; i < SEEDS; i++) {
		f[i] = teach("cpu", DTYPE_F32, 7 + (uint64_t)i);
		first = fmax(first, fabs(f[i].first - f[0].first));
		last = fmax(last, fabs(f[i].last - f[0].last));
		lowest = fmin(lowest, f[i].accuracy);
	}
	assert_true(h.first != f[0].first);       /* else it was not bf16 */
	assert_true(fabs(h.first - f[0].first) < 0.1 * first);
	assert_true(fabs(h.last - f[0].last) <= last);
	assert_true(h.accuracy >= lowest - 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learns),
		cmocka_unit_test(test_learns_in_bf16),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
