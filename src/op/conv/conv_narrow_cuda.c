/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides which convolutions, with which epilogues, the kernels of cuda/narrow.cuh compute on the
 * GPU: windows of 3 x 3 or 5 x 5 with few channels, in 16 bits. Forward, the result has few
 * channels; for the gradient to the input, dy has few, and the kernel loops over blocks of dx's
 * channels. cuDNN's engines are good if both have many channels, or if the window is one pixel. */
#include "op/conv/conv_own.h"

#include "op/conv/conv_shape.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

#include "cuda/narrow.h"

/* With fewer channels than LEAST, half of the products would be unused. For the gradient to the
 * input, a tile of dy is read and multiplied again for each SOME channels of dx. If dx has more
 * channels, cuDNN is as fast (H100, bf16: tiramisu's 'dense_8.1.conv', 32 to 224 channels of 5 x 5,
 * with its sum 2.19 ms against 2.01; resnet-50's of 64 to 64 take twice as long); otherwise it is
 * slower ('conv2' of cosmoflow, 64 to 32: 1.44 against 2.10 ms). With three spatial axes the
 * kernels are worth it for that few outputs, too ('conv2' forward, 32 to 64: 1.54 against 1.22). */
enum { LEAST = 16, SOME = 32, MOST = 64, PACK = 8 };

/* Converts the axes to three; absent ones come first. */
static bool place_axes(struct k_narrow *at, const struct conv_geom *c, bool turned)
{
	const int absent = CONV_NS - c->ns;
	bool taken = true;
	for (int a = 0; a < CONV_NS; a++) {
		const int from = a - absent;
		at->in[a] = at->out[a] = at->kernel[a] = 1;
		at->lo[a] = 0;
		if (from < 0)
			continue;
		taken = taken && c->stride[from] == 1 && c->dilation[from] == 1 &&
		        c->kernel[from] <= INT16_MAX && c->in[from] <= INT32_MAX / 2 &&
		        c->out[from] <= INT32_MAX / 2 && c->pad_lo[from] <= INT16_MAX;
		at->in[a] = (int)(turned ? c->out[from] : c->in[from]);
		at->out[a] = (int)(turned ? c->in[from] : c->out[from]);
		at->kernel[a] = (int)c->kernel[from];
		at->lo[a] = (int)(turned ? c->kernel[from] - 1 - c->pad_lo[from] : c->pad_lo[from]);
	}
	return taken;
}

static bool has_types(const struct kplan *k, const struct conv_geom *c,
                      const struct tensor *const t[3])
{
	const enum dtype type = t[1]->dtype;
	return k->dev->arch >= 80 && c->groups == 1 && dtype_is_16bit(type) && t[0]->dtype == type &&
	       t[2]->dtype == type && !view_is_strided(t[1]) &&
	       c->ci % PACK == 0 && c->co % PACK == 0 &&
	       c->ci >= LEAST && c->ci <= INT32_MAX && c->co >= LEAST && c->co <= MOST;
}

/* Whether the channels of each pixel in a window begin and end at multiples of 16 bytes; sets
 * *rows. */
static bool find_rows(const struct tensor *t, struct k_rows *rows)
{
	return conv_own_stride(t, &rows->stride) && rows->stride % PACK == 0 &&
	       (!view_is_strided(t) || t->view_at % PACK == 0);
}

/* The kernel's arguments except pointers, or NULL. */
static struct k_narrow *place(const struct kplan *k, const struct conv_geom *c,
                                 enum conv_kind kind)
{
	const bool turned = kind == CONV_BACKWARD_DATA;
	struct k_narrow *at = ARENA_NEW(k->arena, struct k_narrow);
	const struct tensor *t[3];
	if (kind == CONV_BACKWARD_WEIGHTS)
		return NULL;
	conv_own_tensors(k, kind, t);
	*at = (struct k_narrow){
		.n = c->n, .ci = (int)(turned ? c->co : c->ci), .co = (int)(turned ? c->ci : c->co),
		.type = (int)t[1]->dtype, .turned = turned,
		.processors = cuda_multiprocessors(k->dev) };
	return has_types(k, c, t) && place_axes(at, c, turned) &&
	       find_rows(t[turned ? 2 : 0], &at->x) && find_rows(t[turned ? 0 : 2], &at->y) ? at : NULL;
}

static const void *make_narrow(const struct kplan *k, enum conv_kind kind, size_t *workspace)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, kind);
	const bool wanted = kind == CONV_FORWARD ? c.ns < 3 || c.co <= SOME : c.ci <= SOME;
	struct k_narrow *at = wanted ? place(k, &c, kind) : NULL;
	*workspace = 0;
	return at && k_narrow_takes(at) ? at : NULL;
}

static int run_with(const struct kplan *k, const void *made, void *from, void *w,
                    const struct k_epilogue *follows)
{
	struct k_narrow at = *(const struct k_narrow *)made;
	at.x.p = from;
	at.y = follows->y;
	at.addend = follows->addend;
	at.mask = follows->mask;
	at.scale = follows->scale;
	at.shift = follows->shift;
	at.act = follows->act;
	at.slope = follows->slope;
	return cuda_launched(k, k_narrow_run(cuda_stream(k->dev), &at, w));
}

const struct conv_own conv_narrow_own = { "narrow", make_narrow, NULL, run_with };

#endif
