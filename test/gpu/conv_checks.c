/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an emulation cannot know of a convolution on a GPU, for test/gpu/check:
 *
 *     conv_checks [--wisdom=FILE] [--other-bits] TYPE OP SAMPLE [MEAN]
 *     conv_checks --gpu
 *
 *     TYPE OP SAMPLE          against the reference, and the same bits when it is
 *                             launched eagerly, captured, and launched as a graph
 *     TYPE OP SAMPLE MEAN     of conv_statistics with one tap: mean and deviation of
 *                             each channel against sums in float64, where the mean is
 *                             MEAN deviations from zero
 *
 * With --other-bits engines may be taken that give other bits each time, and bits are not compared.
 *
 * TYPE is f32, tf32, bf16 or fp16, SAMPLE as in graph/op.h, FILE as for dlx-train. Prints the
 * engine and a digest of all bits, which two processes must agree on. Exit status: 0 right, 1
 * not, 77 the device has no such type.
 *
 * --gpu prints what cuDNN writes of the first GPU, and what dlx describes one of its name by. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CUDA
#include "backend/cuda/cuda_described.h"
#include "backend/cuda/cudnn_desc.h"
#endif
#include "backend/exec.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "op/lib/sample.h"
#include "pass/pass.h"
#include "train/run/engines.h"

static bool other_bits;

struct trial {
	struct device *dev;
	struct sample s;
	struct exec *exec;
	struct store *store;
	void *arena;
	size_t bytes;
};

