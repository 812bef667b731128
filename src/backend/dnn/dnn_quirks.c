/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The faults of oneDNN's convolutions on x86, a row each: of which implementations and versions,
 * and for which shapes. All of them were found by comparing 2.6.3 and 3.7.2 with sums in float64
 * over random problems; the counts are of those runs, wrong ones and right ones that a rule also
 * covers. What the next version or processor has is often the same code with its faults under a new
 * name, so a row has the shortest part of the name that distinguishes it from implementations that
 * are right. */
#include "backend/dnn/dnn_quirks.h"

#include <stddef.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "backend/proof/passed.h"

/* --- shapes --- */

/* The extent of a window: from its first element of x to its last. */
static int64_t reach(const struct conv_geom *g, int axis)
{
	return (g->kernel[axis] - 1) * g->dilation[axis];
}

/* Whether a window that begins less than a step after the start of x can reach over its end. */
static bool is_short(const struct conv_geom *g, int axis)
{
	return g->in[axis] < reach(g, axis) + g->stride[axis];
}

static bool is_dilated(const struct conv_geom *g, int axis)
{
	return g->kernel[axis] > 1 && g->dilation[axis] > 1;
}

/* Whether a window at an element of y touches none of x. */
static bool has_outside_window(const struct conv_geom *g, int axis)
{
	for (int64_t o = 0; o < g->out[axis]; o++) {
		bool inside = false;
		for (int64_t t = 0; t < g->kernel[axis] && !inside; t++) {
			const int64_t i = o * g->stride[axis] - g->pad_lo[axis] + t * g->dilation[axis];
			inside = i >= 0 && i < g->in[axis];
		}
		if (!inside)
			return true;
	}
	return false;
}

static int64_t ci(const struct conv_geom *g)
{
	return g->ci / g->groups;
}

static int64_t co(const struct conv_geom *g)
{
	return g->co / g->groups;
}

/* Whether the channels of x do not fill blocks of 16. */
static bool has_part_block(const struct conv_geom *g)
{
	return ci(g) % 16 != 0;
}

/* --- rules: the axes are depth, height and width; the last one is the width --- */

static bool always(const struct conv_geom *g)
{
	(void)g;
	return true;
}

static bool step_exceeds_row(const struct conv_geom *g)
{
	return g->in[g->ns - 1] < g->stride[g->ns - 1];
}

/* That alone, where a window has one pixel of a row, has been right. */
static bool step_of_windows_exceeds_row(const struct conv_geom *g)
{
	return g->kernel[g->ns - 1] > 1 && step_exceeds_row(g);
}

/* For each wrong run the rule also covers three to four right ones; no narrower rule covers all
 * wrong ones. */
static bool is_short_volume(const struct conv_geom *g)
{
	return g->ns == 3 && (is_short(g, 0) || is_short(g, 1));
}

static bool steps_in_short_depth(const struct conv_geom *g)
{
	return g->ns == 3 && g->stride[0] > 1 && is_short(g, 0);
}

static bool is_dilated_in_height(const struct conv_geom *g)
{
	return g->ns >= 2 && is_dilated(g, g->ns - 2) && has_part_block(g);
}

static bool padding_exceeds_height(const struct conv_geom *g)
{
	return g->ns == 2 && ci(g) > 112 && (g->pad_lo[0] > g->in[0] || g->pad_hi[0] > g->in[0]);
}

static bool is_dilated_depthwise(const struct conv_geom *g)
{
	bool dilated = false;
	for (int i = 0; i < g->ns; i++)
		dilated |= is_dilated(g, i);
	return dilated && g->groups > 1 && ci(g) == 1 && co(g) == 1;
}

/* Windows of single pixels with steps that divide x, which oneDNN copies together first. */
static bool is_gathered(const struct conv_geom *g)
{
	bool steps = false;
	for (int i = 0; i < g->ns; i++) {
		if (g->kernel[i] != 1 || g->pad_lo[i] || g->out[i] * g->stride[i] != g->in[i])
			return false;
		steps |= g->stride[i] > 1;
	}
	return steps && has_part_block(g);
}

