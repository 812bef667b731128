/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Winograd convolution (Lavin and Gray 2016) with AVX-512 over the last two spatial axes. Tiles of
 * alpha x alpha inputs and the weights are transformed, multiplied position by position (a small
 * GEMM over the channels for each of the alpha^2 positions) and transformed back to m x m outputs,
 * which takes (m r / alpha)^2 times fewer multiplications. The gradient to the input is a
 * convolution too. The gradient to the weights multiplies transformed inputs by transformed output
 * gradients, sums over tiles and transforms back to r x r. With a third spatial axis the taps along
 * it act as additional input channels: tap k reads the input k planes further on.
 *
 * A thread takes a block of tiles through all three steps; the block fits in its L2 cache. Sums run
 * over pieces of WINO_K channels (tiles), which are then added, so the rounding error is that of a
 * chain of WINO_K terms, whatever the number of channels. No sum depends on the number of threads.
 *
 * Activations and weights may be bf16; the transformed values are float32. So bf16 saves memory
 * traffic only, and a network of 5x5 convolutions such as the SC18 Tiramisu gains a few percent
 * (187 ms of its step are Winograd convolutions in bf16). Three ways out were tried or counted:
 * - Transformed values in bf16: multiplied twice as fast, but a result of F(4x4, 3x3) is off by up
 *   to 2.6 % of the largest, of F(4x4, 5x5) by 6 %, where direct sums of bf16 products are off by
 *   0.3 %: the transforms amplify rounding.
 * - Tiles of 2x2: 9 multiplications per output instead of 4, more than bf16 gives back.
 * - Values split into two bf16 each: three instructions in place of the two that they replace.
 * In float32 the 5x5 convolutions run at 1300 GFLOP/s (counted as direct ones), above what direct
 * bf16 products (950) could reach. */
#ifndef DLX_OP_WINOGRAD_WINOGRAD_H
#define DLX_OP_WINOGRAD_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "backend/dnn/conv_geom.h"
#include "base/arena.h"
#include "graph/layout.h"
#include "op/lib/row.h"

#define WINO_K 32            /* channels (or tiles, for the gradient to the weights) that one sum
                              * covers */
#define WINO_LANES 16        /* channels in a vector */
#define WINO_ALPHA 8         /* the largest alpha */

/* The part of a tile inside the image: rows [row0, row1), columns [col0, col1). */
struct wino_span {
	int row0, row1, col0, col1;
};

/* The pixels of one tile, for up to 16 channels. */
struct wino_pixels {
	int64_t row, col;            /* elements from row to row, and from column to column */
	struct wino_span span;
	unsigned lanes;              /* mask of the channels that exist */
};

/* A tile of the addend: 16 channels of each pixel; row and col are the distances between pixels, in
 * elements. */
struct wino_sum {
	const void *at;
	int64_t row, col;
	bool bf16;
};

/* The transforms of F(m x m, r x r), for 16 channels of one tile. pos: elements between the values
 * of adjacent positions. Rows and columns outside the span read as 0. next: the tile that is
 * transformed after this one, to be prefetched (its pixels are too far apart for the hardware
 * prefetcher). Functions with index 1 are for bf16 pixels. */
struct wino_form {
	const char *name;
	int m, r, alpha;
	void (*input[2])(const void *x, const void *next, const struct wino_pixels *p, float *v,
	                 int64_t pos);
	/* bias, sum: may be NULL. sum may have the address of y. */
	void (*output[2])(const float *v, int64_t pos, const float *bias, const struct wino_sum *sum,
	                  void *y, const struct wino_pixels *p);
	void (*gradient[2])(const void *dy, const void *next, const struct wino_pixels *p, float *v,
	                    int64_t pos);
	/* w and dw: r * r vectors of 16, one for each tap, contiguous. */
	void (*weights)(const float *w, float *v, int64_t pos);
	void (*weight_gradient)(const float *v, int64_t pos, float *dw);
};

extern const struct wino_form wino_forms[];
extern const int wino_nform;

/* c[rows][16 nv] = a[rows][k] b[k][16 nv], or += if add. Rows of a are WINO_K elements apart. */
void wino_multiply(int rows, int nv, int k, const float *a, const float *b, float *c, bool add);
/* c[rows][16 nv] = a[k][rows]^T b[k][16 nv], or += if add. Rows of a are WINO_K elements apart. */
void wino_multiply_transposed(int rows, int nv, int k, const float *a, const float *b, float *c,
                              bool add);

/* --- one convolution --- */

#define WINO_PANEL (2 * WINO_LANES)    /* output channels of one matrix product */
#define WINO_BLOCK 64                  /* the most tiles in a block */

/* y = x * w in the direction that is computed: for the gradient to the input, x is dy and y is dx.
 * Activations are channels-last; pixels of x (y) are x_px (y_px) elements apart. */
struct wino {
	const struct wino_form *form;
	enum conv_kind kind;
	bool bf16, bf16_y;                /* bf16: x and the weights (for the weights' gradient: x and
	                                   * y) are bf16; bf16_y: y is */
	bool bf16_sum;                    /* the addend is bf16 */
	int64_t sum_px;                   /* elements from pixel to pixel of the addend */
	int64_t n, ci, co;
	int64_t in[2], out[2], pad[2], dilation[2];
	int64_t deep_in, deep_out, deep_taps, deep_pad, deep_step; /* the third spatial axis: sizes,
	                                                            * taps, padding, stride; without it
	                                                            * 1, 1, 1, 0, 1 */
	int64_t x_px, y_px;
	int64_t tiles[2], ntile;          /* tiles of a sub-grid (if dilated: every d-th pixel); all
	                                   * tiles */
	const int32_t *tap, *at_i, *at_o; /* offset of a weight: tap[t] + at_i[i] + at_o[o] */
	int64_t w_elements;
	bool w_padded;                    /* the weights' layout has padding, which must stay zero */
	int64_t block, nblock;            /* tiles in a block; number of blocks */
	int64_t npart, nchunk;            /* pieces of WINO_K input channels; those of all taps in depth
	                                   * ("chunks") */
	int64_t npanel;                   /* number of panels, of WINO_PANEL output channels each */
	int64_t group, ngroup;            /* forward: panels that a block computes at once; number of
	                                   * such groups */
	int64_t segment, nsegment;        /* weight gradient: blocks that are summed in one go; few:
	                                   * chunks; number of segments */
	bool few;                         /* there are few tiles: weights are transformed where they are
	                                   * used */
	int threads;
};

