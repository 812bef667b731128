/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every op, every sample, from the one string in its record:
 *
 *   shape       the op takes the sample and makes its outputs
 *   gradient    the rule against central differences, in float64 on the reference kernels
 *   cpu         forward and gradient on the CPU backend against the reference, inputs row-major and
 *               channels-last, step arena filled with NaN before
 *   float64     the same with the CPU computing in float64, for ops that have kernels for that
 *   bf16, fp16  the same with the device computing in 16 bits, for ops that take part in it
 *   twice       the same bits again from a differently poisoned arena
 *   proof       kernels that are chosen for what the machine has pass the proof that a run makes
 *               of them (backend/proof/proof.h); with DLX_DEBUG=proof=no there is none
 *
 * Usage: optest [--device=cpu|cuda] [--kernels] [--shard=K/N] [--sample=TEXT] [--wisdom=FILE]
 * [OP...]: the device compared with the reference is the CPU unless another is named; every op must
 * have a kernel there, and on a GPU one that takes 16 bits, but for those of a list (f32_only).
 * --kernels leaves out the check of gradient rules, which is slow and the same for all kernels; the
 * short form under sanitizers leaves it out, too. --shard takes every Nth sample from the Kth on,
 * so that N processes share the work; --sample only this one, which need not be one of the op's.
 * --wisdom is dlx-train's: engines that the file or its folder has are neither measured nor
 * compiled again. Prints a line for each failure and "N passed, N failed" at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/exec.h"
#include "backend/proof/proof.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "op/lib/sample.h"
#include "pass/autodiff.h"
#include "pass/pass.h"
#include "train/run/engines.h"

#define MAX_OUT 16
#define FD_ELEMENTS 8           /* elements of each input that are moved one at a time */
#define FD_STEP 1e-5
/* that all elements of an input are moved in at once, up or down each */
#define FD_DIRECTIONS 2
/* so that of many elements none comes over the kink of a relu or a maximum */
#define FD_SMALL_STEP 1e-7
#define FD_TOLERANCE 1e-6       /* of the largest gradient, times the length of the direction */
#define CPU_TOLERANCE 3e-5      /* of the largest magnitude in the tensor */
#define BF16_TOLERANCE 1e-2     /* where tensors on the way there are bf16 */
#define FP16_TOLERANCE 2e-3
#define DOUBLE_TOLERANCE 1e-13

static int passed, failed;
static bool kernels_only;
static int shard = 1, shards = 1, samples;
static const char *wisdom_path;         /* NULL: none */
static const char *given_sample;        /* NULL: those of the ops */
static const char *cur_op, *cur_text, *cur_what;

static void fail(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	printf("not ok - %s '%s' %s: ", cur_op, cur_text, cur_what);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	if (err_count())
		err_print(stdout, "  optest");
	err_clear();
	failed++;
}

/* One sample compiled for one device: the node, and the
 * gradients of its inputs for given output gradients. */
struct trial {
	struct sample s;
	struct device *dev;
	const struct plan_env *env;
	struct exec *exec;
	struct store *store;
	void *arena;
	size_t arena_bytes;
	tid out[MAX_OUT];              /* outputs of the node; update outputs read
	                                * back through their states */
	int nout;
	tid dy[MAX_OUT];               /* inputs of the graph, NONE where the
	                                * output carries no gradient */
	double *dy_value[MAX_OUT];
	tid wrt[SAMPLE_MAX_IN];
	int wrt_in[SAMPLE_MAX_IN];     /* which input each is */
	int nwrt;
	tid dx[SAMPLE_MAX_IN];
};

static void trial_release(struct trial *t)
{
	exec_free(t->exec);
	store_free(t->store);
	if (t->dev)
		device_free(t->dev, t->arena, t->arena_bytes);
	sample_release(&t->s);
}

static bool carries_gradient(const struct op *op, int i)
{
	return i == 0 || (op->diff_out >> i & 1);
}

