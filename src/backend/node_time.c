/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shares of the ceilings that steps reach. Processors: oneDNN's convolutions reach 75 to 100 % of
 * what its products do; a parallel region takes a few microseconds. There kernels are tried
 * (plan/time/trials.h), and this is for what is left. */
#include "backend/node_time.h"

#include <math.h>
#include <string.h>

#include "backend/cuda/cuda_described.h"
#include "base/isa.h"
#include "graph/view.h"

static const struct reach of_processor = { "", 1, 1, 0, 4e-6 };

/* Of a GPU, by how the names of ops begin, first match: fitted to the 1,900 nodes of ten steps in
 * bf16 on an H100 (the networks of test/bench/zoo_table.py, one sample and more). Their sums are
 * met within 20 %, those of a kind of nodes in one network within 30. A convolution may be several
 * kernels, and its product is slower the narrower it is: with `narrow` channels half as fast as
 * with many. Norms read their inputs twice. norm_conv and batch_norm_grad_rest were not among those
 * nodes, and have the rows of their like. */
static const struct reach of_gpu[] = {
	{ "conv_grad_input_sum", 0.8, 0.6, 32, 4e-6 },
	{ "conv_grad_weight", 0.7, 0.8, 12, 6e-6 },
	{ "norm_conv_grad_weight", 0.7, 0.8, 12, 6e-6 },
	{ "norm_conv", 0.9, 0.85, 24, 5e-6 },
	{ "conv_statistics", 0.7, 0.7, 12, 8e-6 },
	{ "conv_norm", 0.7, 0.7, 12, 8e-6 },
	{ "conv", 0.9, 0.85, 24, 5e-6 },
	{ "batch_norm_apply", 0.8, 0.9, 0, 1.5e-6 },
	{ "batch_norm_inference", 0.8, 0.9, 0, 1.5e-6 },
	{ "batch_norm_grad_rest", 0.8, 0.9, 0, 1.5e-6 },
	{ "batch_norm", 0.8, 0.65, 0, 6e-6 },
	{ "group_norm", 0.8, 0.65, 0, 6e-6 },
	{ "", 0.8, 0.9, 0, 1.5e-6 },
};

/* The shares of its published rates that an H100 reaches: 820 of 989 TFLOP/s in bf16, 50 of 67 in
 * float32, 2.99 of 3.35 TB/s. */
#define SHOWN_16 0.83
#define SHOWN_32 0.75
#define SHOWN_BYTES 0.89

struct node_rates node_rates_ceilings(struct device *d, const struct plan_env *e)
{
	enum dtype bits16 = dtype_is_16bit(e->compute) ? e->compute : DTYPE_BF16;
	return (struct node_rates){ .f32 = device_measure_peak(d, DTYPE_F32, e->tf32),
		.bits16 = device_measure_peak(d, bits16, e->tf32), .bytes = device_measure_bandwidth(d) };
}

static struct node_rates scaled(const struct node_rates *r, double f32, double bits16, double bytes,
                                const struct reach *reach)
{
	return (struct node_rates){ r->f32 * f32, r->bits16 * bits16, r->bytes * bytes, reach };
}

struct node_rates node_rates_of_published(double f32, double bits16, double bytes)
{
	const struct node_rates r = { f32, bits16, bytes, NULL };
	return scaled(&r, SHOWN_32, SHOWN_16, SHOWN_BYTES, of_gpu);
}

/* published: the rates r are a GPU's published ones, not measured. */
static struct node_rates reached(struct node_rates r, const struct device *d, bool published)
{
	if (!d->driver)
		return scaled(&r, 0.8, 0.8, 0.9, &of_processor);
	return published ? node_rates_of_published(r.f32, r.bits16, r.bytes) :
	       scaled(&r, 1, 1, 1, of_gpu);
}

struct node_rates node_rates_reached(struct device *d, const struct plan_env *e)
{
	return reached(node_rates_ceilings(d, e), d, d->imagined);
}

/* Of one processor: two multiply-adds of a vector in a cycle at 3 GHz, and its part of the host's
 * memory. */
#define CYCLES 3e9
#define MEMORY 10e9

static const struct node_rates unknown_gpu = { 20e12, 100e12, 1e12, NULL };

static double vector_floats(void)
{
	return isa_has(ISA_AVX512) ? 16 : isa_has(ISA_AVX2) ? 8 : 4;
}

struct node_rates node_rates_nominal(const struct device *d, const struct plan_env *e)
{
	const double elements = d->backend == BACKEND_DOUBLE ? vector_floats() / 2 : vector_floats();
	double f32 = d->threads * elements * 4 * CYCLES;
	struct node_rates r = { f32, fmax(2, e->bf16_ratio) * f32, d->threads * MEMORY, NULL };
	const struct gpu_model *m = d->model;
	if (d->driver && !m)
		r = unknown_gpu;
	else if (m)
		r = (struct node_rates){ e->tf32 ? m->tf32 : m->f32, m->bits16, m->bandwidth, NULL };
	return reached(r, d, m != NULL);
}

static bool is_16bit(const struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && dtype_is_16bit(graph_t(g, n->in[i])->dtype))
			return true;
	return false;
}

static const struct reach *reach_of(const struct node_rates *r, const struct node *n)
{
	const struct reach *e = r->reach;
	while (strncmp(n->op->name, e->op, strlen(e->op)) != 0)
		e++;
	return e;
}

/* Channels of the side of a convolution that has fewer, as its weights have them: those are what a
 * gradient to the weights makes, and the second input of all others. */
static double narrower(const struct graph *g, const struct node *n)
{
	const bool gradient = strstr(n->op->name, "grad_weight") != NULL;
	const struct shape *w = gradient ? node_out_shape(g, n, 0) : node_in_shape(g, n, 1);
	return w->nd < 2 ? 1 : (double)(w->d[0] < w->d[1] ? w->d[0] : w->d[1]);
}

double node_seconds(const struct node_rates *r, const struct graph *g, const struct node *n)
{
	if (r->f32 <= 0 || r->bytes <= 0 || !node_runs(g, n) || (n->op->flags & OP_SETUP))
		return 0;
	struct cost c = op_cost(g, n);
	double products = c.flops / (is_16bit(g, n) ? r->bits16 : r->f32), memory = c.bytes / r->bytes;
	if (!r->reach)
		return fmax(products, memory);
	const struct reach *e = reach_of(r, n);
	products /= e->products;
	memory /= e->memory;
	if (e->narrow <= 0)
		return e->start + fmax(products, memory);
	products *= 1 + e->narrow / narrower(g, n);
	/* Arithmetic and traffic overlap in part. Plans depend on this number, which must be the same
	 * on all machines: sqrt is correctly rounded everywhere, pow is not. */
	return e->start + sqrt(products * products + memory * memory);
}