/* Whether this CPU has the instructions (AVX-512). */
bool wino_has_cpu(void);
/* The form for this geometry, or NULL if Winograd convolution does not apply. */
const struct wino_form *wino_form_find(const struct conv_geom *c);
/* Estimated seconds on two cores. */
double wino_seconds(const struct wino_form *f, const struct conv_geom *c, enum conv_kind kind);
/* l: the layout of the weights, (O, I, r, r), or (O, I, depth, r, r). */
void wino_init(struct wino *w, const struct wino_form *f, const struct conv_geom *c,
               enum conv_kind kind, const struct layout *l, int64_t x_px, int64_t y_px, int threads,
               struct arena *arena);
/* y = the convolution, plus a bias and another tensor of y's shape (whose address may be y's); each
 * may be NULL. */
struct wino_result {
	const float *bias;
	const void *sum;
	void *y;
};
/* The forward convolution and the gradient to the input; and the bytes of their workspace. */
void wino_run(const struct wino *w, const void *x, const void *weights, const struct wino_result *r,
              float *ws);
size_t wino_workspace(const struct wino *w);
/* dbias may be NULL. */
void wino_run_weights(const struct wino *w, const void *x, const void *dy, float *dw, float *dbias,
                      float *ws);
size_t wino_weights_workspace(const struct wino *w);

/* --- between its files --- */

/* Elements between adjacent positions of a matrix of this size. It is not a power of two: otherwise
 * all positions would share a few sets of the first-level cache. */
static inline int64_t wino_pos(int64_t rows, int64_t columns)
{
	return rows * columns + WINO_LANES;
}

static inline int64_t wino_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int wino_thread(void)
{
#ifdef _OPENMP
	return omp_get_thread_num();
#else
	return 0;
#endif
}

/* A tile of the block: the offset of its first pixel (if that is inside), the part of the tile
 * inside the image, and the plane of tap 0 in depth. */
struct wino_spot {
	int64_t at, plane;
	struct wino_span span;
};

/* The places of tiles first .. first + count - 1: alpha x alpha pixels of x, or m x m of y. */
void wino_spots_x(const struct wino *w, int64_t first, int64_t count, struct wino_spot *s);
void wino_spots_y(const struct wino *w, int64_t first, int64_t count, struct wino_spot *s);
struct wino_pixels wino_pixels_x(const struct wino *w, int64_t channel);
struct wino_pixels wino_pixels_y(const struct wino *w, int64_t channel);
/* The number of channels in a chunk. */
static inline int64_t wino_channels(const struct wino *w, int64_t chunk)
{
	const int64_t left = w->ci - chunk % w->npart * WINO_K;
	return left < WINO_K ? left : WINO_K;
}

static inline int64_t wino_positions(const struct wino *w)
{
	return w->form->alpha * w->form->alpha;
}

/* Floats of the transformed inputs of a chunk (v), of its transformed weights for nv vectors (u),
 * and of the sums of a panel (m). */
static inline int64_t wino_v_elements(const struct wino *w)
{
	return wino_positions(w) * wino_pos(w->block, WINO_K);
}

static inline int64_t wino_u_elements(const struct wino *w, int nv)
{
	return wino_positions(w) * wino_pos(WINO_K, nv * WINO_LANES);
}

static inline int64_t wino_m_elements(const struct wino *w)
{
	return wino_positions(w) * wino_pos(w->block, WINO_PANEL);
}

/* Vectors of channels in a panel: 1 or 2. */
static inline int wino_vectors(const struct wino *w, int64_t panel)
{
	return w->co - panel * WINO_PANEL > WINO_LANES ? 2 : 1;
}

/* Whether the offsets of the lanes in the mask `lanes` increase by `step`. */
bool wino_steps(const int32_t *at, unsigned lanes, int step);
/* Transforms the weights of tap `deep` in depth, for up to 16 input channels from i on and 16
 * output channels from o on, to u[position][channel][width]. */
void wino_weights_block(const struct wino *w, const void *from, int64_t deep, int64_t i, int64_t o,
                        float *u, int width);
/* Transforms the inputs of a chunk's channels to v[position][count][WINO_K]. */
void wino_input_block(const struct wino *w, const void *x, int64_t chunk, const struct wino_spot *s,
                      int64_t count, float *v);
/* Multiplies k channels of `count` transformed tiles by transformed weights of nv vectors:
 * m[position][count][nv] = or, if add, +=. */
void wino_multiply_block(const struct wino *w, int nv, int k, const float *u, int64_t count,
                         const float *v, float *m, bool add);
/* Transforms the sums of a panel back and writes them to the tiles' pixels of y. */
void wino_output_block(const struct wino *w, int64_t panel, const float *m,
                       const struct wino_result *r, const struct wino_spot *s, int64_t count);

size_t wino_few_workspace(const struct wino *w);
void wino_run_few(const struct wino *w, const void *x, const void *weights,
                  const struct wino_result *r, float *ws);

#endif