/* Only those of about 61 to 64 elements have been wrong, with more than 32 channels of y. */
static bool is_line_of_few_channels(const struct conv_geom *g)
{
	return g->ns == 1 && (ci(g) == 2 || ci(g) == 4 || ci(g) == 8);
}

static bool is_column_of_steps(const struct conv_geom *g)
{
	return g->ns >= 2 && g->out[g->ns - 1] == 1 && g->stride[g->ns - 1] > 1;
}

static bool is_plane(const struct conv_geom *g)
{
	return g->ns == 3 && g->in[0] == 1 && g->kernel[0] > 1;
}

static bool is_plane_of_few_channels(const struct conv_geom *g)
{
	return is_plane(g) && ci(g) < 16;
}

static bool is_plane_of_one_channel(const struct conv_geom *g)
{
	return is_plane(g) && ci(g) == 1;
}

/* Where it is in the last axis alone, these have been right. */
static bool has_row_outside(const struct conv_geom *g)
{
	for (int i = 0; i < g->ns - 1; i++)
		if (has_outside_window(g, i))
			return true;
	return false;
}

static bool has_window_outside(const struct conv_geom *g)
{
	return has_row_outside(g) || has_outside_window(g, g->ns - 1);
}

/* It takes 30 pixels at a time then, as for 5 x 6, and all registers: a mask of the last channel
 * loses its own. */
static bool sums_odd_channels_of_x(const struct conv_geom *g)
{
	return ci(g) % 2 == 1;
}

static bool sums_odd_channels_of_y(const struct conv_geom *g)
{
	return co(g) % 2 == 1;
}

/* Five pixels by five blocks of 16 channels, which take all registers where bf16 is emulated. One
 * thread has to have them, but which has how many is oneDNN's to say. */
static bool is_five_pixels(const struct conv_geom *g)
{
	int64_t pixels = 1;
	for (int i = 0; i < g->ns; i++)
		pixels *= g->out[i];
	return pixels == 5;
}

static bool makes_five_pixels_of_y(const struct conv_geom *g)
{
	return is_five_pixels(g) && co(g) > 64;
}

static bool makes_five_pixels_of_x(const struct conv_geom *g)
{
	return is_five_pixels(g) && ci(g) > 64;
}

/* --- the table --- */

enum { V2 = 1, V3 = 2, BOTH = V2 | V3 };
enum { FORWARD = 1 << CONV_FORWARD, DATA = 1 << CONV_BACKWARD_DATA,
       WEIGHTS = 1 << CONV_BACKWARD_WEIGHTS };
enum { SINGLE = 1, HALF = 2,             /* type of the operands: float32; 16 bits */
       CROWDED = 4 };                    /* only with more threads than samples */

struct fault {
	const char *code, *isa;          /* code: prefix of the name; isa: a text contained in the rest
	                                  * of it */
	int versions, kinds, when;
	bool (*hits)(const struct conv_geom *g);
	const char *text;
};