static const struct pass passes[] = {
	{ "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};

static int64_t count(const struct trial *t, tid x)
{
	return shape_count(&graph_t(t->s.g, x)->shape);
}

/* Inputs are channels-last on a GPU, as those of a plan. */
static int compile(struct trial *t, const char *device, const struct op *op, const char *text,
                   const struct plan_env *plan)
{
	TRY(device_open(&t->dev, device));
	if (strcmp(device, "reference") != 0)
		TRY(plan_env_check(plan, t->dev, false));
	TRY(sample_build(&t->s, op, text, 1));
	for (int i = 0; i < t->s.node->nout; i++)
		if (t->s.node->out[i] != NONE)
			graph_t(t->s.g, t->s.node->out[i])->output = true;
	for (tid i = 0; i < t->s.g->ntensor && t->dev->driver; i++) {
		struct tensor *x = graph_t(t->s.g, i);
		if (x->role == ROLE_INPUT && x->shape.nd >= 3)
			x->layout = layout_native(&x->shape);
	}
	struct pass_env env = { .backend = t->dev->backend, .dev = t->dev, .plan = plan };
	TRY(pass_run(t->s.g, passes, 3, &env));
	TRY(exec_new(&t->exec, t->s.g, t->dev, plan));
	t->store = store_new(t->dev, 1);
	t->bytes = exec_arena_bytes(t->exec) + EXEC_ARENA_SLACK;
	t->arena = device_alloc(t->dev, t->bytes);
	if (!t->arena)
		return ERR(E_NOMEM, NULL, "no memory for %zu bytes", t->bytes);
	return exec_bind(t->exec, t->store, t->arena, NULL);
}

static void release(struct trial *t)
{
	exec_free(t->exec);
	store_free(t->store);
	if (t->arena)
		device_free(t->dev, t->arena, t->bytes);
	sample_release(&t->s);
	device_close(t->dev);
}

static int poison(struct trial *t, int with)
{
	char *p = mem_alloc(t->bytes);
	memset(p, with, t->bytes);
	int rc = device_put(t->dev, t->arena, p, t->bytes);
	mem_free(p);
	return rc;
}

static int run(struct trial *t, int with)
{
	TRY(poison(t, with));
	for (int i = 0; i < t->s.nin; i++) {
		if (t->s.in[i] == NONE)
			continue;
		const struct tensor *x = graph_t(t->s.g, t->s.in[i]);
		if (x->role == ROLE_INPUT)
			TRY(exec_write(t->exec, t->s.in[i], DTYPE_F64, t->s.value[i]));
		else
			TRY(store_set(store_find(t->store, x->name), DTYPE_F64, t->s.value[i]));
	}
	TRY(exec_run(t->exec, ~0u));
	return device_finish(t->dev);
}

static double *output(struct trial *t, int i)
{
	const tid x = t->s.node->out[i];
	double *v = mem_alloc(sizeof *v * (size_t)(count(t, x) + 1));
	if (exec_read(t->exec, x, DTYPE_F64, v) < 0)
		memset(v, 0xff, sizeof *v * (size_t)count(t, x));
	return v;
}

static uint64_t digest(struct trial *t)
{
	uint64_t sum = 0;
	for (int i = 0; i < t->s.node->nout; i++) {
		if (t->s.node->out[i] == NONE)
			continue;
		double *v = output(t, i);
		sum = hash_bytes(v, sizeof *v * (size_t)count(t, t->s.node->out[i]), sum);
		mem_free(v);
	}
	return sum;
}

/* Eagerly, captured and launched, and twice as a graph, each time in other garbage. */
static int run_all(struct trial *t, uint64_t *bits)
{
	static const int garbage[] = { 0xff, 0x00, 0x55, 0xaa };
	for (int i = 0; i < 4; i++) {
		TRY(run(t, garbage[i]));
		const uint64_t now = digest(t);
		if (i > 0 && now != *bits && !other_bits)
			return ERR(E_BUG, NULL, "run %d has other bits than the first", i + 1);
		*bits = now;
	}
	return 0;
}

/* --- against the reference --- */

static double tolerance(enum dtype type, bool tf32)
{
	return type == DTYPE_BF16 ? 1e-2 : type == DTYPE_F16 || tf32 ? 2e-3 : 3e-5;
}

static int compare(struct trial *ref, struct trial *t, int i, double allowed)
{
	const int64_t n = count(t, t->s.node->out[i]);
	double *x = output(ref, i), *y = output(t, i), scale = 1e-3, worst = 0;
	for (int64_t k = 0; k < n; k++)
		scale = fmax(scale, fabs(x[k]));
	for (int64_t k = 0; k < n; k++)
		worst = fabs(x[k] - y[k]) <= worst ? worst : fabs(x[k] - y[k]);
	mem_free(x);
	mem_free(y);
	printf("output %d is off by %.2g of its largest value, at most %.2g\n", i, worst / scale,
	       allowed);
	return worst / scale <= allowed ? 0 : ERR(E_BUG, NULL, "output %d is wrong", i);
}

static void round_inputs(struct trial *t, enum dtype type)
{
	for (int i = 0; i < t->s.nin; i++)
		for (int64_t k = 0; t->s.in[i] != NONE && k < count(t, t->s.in[i]); k++) {
			uint16_t half;
			if (graph_t(t->s.g, t->s.in[i])->shape.nd < 3)
				break;             /* vectors stay float32 */
			dtype_convert(type, &half, DTYPE_F64, &t->s.value[i][k], 1);
			dtype_convert(DTYPE_F64, &t->s.value[i][k], type, &half, 1);
		}
}

static int against_reference(struct trial *t, const char *text, enum dtype type, double allowed)
{
	struct trial ref = { 0 };
	int rc = compile(&ref, "reference", t->s.node->op, text, &plan_env_default);
	if (rc == 0 && type != DTYPE_F32)
		round_inputs(&ref, type);
	if (rc == 0)
		rc = run(&ref, 0);
	for (int i = 0; i < t->s.node->nout && rc == 0; i++)
		if (t->s.node->out[i] != NONE)
			rc = compare(&ref, t, i, allowed);
	release(&ref);
	return rc;
}

/* --- statistics --- */

/* x: noise, and 1 in the first channel, whose weights are the means; the other weights make y's
 * deviation about 1. */
static void set_values(struct trial *t, enum dtype type, double mean)
{
	const struct shape *x = &graph_t(t->s.g, t->s.in[0])->shape;
	const struct shape *w = &graph_t(t->s.g, t->s.in[1])->shape;
	const int64_t channels = x->d[1], pixels = count(t, t->s.in[0]) / x->d[0] / channels;
	for (int64_t k = 0; k < count(t, t->s.in[0]); k++)
		if (k / pixels % channels == 0)
			t->s.value[0][k] = 1;
	for (int64_t k = 0; k < w->d[0] * w->d[1]; k++)
		t->s.value[1][k] = k % channels == 0 ? (k / channels % 2 ? -mean : mean) :
		                   rng_normal(5, 0, 0, (uint64_t)k) / sqrt((double)channels);
	if (type != DTYPE_F32)
		round_inputs(t, type);
}

struct moments {
	double mean, deviation;
};

/* Of the values of channel o, in two passes. */
static struct moments true_moments(const struct trial *t, int64_t o)
{
	const struct shape *x = &graph_t(t->s.g, t->s.in[0])->shape;
	const int64_t channels = x->d[1], pixels = count(t, t->s.in[0]) / x->d[0] / channels,
	              rows = x->d[0] * pixels;
	const double *w = t->s.value[1] + o * channels;
	double *y = mem_calloc((size_t)rows, sizeof *y), sum = 0, squares = 0;
	for (int64_t r = 0; r < rows; r += pixels)
		for (int64_t c = 0; c < channels; c++) {
			const double *v = t->s.value[0] + (r / pixels * channels + c) * pixels;
			for (int64_t p = 0; p < pixels; p++)
				y[r + p] += w[c] * v[p];
		}
	for (int64_t r = 0; r < rows; r++)
		sum += y[r];
	const double mean = sum / (double)rows;
	for (int64_t r = 0; r < rows; r++)
		squares += (y[r] - mean) * (y[r] - mean);
	mem_free(y);
	return (struct moments){ mean, sqrt(squares / (double)rows) };
}

/* What batch norm makes of it may be off by half a rounding of bf16, 2e-3 deviations. A mean of 100
 * deviations loses them in the digits of 16 bits: there 5 % are right. In float32 it does not, nor
 * does one of 3000, unless sums of squares are taken from zero. */
static int check_statistics(struct trial *t, enum dtype type, double mean)
{
	const int64_t channels = graph_t(t->s.g, t->s.in[1])->shape.d[0];
	const double allowed = fabs(mean) > 20 && type != DTYPE_F32 ? 5e-2 : 2e-3;
	double *means = output(t, 1), *rstd = output(t, 2), shift = 0, ratio = 0;
	for (int64_t o = 0; o < channels; o++) {
		const struct moments m = true_moments(t, o);
		shift = fmax(shift, fabs(means[o] - m.mean) / m.deviation);
		ratio = fmax(ratio, fabs(1 / (rstd[o] * m.deviation) - 1));
		if (!isfinite(means[o]) || !isfinite(rstd[o]) || rstd[o] <= 0)
			ratio = INFINITY;
	}
	mem_free(means);
	mem_free(rstd);
	printf("the mean is off by %.2g deviations, the deviation by %.2g of itself, at most %.2g\n",
	       shift, ratio, allowed);
	return shift <= allowed && ratio <= allowed ? 0 : ERR(E_BUG, NULL, "the statistics are wrong");
}

/* --- */

static int check(struct trial *t, const struct op *op, const char *text, const struct plan_env *env,
                 const char *mean)
{
	uint64_t bits = 0;
	TRY(compile(t, "cuda", op, text, env));
	if (mean)
		set_values(t, env->compute, atof(mean));
	else if (env->compute != DTYPE_F32)
		round_inputs(t, env->compute);
	TRY(run_all(t, &bits));
	const char *impl = exec_impl(t->exec, t->s.node->id);
	printf("%s: bits %016llx by %s\n", op->name, (unsigned long long)(other_bits ? 0 : bits),
	       impl ? impl : "own kernels");
	return mean ? check_statistics(t, env->compute, atof(mean)) :
	       against_reference(t, text, env->compute, tolerance(env->compute, env->tf32));
}

#ifdef HAVE_CUDA
/* What cuDNN has no words for is reported as "{}". */
static int tell_gpu(void)
{
	const int32_t first = 0;
	struct cudnn_set s = { .status = CUDNN_STATUS_SUCCESS };
	struct buf real = BUF_INIT;
	char described[1024] = "{}", name[128] = "";
	TRY(cudnn_load());
	desc d = cudnn_make(&s, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
	cudnn_put(&s, d, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &first);
	cudnn_finalize(&s, d);
	const bool told = s.status == CUDNN_STATUS_SUCCESS &&
	                  cudnn_get_text(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, &real);
	if (told)
		sscanf(real.data, "{\"deviceName\":\"%127[^\"]", name);
	const struct gpu_model *m = gpu_model_find(name);
	if (m)
		gpu_model_json(m, described, sizeof described);
	printf("%s\n%s\n", told ? real.data : "{}", described);
	buf_release(&real);
	cudnn_release(&s);
	return 0;
}
#else
static int tell_gpu(void)
{
	return ERR(E_UNAVAILABLE, NULL, "built without CUDA");
}
#endif

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--gpu") == 0) {
		int rc = tell_gpu();
		if (rc < 0)
			err_print(stdout, "error");
		return rc < 0;
	}
	struct plan_env env = plan_env_default;
	struct trial t = { 0 };
	const char *wisdom = argc > 1 && strncmp(argv[1], "--wisdom=", 9) == 0 ? argv[1] + 9 : NULL;
	argc -= wisdom != NULL;
	argv += wisdom != NULL;
	other_bits = argc > 1 && strcmp(argv[1], "--other-bits") == 0;
	argc -= other_bits;
	argv += other_bits;
	env.deterministic = !other_bits;
	const struct op *op = argc >= 4 ? op_find(argv[2]) : NULL;
	if (!op || debug_read() < 0) {
		fprintf(stderr, "usage: conv_checks [--wisdom=FILE] [--other-bits] f32|tf32|bf16|fp16 "
		        "OP SAMPLE [MEAN]\n       conv_checks --gpu\n");
		err_print(stderr, "conv_checks");
		return 64;
	}
	env.tf32 = strcmp(argv[1], "tf32") == 0;
	env.compute = strcmp(argv[1], "bf16") == 0 ? DTYPE_BF16 :
	              strcmp(argv[1], "fp16") == 0 ? DTYPE_F16 : DTYPE_F32;
	int rc = engines_open(&env.wisdom, NULL, wisdom);
	if (rc == 0)
		rc = check(&t, op, argv[3], &env, argc > 4 ? argv[4] : NULL);
	const bool lacking = rc == E_UNAVAILABLE && !t.exec;
	if (rc < 0)
		err_print(stdout, lacking ? "conv_checks" : "error");
	release(&t);
	engines_close(env.wisdom, wisdom);
	return rc == 0 ? 0 : lacking ? 77 : 1;
}