/* Inputs that stand for output gradients, then autodiff. */
static int add_gradient(struct trial *t)
{
	struct graph *g = t->s.g;
	const struct op *op = t->s.node->op;
	for (int i = 0; i < t->nout; i++) {
		t->dy[i] = NONE;
		if (t->out[i] == NONE || !carries_gradient(op, i))
			continue;
		const struct shape *s = &graph_t(g, t->out[i])->shape;
		char name[16];
		snprintf(name, sizeof name, "dy%d", i);
		TRY(graph_input(g, name, DTYPE_F32, s, &t->dy[i]));
		t->dy_value[i] = ARENA_ARRAY(g->arena, double, shape_count(s));
		for (int64_t k = 0; k < shape_count(s); k++)
			t->dy_value[i][k] = (float)rng_normal(99, (uint64_t)i, 0, (uint64_t)k);
	}
	for (int i = 0; i < t->s.nin; i++)
		if (t->s.in[i] != NONE && graph_t(g, t->s.in[i])->requires_grad) {
			t->wrt_in[t->nwrt] = i;
			t->wrt[t->nwrt++] = t->s.in[i];
		}
	tid y[MAX_OUT], dy[MAX_OUT];
	int ny = 0;
	for (int i = 0; i < t->nout; i++)
		if (t->dy[i] != NONE) {
			y[ny] = t->out[i];
			dy[ny++] = t->dy[i];
		}
	TRY(autodiff(g, ny, y, dy, t->nwrt, t->wrt, t->dx));
	for (int i = 0; i < t->nwrt; i++)
		if (t->dx[i] != NONE)
			graph_t(g, t->dx[i])->output = true;
	return 0;
}

static void set_native(struct trial *t)
{
	for (tid i = 0; i < t->s.g->ntensor; i++) {
		struct tensor *x = graph_t(t->s.g, i);
		if (x->role == ROLE_INPUT && x->shape.nd >= 3)
			x->layout = layout_native(&x->shape);
	}
}

/* --- bf16: as much of the graph as the kernels take, without casts --- */

static bool is_half(const struct graph *g, tid t)
{
	return t != NONE && dtype_is_16bit(graph_t(g, t)->dtype);
}

/* Whether the node takes its tensors as they are; if not, those at fault become f32. */
static bool settle_half(struct graph *g, const struct node *n, enum backend backend)
{
	const struct kernel *k = &n->op->kernel[backend];
	bool view = n->op->flags & OP_VIEW,
	     narrow = view || (k->bf16 != KB_EACH && k->bf16 != KB_SOURCE), all = true, settled = true;
	for (int i = 0; i < n->nin + n->nout; i++) {
		bool out = i >= n->nin, takes = view || kernel_takes_bf16(k, out, out ? i - n->nin : i);
		tid t = out ? n->out[i - n->nin] : n->in[i];
		if (is_half(g, t) && !takes) {
			graph_t(g, t)->dtype = DTYPE_F32;
			settled = false;
		}
		all &= t == NONE || !takes || is_half(g, t) || (out && k->bf16 == KB_FASTER);
	}
	for (int i = 0; i < n->nin + n->nout && narrow && !all; i++) {
		tid t = i < n->nin ? n->in[i] : n->out[i - n->nin];
		if (is_half(g, t)) {
			graph_t(g, t)->dtype = DTYPE_F32;
			settled = false;
		}
	}
	return settled;
}

static int pass_half(struct graph *g, struct pass_env *env)
{
	bool settled = false;
	for (tid t = 0; t < g->ntensor && dtype_is_16bit(env->plan->compute); t++)
		if (graph_t(g, t)->dtype == DTYPE_F32 && graph_t(g, t)->role != ROLE_CONSTANT)
			graph_t(g, t)->dtype = env->plan->compute;
	while (!settled) {
		settled = true;
		for (int i = 0; i < g->nnode; i++)
			settled &= settle_half(g, g->node[i], env->backend);
	}
	return 0;
}

static bool takes_part(const struct op *op, const struct device *dev)
{
	const struct kernel *k = &op->kernel[dev->backend];
	return k->bf16_in || k->bf16_out;
}

static void round_values(enum dtype type, double *v, int64_t n)
{
	for (int64_t k = 0; k < n; k++) {
		uint16_t half;
		dtype_convert(type, &half, DTYPE_F64, &v[k], 1);
		dtype_convert(DTYPE_F64, &v[k], type, &half, 1);
	}
}