static const struct fault faults[] = {
	/* 2,044 wrong runs of 24,106 in 2.6 and 1,841 of 20,583 in 3.7, in all three rows; 2,201 and
	 * 1,846 right ones. Some read outside of x, which may end the process; some never return. */
	{ "jit:", "amx", BOTH, WEIGHTS, HALF, step_of_windows_exceeds_row,
	  "the gradient of the weights is wrong for rows shorter than a step" },
	{ "jit:", "amx", BOTH, WEIGHTS, HALF, is_short_volume,
	  "the gradient of the weights is wrong for windows that reach over a short depth or height" },
	{ "jit:", "amx", BOTH, WEIGHTS, HALF, is_dilated_in_height,
	  "the gradient of the weights is wrong for windows that are dilated in height over channels "
	  "that are no multiple of 16" },
	/* 1,450 wrong runs of 20,487; 52 right ones. */
	{ "brgconv_bwd_w:", "amx", V3, WEIGHTS, HALF, step_of_windows_exceeds_row,
	  "the gradient of the weights is wrong for rows shorter than a step" },
	/* All of 9 such problems; of random ones 1, and 165 right ones. */
	{ "brgconv_bwd_w:", "amx", V3, WEIGHTS, HALF | CROWDED, is_line_of_few_channels,
	  "the gradient of the weights is incomplete for rows of 2, 4 or 8 channels with more threads "
	  "than samples" },
	/* 1,967 wrong runs of 25,489 in 2.6 and 1,898 of 22,331 in 3.7; both rows cover 1,933 and
	 * 1,868, with 2,409 and 2,029 right ones. */
	{ "jit_bf16:", "", BOTH, WEIGHTS, HALF, step_exceeds_row,
	  "the gradient of the weights is wrong for rows shorter than a step" },
	{ "jit_bf16:", "", BOTH, WEIGHTS, HALF, is_short_volume,
	  "the gradient of the weights is wrong for windows that reach over a short depth or height" },
	/* 28 wrong runs; 18 right ones. */
	{ "jit_bf16:", "", BOTH, WEIGHTS, HALF, padding_exceeds_height,
	  "the gradient of the weights is wrong for padding beyond the height of many channels" },
	/* 2 wrong runs; 152 right ones. */
	{ "jit_bf16:", "", BOTH, WEIGHTS, HALF, is_dilated_depthwise,
	  "the gradient of the weights is wrong for dilated depthwise windows" },
	/* 6 wrong runs a version; about a tenth of the right ones. The sums contain what the workspace
	 * had before, and memory outside of the gradient is written. */
	{ "jit_bf16_1x1:", "", BOTH, WEIGHTS, HALF, is_gathered,
	  "the gradient of the weights is wrong for single pixels with steps over channels that are no "
	  "multiple of 16" },
	{ "jit_1x1:", "", BOTH, WEIGHTS, SINGLE, is_gathered,
	  "the gradient of the weights is wrong for single pixels with steps over channels that are no "
	  "multiple of 16" },
	/* 4 wrong runs a version; 194 right ones. */
	{ "jit:", "", BOTH, WEIGHTS, SINGLE, steps_in_short_depth,
	  "the gradient of the weights is wrong for steps of windows that reach over a short depth" },
	/* 610 of 613 wrong runs (of 9,642 of this code) in the three rows; 534 right ones. */
	{ "brg_conv_fwd:", "amx", V3, FORWARD, HALF, is_column_of_steps,
	  "all rows but the first are wrong for windows with steps in results of one column" },
	{ "brg_conv_fwd:", "amx", V3, FORWARD, HALF, is_plane_of_few_channels,
	  "results are wrong for windows deeper than one plane of fewer than 16 channels" },
	{ "brg_conv_fwd:", "amx", V3, FORWARD, HALF, has_row_outside,
	  "the process crashes for windows that lie in the padding" },
	/* 12 wrong runs of 12,176, 12 right ones; 7 wrong ones. */
	{ "brg_conv_fwd:", "avx512_core_bf16", V3, FORWARD, HALF, is_plane_of_one_channel,
	  "results are wrong for windows deeper than one plane of one channel" },
	{ "brg_conv_fwd:", "avx512_core_bf16", V3, FORWARD, HALF, has_window_outside,
	  "the process crashes for windows that lie in the padding" },
	/* 66 wrong runs of 7,454; 38 right ones. */
	{ "brg_conv_bwd:", "amx", V3, DATA, HALF, has_row_outside,
	  "the process crashes for windows that lie in the padding" },
	/* 18 wrong runs of 13,288; 26 right ones. */
	{ "brgconv:", "amx", V2, FORWARD | DATA, HALF, has_row_outside,
	  "the process crashes for windows that lie in the padding" },
	/* 3 wrong runs of 6,958; 1,199 right ones. */
	{ "brgconv_1x1:", "amx", V2, FORWARD, HALF, sums_odd_channels_of_x,
	  "sums over an odd number of channels are wrong" },
	/* 48 runs of 584. */
	{ "jit_1x1:", "amx", V2, FORWARD | DATA | WEIGHTS, HALF, always,
	  "memory outside of the result is written" },
	/* 24 to 30 wrong runs of about 4,500; three in ten of the right ones. */
	{ "jit_bf16_1x1:", "", BOTH, FORWARD, HALF, sums_odd_channels_of_x,
	  "sums over an odd number of channels are wrong" },
	{ "jit_bf16_1x1:", "", BOTH, DATA, HALF, sums_odd_channels_of_y,
	  "sums over an odd number of channels are wrong" },
	/* All of 39 such problems with an even number of channels to sum, on one thread, in 2.6.3
	 * without instructions for bf16. 3.7 and processors that have them were not tried. */
	{ "jit_bf16_1x1:", "", BOTH, FORWARD, HALF, makes_five_pixels_of_y,
	  "results are wrong for five pixels of more than 64 channels" },
	{ "jit_bf16_1x1:", "", BOTH, DATA, HALF, makes_five_pixels_of_x,
	  "results are wrong for five pixels of more than 64 channels" },
};

