/* SPDX-License-Identifier: BSD-3-Clause
 *
 * y_j reads x_i for i = j - pad_lo + dilation k, so the rows [s, s + h) of dx and the rows [s, s +
 * h + pad_lo + pad_hi - dilation (kernel - 1)) of dy are a convolution with the same padding. dx
 * lacks contributions in its first dilation (kernel - 1) - pad_lo rows, unless s is 0, and likewise
 * in its last rows. */
#include "op/conv/conv_bands.h"

#include "base/round.h"

static int64_t pixels(const int64_t *axis, int from)
{
	int64_t n = 1;
	for (int a = from; a < CONV_NS; a++)
		n *= axis[a];
	return n;
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

static void split_samples(struct conv_bands *b, const struct conv_geom *g, int want)
{
	b->total = g->n;
	b->each = ceil_div(g->n, want);
	b->count = (int)ceil_div(g->n, b->each);
	b->geom.n = b->each;
	b->dx_row = b->dx_sample;
	b->dy_row = b->dy_sample;
}

/* Returns false if rows cannot be split. */
static bool split_rows(struct conv_bands *b, const struct conv_geom *g, int want)
{
	const int64_t reach = g->dilation[0] * (g->kernel[0] - 1);
	const int64_t top = reach - g->pad_lo[0], bottom = reach - g->pad_hi[0];
	const int64_t each = ceil_div(g->in[0], want), high = each + top + bottom;
	if (want < 2 || g->stride[0] != 1 || top < 0 || bottom < 0 || high >= g->in[0] ||
	    high + g->pad_lo[0] + g->pad_hi[0] <= reach)
		return false;
	b->rows = true;
	b->total = g->in[0];
	b->each = each;
	b->top = top;
	b->per_sample = (int)ceil_div(g->in[0], each);
	b->count = (int)g->n * b->per_sample;
	b->geom.n = 1;
	b->geom.in[0] = high;
	b->geom.out[0] = high + g->pad_lo[0] + g->pad_hi[0] - reach;
	return true;
}

void conv_bands_init(struct conv_bands *b, const struct conv_geom *g, int want)
{
	const int samples = want < g->n ? want : (int)g->n;
	*b = (struct conv_bands){
		.geom = *g, .per_sample = 1, .dx_row = pixels(g->in, 1), .dy_row = pixels(g->out, 1),
		.dx_sample = pixels(g->in, 0), .dy_sample = pixels(g->out, 0) };
	if (want <= g->n || !split_rows(b, g, (int)ceil_div(want, g->n)))
		split_samples(b, g, samples);
	b->made = b->geom.n * pixels(b->geom.in, 0);
}

struct conv_band conv_band_at(const struct conv_bands *b, int i)
{
	const int64_t sample = b->rows ? i / b->per_sample : 0, band = i - sample * b->per_sample;
	const int64_t high = b->rows ? b->geom.in[0] : b->geom.n;
	const int64_t first = band * b->each, last = clamp(first + b->each, 0, b->total),
	              start = clamp(first - b->top, 0, b->total - high);
	return (struct conv_band){
		.dy = sample * b->dy_sample + start * b->dy_row,
		.skipped = (first - start) * b->dx_row,
		.dx = sample * b->dx_sample + first * b->dx_row,
		.count = (last - first) * b->dx_row };
}