static void round_both(const struct graph *g, tid t, double *one, double *other)
{
	if (!is_half(g, t))
		return;
	const struct tensor *x = graph_t(g, t);
	round_values(x->dtype, one, shape_count(&x->shape));
	round_values(x->dtype, other, shape_count(&x->shape));
}

/* The reference gets the values that the other reads. */
static void round_inputs(struct trial *ref, struct trial *half)
{
	for (int i = 0; i < half->s.nin; i++)
		round_both(half->s.g, half->s.in[i], ref->s.value[i], half->s.value[i]);
	for (int i = 0; i < half->nout; i++)
		if (half->dy_value[i])
			round_both(half->s.g, half->dy[i], ref->dy_value[i], half->dy_value[i]);
}

static int pass_types(struct graph *g, struct pass_env *env)
{
	return backend_is_double(env->backend) ? pass_precision(g, env) : pass_half(g, env);
}

static const struct pass passes[] = {
	{ "precision", "", pass_types, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};

static int compile(struct trial *t, const struct op *op, const char *text, struct device *dev,
                   const struct plan_env *plan, bool gradient, bool native)
{
	memset(t, 0, sizeof *t);
	t->dev = dev;
	t->env = plan;
	TRY(sample_build(&t->s, op, text, 1));
	struct graph *g = t->s.g;
	t->nout = t->s.node->nout;
	for (int i = 0; i < t->nout; i++) {
		t->out[i] = t->s.node->out[i];
		if (t->out[i] != NONE)
			graph_t(g, t->out[i])->output = true;
	}
	if (gradient)
		TRY(add_gradient(t));
	if (native)
		set_native(t);
	struct pass_env env = { .backend = dev->backend, .dev = dev, .plan = plan };
	TRY(pass_run(g, passes, 3, &env));
	TRY(exec_new(&t->exec, g, dev, plan));
	t->store = store_new(dev, 1);
	t->arena_bytes = exec_arena_bytes(t->exec) + 64;
	t->arena = device_alloc(t->dev, t->arena_bytes);
	return exec_bind(t->exec, t->store, t->arena, NULL);
}

static void set_input(struct trial *t, int i)
{
	struct tensor *x = graph_t(t->s.g, t->s.in[i]);
	if (x->role == ROLE_INPUT)
		exec_write(t->exec, t->s.in[i], DTYPE_F64, t->s.value[i]);
	else
		store_set(store_find(t->store, x->name), DTYPE_F64, t->s.value[i]);
}

static int fill_arena(struct trial *t, int poison)
{
	size_t n = exec_arena_bytes(t->exec);
	void *p = mem_alloc(n);
	memset(p, poison, n);
	int rc = device_put(t->dev, t->arena, p, n);
	mem_free(p);
	return rc;
}

static int run_phases(struct trial *t, int poison, unsigned phases)
{
	TRY(fill_arena(t, poison));
	for (int i = 0; i < t->s.nin; i++)
		if (t->s.in[i] != NONE)
			set_input(t, i);
	for (int i = 0; i < t->nout; i++)
		if (t->dy_value[i])
			exec_write(t->exec, t->dy[i], DTYPE_F64, t->dy_value[i]);
	return exec_run(t->exec, phases);
}

static int run(struct trial *t, int poison)
{
	return run_phases(t, poison, ~0u);
}

static double *read_tensor(struct trial *t, tid x)
{
	int64_t n = shape_count(&graph_t(t->s.g, x)->shape);
	double *v = mem_alloc(sizeof *v * (size_t)(n + 1));
	exec_read(t->exec, x, DTYPE_F64, v);
	return v;
}

/* <y, dy> over the outputs that carry gradient. With more digits than they have, since
 * differences are taken of it. */
static long double objective(struct trial *t)
{
	long double sum = 0;
	for (int i = 0; i < t->nout; i++) {
		if (!t->dy_value[i])
			continue;
		double *y = read_tensor(t, t->out[i]);
		int64_t n = shape_count(&graph_t(t->s.g, t->out[i])->shape);
		for (int64_t k = 0; k < n; k++)
			sum += (long double)y[k] * t->dy_value[i][k];
		mem_free(y);
	}
	return sum;
}

/* A way to move the n elements of an input: all by the step, each up or down, or one alone. */
struct direction {
	int64_t n, alone;               /* the one, or -1 */
	uint64_t number;
	double step, length;
};

static double direction_at(const struct direction *d, int64_t k)
{
	if (d->alone >= 0)
		return k == d->alone;
	return rng_uniform(98, d->number, 0, (uint64_t)k) < 0.5 ? -1 : 1;
}

static int objective_at(struct trial *t, int input, const struct direction *d, const double *at,
                        double step, long double *value)
{
	for (int64_t k = 0; k < d->n; k++)
		t->s.value[input][k] = at[k] + step * direction_at(d, k);
	TRY(run_phases(t, 0, 1u << PHASE_FORWARD));
	*value = objective(t);
	return 0;
}

static int difference(struct trial *t, int input, const struct direction *d, double *slope)
{
	const size_t bytes = sizeof(double) * (size_t)d->n;
	double *at = mem_alloc(bytes);
	long double plus, minus;
	memcpy(at, t->s.value[input], bytes);
	int rc = objective_at(t, input, d, at, d->step, &plus);
	if (rc == 0)
		rc = objective_at(t, input, d, at, -d->step, &minus);
	memcpy(t->s.value[input], at, bytes);
	mem_free(at);
	TRY(rc);
	*slope = (double)((plus - minus) / (2 * (long double)d->step));
	return 0;
}

static struct direction direction(int64_t n, int i)
{
	const int64_t stride = n > FD_ELEMENTS ? n / FD_ELEMENTS : 1;
	if (i < FD_DIRECTIONS)
		return (struct direction){ n, -1, (uint64_t)i, FD_SMALL_STEP, sqrt((double)n) };
	return (struct direction){ n, (i - FD_DIRECTIONS) * stride, 0, FD_STEP, 1 };
}

/* dx: the rule's gradient of the input, whose largest magnitude is scale. */
static int check_slope(struct trial *t, int input, const struct direction *d, const double *dx,
                       double scale)
{
	double slope, rule = 0;
	TRY(difference(t, input, d, &slope));
	for (int64_t k = 0; k < d->n; k++)
		rule += dx[k] * direction_at(d, k);
	if (fabs(slope - rule) <= FD_TOLERANCE * scale * d->length)
		return 0;
	if (d->alone < 0)
		fail("input %d along all elements: gradient %.9g, difference %.9g", input, rule, slope);
	else
		fail("input %d element %lld: gradient %.9g, difference %.9g", input, (long long)d->alone,
		     rule, slope);
	return 0;
}

static int check_input_gradient(struct trial *t, int w)
{
	const int64_t n = shape_count(&graph_t(t->s.g, t->wrt[w])->shape);
	const int before = failed;
	if (t->dx[w] == NONE) {
		fail("no gradient for input %d, and it is not declared nondiff", t->wrt_in[w]);
		return 0;
	}
	TRY(run(t, 0));
	double *dx = read_tensor(t, t->dx[w]), scale = 1e-3;
	for (int64_t k = 0; k < n; k++)
		scale = fmax(scale, fabs(dx[k]));
	int rc = 0;
	for (int i = 0; i < FD_DIRECTIONS + FD_ELEMENTS && rc == 0 && failed == before; i++) {
		const struct direction d = direction(n, i);
		if (d.alone < n)
			rc = check_slope(t, t->wrt_in[w], &d, dx, scale);
	}
	mem_free(dx);
	return rc;
}

static double largest;           /* error of a proof */

static bool has_float_input(const struct trial *t)
{
	for (int i = 0; i < t->s.nin; i++)
		if (t->s.in[i] != NONE && dtype_is_float(graph_t(t->s.g, t->s.in[i])->dtype))
			return true;
	return false;
}

static void check_gradient(const struct op *op, const char *text, struct device *ref)
{
	struct trial t;
	int before = failed;
	cur_what = "gradient";
	if (compile(&t, op, text, ref, &plan_env_default, true, false) < 0) {
		fail("cannot compile");
	} else {
		if (t.nwrt == 0 && has_float_input(&t))
			fail("has a rule but no differentiable input");
		for (int w = 0; w < t.nwrt; w++)
			if (check_input_gradient(&t, w) < 0)
				fail("run failed");
	}
	passed += failed == before;
	trial_release(&t);
}

static void compare(struct trial *a, struct trial *b, tid ta, tid tb, const char *what, int index)
{
	int64_t n = shape_count(&graph_t(a->s.g, ta)->shape);
	double *x = read_tensor(a, ta), *y = read_tensor(b, tb), scale = 1e-3;
	const enum dtype type = b->env->compute;
	double allowed = type == DTYPE_BF16 ? BF16_TOLERANCE : type == DTYPE_F16 ? FP16_TOLERANCE :
	                 type == DTYPE_F64 ? DOUBLE_TOLERANCE : CPU_TOLERANCE;
	for (int64_t k = 0; k < n; k++)
		scale = fmax(scale, fabs(x[k]));
	for (int64_t k = 0; k < n; k++)
		if (!(fabs(x[k] - y[k]) <= allowed * scale)) {
			fail("%s %d element %lld of %lld: reference %.9g, %s %.9g", what, index, (long long)k,
			     (long long)n, x[k], b->dev->name, y[k]);
			break;
		}
	mem_free(x);
	mem_free(y);
}

/* All results of b as one block, to compare bits. */
static void gather(struct trial *t, struct buf *out)
{
	for (int i = 0; i < t->nout + t->nwrt; i++) {
		tid x = i < t->nout ? t->out[i] : t->dx[i - t->nout];
		if (x == NONE)
			continue;
		double *v = read_tensor(t, x);
		buf_add(out, v, sizeof *v * (size_t)shape_count(&graph_t(t->s.g, x)->shape));
		mem_free(v);
	}
}

static void check_twice(struct trial *t)
{
	struct buf first = BUF_INIT, second = BUF_INIT;
	gather(t, &first);
	if (run(t, 0x55) < 0)
		fail("second run failed");
	gather(t, &second);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		fail("other bits on the second run, or a value that was not written");
	buf_release(&first);
	buf_release(&second);
}

/* In this process; on a GPU of the kernel itself. */
static int prove(struct proof_bench *bench, struct trial *t, nid n, const struct proof_case *c,
                 struct proof_verdict *v)
{
	if (t->dev->driver)
		return proof_device_run(exec_kernel(t->exec, n), c, v);
	return proof_bench_run(bench, t->dev, c, v);
}

static void check_proofs(struct trial *t)
{
	static struct proof_bench *bench;
	const int threads = t->dev->threads;
	if (!bench)
		bench = proof_bench_new();
	for (int i = 0; i < t->s.g->nnode; i++) {
		struct proof_case c;
		struct proof_verdict v;
		if (!exec_kernel(t->exec, i)->choice.impl)
			continue;
		if (!proof_case_of(&c, exec_kernel(t->exec, i)))
			fail("no proof is for '%s'", t->s.g->node[i]->op->name);
		else if (prove(bench, t, i, &c, &v) < 0)
			fail("the proof of %s fails", c.op);
		else if (v.fault != PROOF_NONE)
			fail("the proof of %s by %s says: %s, %lld of %lld, worst %g", c.op, c.impl,
			     proof_fault_text(v.fault), (long long)v.wrong, (long long)v.of, v.worst);
		largest = v.worst > largest ? v.worst : largest;
	}
	t->dev->threads = threads;
}

static void check_cpu(const struct op *op, const char *text, struct device *ref, struct device *cpu,
                      const struct plan_env *env, bool gradient, bool native)
{
	struct trial a, b = { 0 };
	int before = failed;
	static const char *const what[][2] = { { "device", "device, channels-last" },
		{ "bf16", "bf16, channels-last" },
		{ "fp16", "fp16, channels-last" } };
	cur_what = env->compute == DTYPE_F64 ? "float64" :
	           what[env->compute == DTYPE_BF16 ? 1 : env->compute == DTYPE_F16 ? 2 : 0][native];
	if (compile(&a, op, text, ref, &plan_env_default, gradient, false) < 0 ||
	    compile(&b, op, text, cpu, env, gradient, native) < 0) {
		fail("does not compile");
	} else if (round_inputs(&a, &b), run(&a, 0) < 0 || run(&b, 0xff) < 0) {
		fail("does not run");
	} else {
		for (int i = 0; i < a.nout; i++)
			if (a.out[i] != NONE)
				compare(&a, &b, a.out[i], b.out[i], "output", i);
		for (int i = 0; i < a.nwrt; i++)
			if (a.dx[i] != NONE)
				compare(&a, &b, a.dx[i], b.dx[i], "gradient of input", a.wrt_in[i]);
		check_twice(&b);
		if (!debug.proof || strcmp(debug.proof, "no") != 0)
			check_proofs(&b);
	}
	passed += failed == before;
	trial_release(&a);
	trial_release(&b);
}

/* Ops that the GPU has no kernel for, and why that is right. */
static const char *const cpu_only[][2] = {
	{ "batch_norm_statistics",
	  "taken apart for the CPU alone, where a pass over memory costs more than a launch" },
	{ "batch_norm_grad_given", "the same" },
	{ "batch_norm_grad_through", "the same" },
	{ "softmax_cross_entropy_with_grad", "fused for the CPU alone" },
	{ "conv_grad_input_add", "fused for the CPU alone, in place; there it is conv_grad_input_sum" },
	{ "pad_add", "fused for the CPU alone, in place" },
	{ "taylor", "where a kernel is missing, derivatives are taken by reverse passes" },
	{ NULL, NULL }
};

/* Those that the CPU has none for. */
static const char *const gpu_only[][2] = {
	{ "conv_relu", "fused for GPUs alone, whose library has such chains" },
	{ "conv_add", "the same" },
	{ "conv_norm", "the same" },
	{ "conv_norm_relu", "the same" },
	{ "conv_statistics", "the same" },
	{ "conv_grad_input_sum", "the same; the CPU has conv_grad_input_add" },
	{ "conv_grad_input_relu", "the same" },
	{ "norm_conv", "the same" },
	{ "norm_conv_grad_weight", "the same" },
	{ "conv_grad_input_norm", "the same" },
	{ "batch_norm_grad_rest", "belongs to that" },
	{ "batch_norm_signs", "saves memory traffic, which bounds GPUs more than CPUs" },
	{ "batch_norm_apply_signs", "the same" },
	{ "batch_norm_grad_signs", "the same" },
	{ NULL, NULL }
};

static bool is_listed(const char *const list[][2], const char *name)
{
	for (int i = 0; list[i][0]; i++)
		if (strcmp(list[i][0], name) == 0)
			return true;
	return false;
}

/* Each op has a kernel on each device. */
static bool has_kernel(const struct op *op, const struct device *dev)
{
	if ((op->flags & OP_VIEW) || op->kernel[dev->backend].run)
		return true;
	if (is_listed(dev->backend == BACKEND_CUDA ? cpu_only : gpu_only, op->name))
		return false;
	fail("has no kernel for the device");
	return false;
}

/* Ops whose tensors are float32 on a GPU: the update, single numbers, what ranks exchange. */
static const char *const f32_only[] = {
	"all_reduce_start", "all_reduce_wait", "sum_squares", "clip_factor", "sgd", "adam", "rmsprop",
	"loss_scale", "max_abs", "loss_scale_update", "mean_terms", "mean_seed", "mean_factor",
	"mean_lag", "step_guard", "norms", "trust_ratio", "accumulate",
	"ema_update", "weight_average", "weight_copy", "fill", "noise", "exchange_send",
	"exchange_wait", "place_sum", NULL
};

static bool has_half(const struct op *op, const struct device *dev)
{
	for (int i = 0; f32_only[i]; i++)
		if (strcmp(f32_only[i], op->name) == 0)
			return true;
	if (dev->backend != BACKEND_CUDA || (op->flags & OP_VIEW) || takes_part(op, dev))
		return true;
	fail("its kernel takes no 16 bits");
	return false;
}

/* An op that the CPU has in float64 has its gradients, too. */
static void check_double(const struct op *op, const char *text, struct device *ref, bool gradient)
{
	static const struct plan_env env = { .compute = DTYPE_F64, .deterministic = true };
	static struct device *wide;
	if (!wide && device_open(&wide, DEVICE_DOUBLE) < 0)
		fail("there is no float64");
	else if (op->kernel[BACKEND_DOUBLE].run || (op->flags & OP_VIEW))
		check_cpu(op, text, ref, wide, &env, gradient, false);
}

/* single: to compute in float32; half: in bf16 and in fp16; NULL where the device cannot. */
static void check_op(const struct op *op, struct device *ref, struct device *cpu,
                     const struct plan_env *single, const struct plan_env *const half[2])
{
	bool gradient = op->grad != NULL;
	const bool other = cpu->backend != BACKEND_CPU;
	cur_op = op->name;
	cur_text = "";
	cur_what = "record";
	if (!op->samples || !op->samples[0])
		fail("has no samples");
	if (!op->doc || !op->doc[0])
		fail("has no documentation");
	if (!gradient && !(op->flags & (OP_NOGRAD | OP_UPDATE | OP_ONCE)) && op->max_in > 0)
		fail("has no gradient rule and is not flagged OP_NOGRAD, OP_UPDATE or OP_ONCE");
	const bool complete = has_kernel(op, cpu) && has_half(op, cpu);
	const char *const given[] = { given_sample, NULL };
	for (const char *const *text = given_sample ? given : op->samples; complete && text && *text;
	     text++) {
		cur_text = *text;
		if (samples++ % shards != shard - 1)
			continue;
		if (gradient && !other && !kernels_only)
			check_gradient(op, *text, ref);
		if (!other)
			check_double(op, *text, ref, gradient);
		check_cpu(op, *text, ref, cpu, single, gradient, false);
		check_cpu(op, *text, ref, cpu, single, gradient, true);
		for (int i = 0; i < 4; i++)
			if (half[i / 2] && takes_part(op, cpu))
				check_cpu(op, *text, ref, cpu, half[i / 2], gradient, i % 2);
	}
}

/* Sanitizers see the kernels of both devices when these are compared. The differences that gradient
 * rules are checked by run the reference dozens of times more, and no other code. */
static bool under_sanitizers(void)
{
	const char *sanitizers = getenv("DLX_SANITIZERS"), *tier = getenv("DLX_TIER");
	return sanitizers && strcmp(sanitizers, "yes") == 0 && !(tier && strcmp(tier, "big") == 0);
}

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc == 0;
}

