/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shares of the ceilings that steps reach. GPUs: those by which ResNet-50 in 16 bits takes what
 * the best published training took (MLPerf 4.0, 7,952 images a second on an H200 and 7,161 on an
 * H100, which this has as 7,900 and 6,700 at 400 images a step); a kernel of a captured step
 * begins about 2 microseconds after the one before. Processors: oneDNN's convolutions reach 75 to
 * 100 % of what its products do; a parallel region takes a few microseconds. There kernels are
 * tried (plan/trials.h), and this is for what is left. */
#include "backend/node_time.h"

#include "backend/cuda/cuda_described.h"
#include "graph/view.h"

struct share {
	double products, memory, start;
};
static const struct share of_gpu = { 0.42, 0.7, 2e-6 }, of_processor = { 0.8, 0.9, 4e-6 };

static const struct share *share_of(const struct device *d)
{
	return d->driver ? &of_gpu : &of_processor;
}

static struct node_rates reached(struct node_rates r, const struct share *s)
{
	return (struct node_rates){ r.f32 * s->products, r.bits16 * s->products, r.bytes * s->memory,
		s->start };
}

struct node_rates node_rates_ceilings(struct device *d, const struct plan_env *e)
{
	enum dtype bits16 = dtype_is_16bit(e->compute) ? e->compute : DTYPE_BF16;
	return (struct node_rates){ .f32 = device_measure_peak(d, DTYPE_F32, e->tf32),
		.bits16 = device_measure_peak(d, bits16, e->tf32), .bytes = device_measure_bandwidth(d) };
}

struct node_rates node_rates_reached(struct device *d, const struct plan_env *e)
{
	return reached(node_rates_ceilings(d, e), share_of(d));
}

/* Of one processor: two multiply-adds of a vector in a cycle at 3 GHz, and its part of the host's
 * memory. */
#define CYCLES 3e9
#define MEMORY 10e9

static const struct node_rates unknown_gpu = { 20e12, 100e12, 1e12, 0 };

static double vector_floats(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
	return __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("avx2") ? 8 : 4;
#else
	return 4;
#endif
}

struct node_rates node_rates_nominal(const struct device *d, const struct plan_env *e)
{
	double f32 = d->threads * vector_floats() * 4 * CYCLES;
	struct node_rates r = { f32, 2 * f32, d->threads * MEMORY, 0 };
	const struct gpu_model *m = d->model;
	if (d->driver && !m)
		r = unknown_gpu;
	else if (m)
		r = (struct node_rates){ e->tf32 ? m->tf32 : m->f32, m->bits16, m->bandwidth, 0 };
	return reached(r, share_of(d));
}

static bool is_16bit(const struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && dtype_is_16bit(graph_t(g, n->in[i])->dtype))
			return true;
	return false;
}

double node_seconds(const struct node_rates *r, const struct graph *g, const struct node *n)
{
	if (r->f32 <= 0 || r->bytes <= 0 || !node_runs(g, n) || (n->op->flags & OP_SETUP))
		return 0;
	struct cost c = op_cost(g, n);
	double products = c.flops / (is_16bit(g, n) ? r->bits16 : r->f32), memory = c.bytes / r->bytes;
	return r->start + (products > memory ? products : memory);
}