static bool is_of(const struct fault *f, const char *impl)
{
	const size_t n = strlen(f->code);
	return strncmp(impl, f->code, n) == 0 && strstr(impl + n, f->isa);
}

static bool is_when(const struct fault *f, const struct dnn_conv *c, int threads)
{
	const enum dtype t = c->kind == CONV_BACKWARD_WEIGHTS ? c->x_type : c->w_type;
	return (f->when & (dtype_is_16bit(t) ? HALF : SINGLE)) &&
	       (threads > c->geom.n || !(f->when & CROWDED));
}

const char *dnn_known_fault(int major, const char *impl, const struct dnn_conv *c, int threads)
{
	const int version = major < 3 ? V2 : V3, kind = 1 << c->kind;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		const struct fault *f = &faults[i];
		if ((f->versions & version) && (f->kinds & kind) && is_of(f, impl) &&
		    is_when(f, c, threads) && f->hits(&c->geom))
			return f->text;
	}
	return NULL;
}

/* --- the choice --- */

static int threads_now(void)
{
#ifdef _OPENMP
	return omp_get_max_threads();
#else
	return 1;
#endif
}

bool dnn_is_allowed(dnnl_primitive_desc_t pd, const struct dnn_conv *c, uint64_t problem)
{
	const char *impl = "";
	dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl);
	return !(c && dnn_known_fault(DNNL_VERSION_MAJOR, impl, c, threads_now())) &&
	       !passed_over(problem, impl);
}

#if DNNL_VERSION_MAJOR < 3

dnnl_status_t dnn_first_allowed(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t d,
                                const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                const struct dnn_conv *c, uint64_t problem)
{
	dnnl_primitive_desc_iterator_t it = NULL;
	dnnl_status_t st = dnnl_primitive_desc_iterator_create(&it, d, attr, engine, NULL);
	while (st == dnnl_success) {
		*pd = dnnl_primitive_desc_iterator_fetch(it);
		if (*pd && dnn_is_allowed(*pd, c, problem))
			break;
		dnnl_primitive_desc_destroy(*pd);
		*pd = NULL;
		st = dnnl_primitive_desc_iterator_next(it);
	}
	dnnl_primitive_desc_iterator_destroy(it);
	return st == dnnl_iterator_ends ? dnnl_unimplemented : st;
}

#else

dnnl_status_t dnn_next_allowed(dnnl_primitive_desc_t pd, const struct dnn_conv *c,
                               uint64_t problem)
{
	dnnl_status_t st = dnnl_success;
	while (st == dnnl_success && !dnn_is_allowed(pd, c, problem))
		st = dnnl_primitive_desc_next_impl(pd);
	return st == dnnl_last_impl_reached ? dnnl_unimplemented : st;
}

#endif

/* Its AVX2 code for the gradient of the input adds up the products of 8 channels before it adds
 * them to the others; if y has fewer than 40 or 15 columns, and not three axes, of 16 or 32
 * channels. */
bool dnn_order_varies(const struct dnn_prim *p, const struct dnn_conv *c)
{
	return c->kind == CONV_BACKWARD_DATA && c->geom.ns < CONV_NS
	       && strcmp(dnn_prim_impl(p), "jit:avx2") == 0;
}
