/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arithmetic of cuDNN's operations, in float64: tensors are widened, each operation works on
 * all of them, results are rounded.
 *
 *   DLX_FAKE_CUDNN_WRONG=sums       sums for statistics are kept in bf16
 *   DLX_FAKE_CUDNN_WRONG=twice      every other run has other bits
 *   DLX_FAKE_CUDNN_WRONG=processes  another process has other bits */
#include "fake_cudnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/types.h"

struct values {
	const fake *t;
	double *v;
	int64_t n;
};

static enum dtype type_of(const fake *t)
{
	const int type = whole(t, CUDNN_ATTR_TENSOR_DATA_TYPE);
	return type == CUDNN_DATA_HALF ? DTYPE_F16 : type == CUDNN_DATA_BFLOAT16 ? DTYPE_BF16 :
	       DTYPE_F32;
}

static int64_t span_of(const fake *t)
{
	int64_t n = 1;
	for (int i = 0; i < axes_of(t); i++)
		n += (ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS)[i] - 1) * ints(t, CUDNN_ATTR_TENSOR_STRIDES)[i];
	return n;
}

/* Offsets of all elements of axes from..end, row-major. Returns how many. */
static int64_t offsets(const fake *t, int from, int64_t **out)
{
	const int64_t *d = ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *s = ints(t, CUDNN_ATTR_TENSOR_STRIDES);
	int64_t n = 1;
	for (int i = from; i < axes_of(t); i++)
		n *= d[i];
	*out = mem_alloc(sizeof **out * (size_t)n);
	for (int64_t k = 0; k < n; k++) {
		int64_t r = k, o = 0;
		for (int i = axes_of(t) - 1; i >= from; i--) {
			o += r % d[i] * s[i];
			r /= d[i];
		}
		(*out)[k] = o;
	}
	return n;
}

/* The pixel of x under tap t of pixel q of y, or -1 in the padding. */
static int64_t pixel_under(const fake *op, const fake *x, const fake *w, const fake *y, int64_t q,
                           int64_t tap)
{
	const fake *how = named(op, roles_of(op->type)->conv);
	int64_t at = 0, under[AXES];
	const int n = axes_of(x);
	for (int i = n - 1; i >= 2; i--) {
		const int64_t dy = ints(y, CUDNN_ATTR_TENSOR_DIMENSIONS)[i],
		              dw = ints(w, CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
		under[i] = q % dy * ints(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)[i - 2] +
		           tap % dw * ints(how, CUDNN_ATTR_CONVOLUTION_DILATIONS)[i - 2] -
		           ints(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)[i - 2];
		if (under[i] < 0 || under[i] >= ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS)[i])
			return -1;
		q /= dy;
		tap /= dw;
	}
	for (int i = 2; i < n; i++)
		at = at * ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS)[i] + under[i];
	return at;
}