static bool option(const char *text, const char **device)
{
	if (strncmp(text, "--device=", 9) == 0)
		*device = text + 9;
	else if (strcmp(text, "--kernels") == 0)
		kernels_only = true;
	else if (strncmp(text, "--wisdom=", 9) == 0 && text[9])
		wisdom_path = text + 9;
	else if (strncmp(text, "--sample=", 9) == 0)
		given_sample = text + 9;
	else
		return sscanf(text, "--shard=%d/%d", &shard, &shards) == 2 && shard >= 1 && shard <= shards;
	return true;
}

int main(int argc, char **argv)
{
	struct plan_env single = plan_env_default, envs[2];
	const struct plan_env *half[2] = { &envs[0], &envs[1] };
	struct device *ref, *cpu;
	const struct op *op;
	const char *name = "cpu";
	setvbuf(stdout, NULL, _IOLBF, 0);
	kernels_only = under_sanitizers();
	for (argc--, argv++; argc && strncmp(argv[0], "--", 2) == 0; argc--, argv++)
		if (!option(argv[0], &name)) {
			fprintf(stderr, "optest: cannot use '%s'\n", argv[0]);
			return 64;
		}
	for (int i = 0; i < argc; i++)
		if (!op_find(argv[i])) {
			fprintf(stderr, "optest: there is no op '%s'\n", argv[i]);
			return 64;
		}
	if (debug_read() < 0 || device_open(&ref, "reference") < 0 || device_open(&cpu, name) < 0 ||
	    engines_open(&single.wisdom, NULL, wisdom_path) < 0) {
		err_print(stderr, "optest");
		return 1;
	}
	envs[0] = envs[1] = single;
	envs[0].compute = DTYPE_BF16;
	envs[1].compute = DTYPE_F16;
	for (int i = 0; i < 2; i++)
		if (plan_env_check(half[i], cpu, true) < 0) {
			printf("# no %s here\n", dtype_name(envs[i].compute));
			err_clear();
			half[i] = NULL;
		}
	for (int i = 0; (op = op_at(i)) != NULL; i++)
		if (wanted(op->name, argc, argv))
			check_op(op, ref, cpu, &single, half);
	engines_close(single.wisdom, wisdom_path);
	device_close(ref);
	device_close(cpu);
	if (largest > 0)
		printf("# the largest error of a proof is %.2g of its tolerance\n", largest);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
