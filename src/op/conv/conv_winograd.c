/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Winograd convolution (winograd.h) as an algorithm of conv_cpu.c: F(4x4, 3x3) for 3x3 windows and
 * F(4x4, 5x5) for 5x5, on two axes or on the last two of three. It supports stride 1, any padding
 * and dilation, float32 and bf16, and needs AVX-512. precision.winograd: false disables it. */
#include "op/conv/conv_algorithm.h"

#include <math.h>

#include "backend/plan_env.h"
#include "op/conv/conv_args.h"
#include "op/conv/conv_shape.h"
#include "op/winograd/winograd.h"

#if defined(__x86_64__)

struct kernel_state {
	struct conv_kernel head;
	struct wino w;
};

static const struct wino_form *form_of(const struct conv_task *t)
{
	if (!t->env->winograd || !wino_has_cpu())
		return NULL;
	return wino_form_find(&t->geom);
}

/* Activations must be channels-last (slices, too); weights may have any layout that keeps their
 * axes separate. */
static bool fits(const struct conv_task *t, int64_t *x_px, int64_t *y_px)
{
	const struct shape xs = conv_x_shape(&t->geom), ys = conv_y_shape(&t->geom);
	struct layout_rows x, y;
	if (!layout_rows(&t->x, &xs, &x) || !layout_rows(&t->y, &ys, &y))
		return false;
	*x_px = x.stride;
	*y_px = y.stride;
	return t->w.set && t->w.nd == t->geom.ns + 2 && layout_elements(&t->w) <= INT32_MAX;
}

static int choose(struct conv_task *t)
{
	const struct shape xs = conv_x_shape(&t->geom), ys = conv_y_shape(&t->geom);
	int64_t px[2];
	if (!form_of(t))
		return 0;
	t->x = layout_native(&xs);
	t->y = layout_native(&ys);
	return fits(t, &px[0], &px[1]);
}

static double seconds(const struct conv_task *t)
{
	const struct wino_form *f = form_of(t);
	int64_t px[2];
	return f && fits(t, &px[0], &px[1]) ? wino_seconds(f, &t->geom, t->kind) : INFINITY;
}

static int plan(struct kplan *k, const struct conv_task *t)
{
	const struct wino_form *f = form_of(t);
	int64_t x_px, y_px;
	if (!f || !fits(t, &x_px, &y_px))
		return 0;
	struct kernel_state *s = ARENA_NEW(k->arena, struct kernel_state);
	const bool back = t->kind == CONV_BACKWARD_DATA;
	wino_init(&s->w, f, &t->geom, t->kind, &t->w, back ? y_px : x_px, back ? x_px : y_px,
	          k->dev->threads, k->arena);
	s->w.bf16 = t->dtype == DTYPE_BF16;
	s->w.bf16_y = t->result == DTYPE_BF16;
	s->w.bf16_sum = t->sum_dtype == DTYPE_BF16;
	s->w.sum_px = t->sum_px;
	s->head = (struct conv_kernel){ &conv_winograd, t->kind };
	k->state = s;
	k->ws_bytes = t->kind == CONV_BACKWARD_WEIGHTS ? wino_weights_workspace(&s->w)
	                                               : wino_workspace(&s->w);
	k->impl = f->name;
	return 1;
}

static int run(const struct kplan *k, const struct kargs *a)
{
	const struct kernel_state *s = k->state;
	const struct conv_args v = conv_args_get(s->head.kind, k, a);
	switch (s->head.kind) {
	case CONV_FORWARD:
		wino_run(&s->w, v.x, v.w, &(struct wino_result){ v.bias, v.sum, v.y }, a->ws);
		break;
	case CONV_BACKWARD_DATA:
		wino_run(&s->w, v.y, v.w, &(struct wino_result){ v.bias, v.sum, v.x }, a->ws);
		break;
	case CONV_BACKWARD_WEIGHTS:
		wino_run_weights(&s->w, v.x, v.y, v.w, v.bias, a->ws);
		break;
	}
	return 0;
}

const struct conv_algorithm conv_winograd = { "winograd", choose, seconds, plan, run, NULL,
	.slices = true };

#endif