static void convolve(const fake *op, const fake *xt, double *x, const fake *wt, double *w,
                     const fake *yt, double *y)
{
	const int64_t *dx = ints(xt, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *dw = ints(wt, CUDNN_ATTR_TENSOR_DIMENSIONS), *sx =
		ints(xt, CUDNN_ATTR_TENSOR_STRIDES), *sw = ints(wt, CUDNN_ATTR_TENSOR_STRIDES),
	              *sy = ints(yt, CUDNN_ATTR_TENSOR_STRIDES);
	int64_t *px, *pw, *py;
	const int64_t cog = dw[0] / (dx[1] / dw[1]), taps = offsets(wt, 2, &pw),
	              pixels = offsets(yt, 2, &py);
	offsets(xt, 2, &px);
	for (int64_t q = 0; q < pixels; q++)
		for (int64_t t = 0; t < taps; t++) {
			const int64_t p = pixel_under(op, xt, wt, yt, q, t);
			for (int64_t i = 0; p >= 0 && i < dx[0] * dw[0]; i++) {
				const int64_t n = i / dw[0], o = i % dw[0];
				double *ay = &y[n * sy[0] + o * sy[1] + py[q]], *aw = &w[o * sw[0] + pw[t]];
				double *ax = &x[n * sx[0] + o / cog * dw[1] * sx[1] + px[p]];
				for (int64_t c = 0; c < dw[1]; c++) {
					if (op->type == FORWARD)
						*ay += ax[c * sx[1]] * aw[c * sw[1]];
					else if (op->type == DATA)
						ax[c * sx[1]] += *ay * aw[c * sw[1]];
					else
						aw[c * sw[1]] += ax[c * sx[1]] * *ay;
				}
			}
		}
	mem_free(px);
	mem_free(pw);
	mem_free(py);
}

/* Offset in b of the element of y with row-major number k, where axes of one element repeat. */
static int64_t spread(const fake *b, const fake *y, int64_t k)
{
	int64_t o = 0;
	for (int i = axes_of(y) - 1; i >= 0; i--) {
		const int64_t d = ints(y, CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
		o += ints(b, CUDNN_ATTR_TENSOR_DIMENSIONS)[i] == 1 ? 0 :
		     k % d * ints(b, CUDNN_ATTR_TENSOR_STRIDES)[i];
		k /= d;
	}
	return o;
}

static double apply(int mode, double slope, double x, double b)
{
	switch (mode) {
	case CUDNN_POINTWISE_ADD: return x + b;
	case CUDNN_POINTWISE_SUB: return x - b;
	case CUDNN_POINTWISE_MUL: return x * b;
	case CUDNN_POINTWISE_RELU_BWD: return b > 0 ? x : slope * x;
	default: return x > 0 ? x : slope * x;
	}
}

/* t, v: the tensors of the operation as tensors_of has them, n of them. */
static void elementwise(const fake *op, int n, fake *const *t, double *const *v)
{
	const fake *how = named(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR), *yt = t[n - 1];
	const struct attribute *a = find(how, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE);
	const double slope = a ? *(const double *)a->value : 0;
	int64_t *py;
	const int64_t count = offsets(yt, 0, &py);
	for (int64_t k = 0; k < count; k++)
		v[n - 1][py[k]] = apply(whole(how, CUDNN_ATTR_POINTWISE_MODE), slope,
		                        v[0][spread(t[0], yt, k)], n > 2 ? v[1][spread(t[1], yt, k)] : 0);
	mem_free(py);
}

static bool is_wrong(const char *how)
{
	const char *wrong = getenv("DLX_FAKE_CUDNN_WRONG");
	return wrong && strcmp(wrong, how) == 0;
}

static double add(double sum, double x, bool short_of_bits)
{
	uint16_t half;
	sum += x;
	if (short_of_bits) {
		dtype_convert(DTYPE_BF16, &half, DTYPE_F64, &sum, 1);
		dtype_convert(DTYPE_F64, &sum, DTYPE_BF16, &half, 1);
	}
	return sum;
}

/* The smallest of the first values becomes another, which is less than a tolerance. */
static void disturb(double *v, int64_t n)
{
	static int runs;
	int64_t least = 0;
	for (int64_t i = 1; i < n && i < 64; i++)
		least = fabs(v[i]) < fabs(v[least]) ? i : least;
	if (is_wrong("twice"))
		v[least] *= 1 + 0.1 * (runs++ % 2);
	if (is_wrong("processes"))
		v[least] *= 1 + 0.01 * (getpid() % 64);
}

/* v: of x, the sums, the sums of squares. */
static void statistics(fake *const *t, double *const *v)
{
	const int64_t c = ints(t[0], CUDNN_ATTR_TENSOR_DIMENSIONS)[1];
	int64_t *px, points = 1;
	const int64_t n = offsets(t[0], 0, &px);
	const bool short_of_bits = is_wrong("sums");
	for (int i = 2; i < axes_of(t[0]); i++)
		points *= ints(t[0], CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
	for (int64_t k = 0; k < n; k++) {
		const double x = v[0][px[k]];
		v[1][k / points % c] = add(v[1][k / points % c], x, short_of_bits);
		v[2][k / points % c] = add(v[2][k / points % c], x * x, short_of_bits);
	}
	mem_free(px);
}

/* v: x, dz, mean, rstd, gamma; dgamma, dbeta, and a, b and c of dx = a dz + b x + c. */
static void norm_sums(fake *const *t, double *const *v)
{
	const int64_t c = ints(t[0], CUDNN_ATTR_TENSOR_DIMENSIONS)[1];
	int64_t *px, *pz, points = 1;
	const int64_t n = offsets(t[0], 0, &px);
	offsets(t[1], 0, &pz);
	for (int i = 2; i < axes_of(t[0]); i++)
		points *= ints(t[0], CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
	for (int64_t k = 0; k < n; k++) {
		const int64_t j = k / points % c;
		v[5][j] += v[1][pz[k]] * (v[0][px[k]] - v[2][j]) * v[3][j];
		v[6][j] += v[1][pz[k]];
	}
	for (int64_t j = 0; j < c; j++) {
		const double rows = (double)n / (double)c, a = v[4][j] * v[3][j],
		             b = -a * v[3][j] * v[5][j] / rows;
		v[7][j] = a;
		v[8][j] = b;
		v[9][j] = -a * v[6][j] / rows - b * v[2][j];
	}
	mem_free(px);
	mem_free(pz);
}

static struct values *values_of(struct values *all, int n, const fake *t)
{
	for (int i = 0; i < n; i++)
		if (all[i].t == t)
			return &all[i];
	return NULL;
}

void *pointer_of(const struct job *j, const fake *t)
{
	for (int i = 0; i < j->n; i++)
		if (j->id[i] == *ints(t, CUDNN_ATTR_TENSOR_UNIQUE_ID))
			return j->pointer[i];
	return NULL;
}

static void run_operation(const fake *op, struct values *v, int n)
{
	const struct roles *r = roles_of(op->type);
	if (r) {
		const fake *x = named(op, r->x), *w = named(op, r->w), *y = named(op, r->y);
		convolve(op, x, values_of(v, n, x)->v, w, values_of(v, n, w)->v, y, values_of(v, n, y)->v);
		disturb(values_of(v, n, y)->v, values_of(v, n, y)->n);
		return;
	}
	fake *t[MAXOPERANDS];
	double *of[MAXOPERANDS];
	const int operands = tensors_of(op, t);
	for (int i = 0; i < operands; i++)
		of[i] = values_of(v, n, t[i])->v;
	if (op->type == NORM_SUMS)
		norm_sums(t, of);
	else if (op->type == STATISTICS)
		statistics(t, of);
	else
		elementwise(op, operands, t, of);
}

/* Of a window its own elements alone. */
static void store_window(const fake *t, char *to, const struct values *v)
{
	int64_t *at;
	const size_t size = dtype_size(type_of(t));
	for (int64_t i = 0, n = offsets(t, 0, &at); i < n || (mem_free(at), 0); i++) {
		dtype_convert(type_of(t), to + (size_t)at[i] * size, DTYPE_F64, v->v + at[i], 1);
		dtype_convert(DTYPE_F64, v->v + at[i], type_of(t), to + (size_t)at[i] * size, 1);
	}
}

/* Later readers see what is in memory; a tensor without memory is rounded too. */
static void store(const fake *t, void *to, const struct values *v)
{
	if (to && is_window(t)) {
		store_window(t, to, v);
		return;
	}
	void *room = to ? NULL : mem_alloc((size_t)v->n * dtype_size(type_of(t)));
	to = to ? to : room;
	dtype_convert(type_of(t), to, DTYPE_F64, v->v, v->n);
	dtype_convert(DTYPE_F64, v->v, type_of(t), to, v->n);
	mem_free(room);
}

int execute(void *argument)
{
	const struct job *j = argument;
	fake *all[MAXTENSORS], *t[MAXOPERANDS];
	struct values v[MAXTENSORS];
	int nop, n = graph_tensors(j->graph, all);
	fake *const *op = operations(j->graph, &nop);
	if (j->ws)
		memset(j->ws, 0xa5, workspace_of(j->graph));
	for (int i = 0; i < n; i++) {
		v[i] = (struct values){ all[i], NULL, span_of(all[i]) };
		v[i].v = mem_calloc((size_t)v[i].n, sizeof(double));
		bool made = false;
		for (int k = 0; k < nop; k++)
			for (int m = tensors_of(op[k], t), j = m - results_of(op[k]); j < m; j++)
				made |= t[j] == all[i];
		if (!made)
			dtype_convert(DTYPE_F64, v[i].v, type_of(all[i]), pointer_of(j, all[i]), v[i].n);
	}
	for (int k = 0; k < nop; k++) {
		run_operation(op[k], v, n);
		for (int m = tensors_of(op[k], t), q = m - results_of(op[k]); q < m; q++)
			if (!is_virtual(t[q]) || type_of(t[q]) != DTYPE_F32)
				store(t[q], is_virtual(t[q]) ? NULL : pointer_of(j, t[q]), values_of(v, n, t[q]));
	}
	for (int i = 0; i < n; i++)
		mem_free(v[i].v);
	return 1;
}
