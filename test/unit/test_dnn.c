/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnn.h: what oneDNN chooses can be said as a struct layout and given back, matrix products and
 * reorders compute what loops do, padding comes out zero also from dirty buffers, and running
 * allocates nothing of dlx's. bf16_ratio.h: a processor's rates are measured once and kept. */
#include <dirent.h>
#include <math.h>

#include "cases.h"
#include "backend/bf16_ratio.h"
#include "backend/dnn/cpu.h"
#include "backend/dnn/dnn.h"
#include "backend/dnn/dnn_code.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

/* For LeakSanitizer: oneDNN 3.6 itself loses a few bytes when it describes gradients to the input
 * of one channel or one pixel. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libdnnl.so.3\n";
}

static int64_t batch = 2;

/* 5 output channels: every blocked layout has padding. */
static struct dnn_conv some_conv(enum conv_kind kind, int64_t groups)
{
	struct dnn_conv c = { .kind = kind, .bias = kind != CONV_BACKWARD_DATA };
	c.geom = (struct conv_geom){
		.ns = 2, .n = batch, .ci = 3 * groups, .co = 5 * groups, .groups = groups,
		.in = { 9, 8, 1 }, .kernel = { 3, 3, 1 }, .out = { 9, 8, 1 }, .stride = { 1, 1, 1 },
		.dilation = { 1, 1, 1 }, .pad_lo = { 1, 1, 0 }, .pad_hi = { 1, 1, 0 },
	};
	return c;
}

static struct shape weights_shape(int64_t groups)
{
	const int64_t plain[] = { 5, 3, 3, 3 }, grouped[] = { groups, 5, 3, 3, 3 };
	return groups > 1 ? shape_of(5, grouped) : shape_of(4, plain);
}

static int weights_argument(enum conv_kind kind)
{
	return kind == CONV_BACKWARD_WEIGHTS ? 2 : 1;
}

/* Requests kind with channels-last activations and open weights. */
static struct dnn_prim *open_conv(enum conv_kind kind, int64_t groups, struct layout *w)
{
	struct dnn_conv c = some_conv(kind, groups);
	const int64_t xd[] = { batch, c.geom.ci, 9, 8 }, yd[] = { batch, c.geom.co, 9, 8 };
	const struct shape xs = shape_of(4, xd), ys = shape_of(4, yd);
	const struct layout x = layout_native(&xs), y = layout_native(&ys);
	struct dnn_prim *p = NULL;
	c.x = &x;
	c.y = &y;
	c.w = w->set ? w : NULL;
	assert_int_equal(dnn_conv_new(&p, &c), 0);
	assert_int_equal(dnn_prim_layout(p, weights_argument(kind), w), 0);
	return p;
}

/* With another batch size, since code of a request with open layouts is kept under the layouts
 * that oneDNN chose. */
static void chosen_layouts_can_be_given_back(void **state)
{
	for (int kind = CONV_FORWARD; kind <= CONV_BACKWARD_WEIGHTS; kind++)
		for (int64_t groups = 1; groups <= 3; groups++) {
			struct layout w = { 0 }, again;
			struct dnn_prim *p = open_conv((enum conv_kind)kind, groups, &w);
			again = w;
			batch = 3;
			struct dnn_prim *q = open_conv((enum conv_kind)kind, groups, &again);
			batch = 2;
			assert_true(w.set && layout_equal(&w, &again));
			assert_string_equal(dnn_prim_impl(p), dnn_prim_impl(q));
			assert_false(dnn_prim_is_reference(q));
			dnn_prim_free(p);
			dnn_prim_free(q);
		}
}

static float *floats(int64_t n, int fill)
{
	float *f = mem_map(sizeof *f * (size_t)n);
	assert_non_null(f);
	memset(f, fill, sizeof *f * (size_t)n);
	for (int64_t i = 0; fill == 0 && i < n; i++)
		f[i] = (float)(i * 7 % 11) - 5;
	return f;
}

static void drop(float *f, int64_t n)
{
	mem_unmap(f, sizeof *f * (size_t)n);
}

/* Every element that belongs to no index is zero, every other one is a number. */
static void check_padding(const struct layout *l, const struct shape *s, const float *f)
{
	const int64_t n = layout_elements(l), count = shape_count(s);
	char *used = mem_calloc((size_t)n, 1);
	for (int64_t i = 0; i < count; i++)
		used[layout_offset(l, i)] = 1;
	for (int64_t i = 0; i < n; i++)
		assert_true(used[i] ? !isnan(f[i]) : f[i] == 0);
	mem_free(used);
}

static void gradients_leave_padding_zero(void **state)
{
	for (int64_t groups = 1; groups <= 3; groups += 2) {
		struct layout w = { 0 };
		struct dnn_prim *p = open_conv(CONV_BACKWARD_WEIGHTS, groups, &w);
		const struct shape ws = weights_shape(groups);
		const int64_t nx = 2 * 3 * groups * 72, ny = 2 * 5 * groups * 72,
			      nw = layout_elements(&w);
		const int64_t nws = (int64_t)dnn_prim_workspace(p) / 4 + 1;
		assert_int_equal(dnn_prim_prepare(p), 0);
		assert_int_equal(dnn_generate(), 0);
		float *x = floats(nx, 0), *dy = floats(ny, 0), *dw = floats(nw, 0xff);
		float *db = floats(5 * groups, 0xff), *ws_mem = floats(nws, 0xff);
		void *const arg[] = { x, dy, dw, db };
		for (int run = 0; run < 2; run++) {
			memset(dw, 0xff, sizeof *dw * (size_t)nw);
			memset(ws_mem, 0xff, sizeof *ws_mem * (size_t)nws);
			uint64_t before = mem_count();
			assert_int_equal(dnn_prim_run(p, arg, ws_mem), 0);
			assert_true(mem_count() == before);
			check_padding(&w, &ws, dw);
		}
		drop(x, nx), drop(dy, ny), drop(dw, nw), drop(db, 5 * groups), drop(ws_mem, nws);
		dnn_prim_free(p);
	}
}

static void reorders_move_elements(void **state)
{
	struct layout w = { 0 };
	dnn_prim_free(open_conv(CONV_FORWARD, 1, &w));
	const struct shape s = weights_shape(1);
	const struct layout plain = layout_plain(&s);
	const int64_t n = shape_count(&s), nw = layout_elements(&w);
	float *a = floats(n, 0), *b = floats(nw, 0xff), *want = floats(nw, 0xff),
	      *back = floats(n, 0xff);
	struct dnn_prim *to = NULL, *from = NULL;
	assert_int_equal(dnn_reorder_new(&to, DTYPE_F32, &plain, DTYPE_F32, &w), 0);
	assert_int_equal(dnn_reorder_new(&from, DTYPE_F32, &w, DTYPE_F32, &plain), 0);
	assert_int_equal(dnn_prim_prepare(to), 0);
	assert_int_equal(dnn_prim_prepare(from), 0);
	assert_int_equal(dnn_prim_workspace(to) + dnn_prim_workspace(from), 0);
	assert_int_equal(dnn_prim_run(to, (void *const[]){ a, b }, NULL), 0);
	layout_pack(&w, &s, DTYPE_F32, want, DTYPE_F32, a);
	assert_memory_equal(b, want, sizeof *b * (size_t)nw);
	assert_int_equal(dnn_prim_run(from, (void *const[]){ b, back }, NULL), 0);
	assert_memory_equal(a, back, sizeof *a * (size_t)n);
	drop(a, n), drop(b, nw), drop(want, nw), drop(back, n);
	dnn_prim_free(to);
	dnn_prim_free(from);
}

/* Element (i, j) of the product by strides. */
static double entry(const struct dnn_matmul *m, const float *a, const float *b, int64_t i,
		    int64_t j)
{
	double sum = 0;
	for (int64_t l = 0; l < m->k; l++)
		sum += (double)a[i * m->a_stride[0] + l * m->a_stride[1]]
		       * (double)b[l * m->b_stride[0] + j * m->b_stride[1]];
	return sum;
}

static void products(void **state)
{
	enum { M = 7, N = 5, K = 19 };
	for (int t = 0; t < 8; t++) {
		const struct dnn_matmul m = {
			.m = M, .n = N, .k = K, .bias = t & 4,
			.a_stride = { t & 1 ? 1 : K, t & 1 ? M : 1 },
			.b_stride = { t & 2 ? 1 : N, t & 2 ? K : 1 }, .c_stride = { N, 1 },
		};
		struct dnn_prim *p = NULL;
		assert_int_equal(dnn_matmul_new(&p, &m), 0);
		assert_int_equal(dnn_prim_prepare(p), 0);
		const int64_t nws = (int64_t)dnn_prim_workspace(p) / 4 + 1;
		float *a = floats(M * K, 0), *b = floats(K * N, 0), *c = floats(M * N, 0xff);
		float *bias = floats(N, 0), *ws = floats(nws, 0xff);
		void *arg[] = { a, b, m.bias ? bias : c, c };
		assert_int_equal(dnn_prim_run(p, arg, ws), 0);
		for (int i = 0; i < M; i++)
			for (int j = 0; j < N; j++)
				assert_true(fabs(entry(&m, a, b, i, j) + (m.bias ? bias[j] : 0)
				                 - c[i * N + j]) < 1e-4);
		drop(a, M * K), drop(b, K * N), drop(c, M * N), drop(bias, N), drop(ws, nws);
		dnn_prim_free(p);
	}
}

static void refusals_say_why(void **state)
{
	const int64_t d[] = { 4, 4 };
	const struct shape s = shape_of(2, d);
	const struct layout l = layout_plain(&s);
	struct dnn_prim *p = NULL;
	struct dnn_conv c = some_conv(CONV_FORWARD, 1);
	assert_int_equal(dnn_reorder_new(&p, DTYPE_F64, &l, DTYPE_F64, &l), E_UNSUPPORTED);
	assert_int_equal(err_count(), 1);
	c.x = &l;         /* a layout over other axes */
	assert_int_equal(dnn_conv_new(&p, &c), E_UNSUPPORTED);
	assert_null(p);
	assert_non_null(strstr(err_get(1)->text, "oneDNN"));
	err_clear();
	dnn_prim_free(NULL);
}

/* One question, two users at different places, one of whom goes first. */
static void equal_questions_share_code(void **state)
{
	const struct dnn_matmul m = { .m = 3, .n = 3, .k = 3, .a_stride = { 3, 1 },
		.b_stride = { 3, 1 },
		.c_stride = { 3, 1 } };
	struct dnn_prim *p[2];
	float *a = floats(9, 0), *b = floats(9, 0), *c[2] = { floats(9, 0xff), floats(9, 0xff) };
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dnn_matmul_new(&p[i], &m), 0);
		assert_int_equal(dnn_prim_prepare(p[i]), 0);
	}
	assert_ptr_equal(dnn_prim_impl(p[0]), dnn_prim_impl(p[1]));
	const int64_t nws = (int64_t)dnn_prim_workspace(p[0]) / 4 + 1;
	float *ws = floats(nws, 0xff);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dnn_prim_run(p[i], (void *const[]){ a, b, c[i] }, ws), 0);
		dnn_prim_free(p[i]);
	}
	assert_memory_equal(c[0], c[1], 9 * sizeof *a);
	assert_false(isnan(c[1][8]));
	drop(a, 9), drop(b, 9), drop(c[0], 9), drop(c[1], 9), drop(ws, nws);
}

/* A row, and a column that is transposed, are planned together and run in either order: neither
 * writes to more workspace than its own. oneDNN has one primitive for both. */
static void rows_and_columns_are_one(void **state)
{
	for (int64_t k = 32; k <= 33; k++) {
		struct dnn_prim *p[2];
		float *a = floats(k, 0), *b = floats(k * 32, 0), *c = floats(32, 0xff);
		for (int i = 0; i < 2; i++) {
			const struct dnn_matmul m = { .m = 1, .n = 32, .k = k,
				.a_stride = { i == k % 2 ? 1 : k, 1 }, .b_stride = { 32, 1 },
				.c_stride = { 32, 1 } };
			assert_int_equal(dnn_matmul_new(&p[i], &m), 0);
			assert_int_equal(dnn_prim_prepare(p[i]), 0);
		}
		for (int i = 0; i < 2; i++) {
			const int64_t used = (int64_t)dnn_prim_workspace(p[i]), nws = used / 4 + 1024;
			float *ws = floats(nws, 0xff);
			assert_int_equal(dnn_prim_run(p[i], (void *const[]){ a, b, c }, ws), 0);
			for (int64_t at = used; at < 4 * nws; at++)
				assert_int_equal(((unsigned char *)ws)[at], 0xff);
			drop(ws, nws);
			dnn_prim_free(p[i]);
		}
		drop(a, k), drop(b, k * 32), drop(c, 32);
	}
}

/* --- extents of 1 --- */

/* x, w and y of a convolution, or the gradients of these. */
struct three {
	struct shape shape[3];
	struct layout layout[3];
	float *v[3];                     /* row-major */
};

/* Adds up the result, which is x, w or y, of the other two. */
static void convolve(const struct three *t, int64_t pad, int result, double *sum)
{
	const int64_t *x = t->shape[0].d, *w = t->shape[1].d, *y = t->shape[2].d;
	const int one = (result + 1) % 3, other = (result + 2) % 3;
	for (int64_t i = 0; i < shape_count(&t->shape[2]) * w[1] * w[2] * w[3]; i++) {
		const int64_t kw = i % w[3], kh = i / w[3] % w[2], c = i / w[3] / w[2] % w[1],
		              at = i / w[3] / w[2] / w[1], o = at / y[3] / y[2] % y[1],
		              row = at / y[3] % y[2] - pad + kh, column = at % y[3] - pad + kw,
		              n = at / y[3] / y[2] / y[1],
		              k[] = { ((n * x[1] + c) * x[2] + row) * x[3] + column,
		                      ((o * w[1] + c) * w[2] + kh) * w[3] + kw, at };
		if (row >= 0 && row < x[2] && column >= 0 && column < x[3])
			sum[k[result]] += (double)t->v[one][k[one]] * t->v[other][k[other]];
	}
}

/* Whether p computes that, and writes to no more workspace than its own. */
static bool computes(struct dnn_prim *p, enum conv_kind kind, const struct three *t, int result,
                     const double *want)
{
	static const int order[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 0, 2, 1 } };
	const int64_t used = (int64_t)dnn_prim_workspace(p), nws = used / 4 + 4096,
	              n = shape_count(&t->shape[result]);
	float *ws = floats(nws, 0xff), *got = floats(n, 0xff), *v[3];
	void *arg[3];
	bool right = true;
	for (int i = 0; i < 3; i++) {
		v[i] = floats(layout_elements(&t->layout[i]), 0xff);
		if (i != result)
			layout_pack(&t->layout[i], &t->shape[i], DTYPE_F32, v[i], DTYPE_F32, t->v[i]);
	}
	for (int i = 0; i < 3; i++)
		arg[i] = v[order[kind][i]];
	assert_int_equal(dnn_prim_run(p, arg, ws), 0);
	for (int64_t at = used; at < 4 * nws; at++)
		right &= ((unsigned char *)ws)[at] == 0xff;
	layout_unpack(&t->layout[result], &t->shape[result], DTYPE_F32, got, DTYPE_F32, v[result]);
	for (int64_t i = 0; i < n; i++)
		right &= fabs(got[i] - want[i]) < 1e-3 * (1 + fabs(want[i]));
	for (int i = 0; i < 3; i++)
		drop(v[i], layout_elements(&t->layout[i]));
	drop(ws, nws), drop(got, n);
	return right;
}

/* The question in four pairs of layouts of x and y, planned together, run one after the other. */
static bool layouts_keep_apart(enum conv_kind kind, int64_t ci, int64_t co, int64_t extent,
                               int64_t kernel)
{
	const int64_t pad = kernel / 2, d[][4] = { { 1, ci, extent, extent },
		{ co, ci, kernel, kernel }, { 1, co, extent, extent } };
	const int result = kind == CONV_FORWARD ? 2 : kind == CONV_BACKWARD_DATA ? 0 : 1;
	struct dnn_conv c = { .kind = kind, .geom = { .ns = 2, .n = 1, .ci = ci, .co = co, .groups = 1,
		.in = { extent, extent, 1 }, .kernel = { kernel, kernel, 1 }, .out = { extent, extent, 1 },
		.stride = { 1, 1, 1 }, .dilation = { 1, 1, 1 }, .pad_lo = { pad, pad, 0 },
		.pad_hi = { pad, pad, 0 } } };
	struct three t[4];
	struct dnn_prim *p[4] = { NULL };
	bool right = true;
	for (int i = 0; i < 3; i++) {
		t->shape[i] = shape_of(4, d[i]);
		t->v[i] = floats(shape_count(&t->shape[i]), 0);
	}
	double *want = mem_calloc((size_t)shape_count(&t->shape[result]), sizeof *want);
	convolve(t, pad, result, want);
	for (int i = 0; i < 4; i++) {
		t[i] = t[0];
		t[i].layout[0] = i & 1 ? layout_plain(&t->shape[0]) : layout_native(&t->shape[0]);
		t[i].layout[2] = i & 2 ? layout_plain(&t->shape[2]) : layout_native(&t->shape[2]);
		c.x = &t[i].layout[0];
		c.y = &t[i].layout[2];
		if (dnn_conv_new(&p[i], &c) == 0) {
			dnn_prim_layout(p[i], weights_argument(kind), &t[i].layout[1]);
			assert_int_equal(dnn_prim_prepare(p[i]), 0);
		}
		err_clear();                 /* mixed ones may be nothing that oneDNN has code for */
	}
	for (int i = 0; i < 4; i++) {
		right &= !p[i] || computes(p[i], kind, &t[i], result, want);
		dnn_prim_free(p[i]);
	}
	for (int i = 0; i < 3; i++)
		drop(t->v[i], shape_count(&t->shape[i]));
	mem_free(want);
	return right;
}

/* Activations of one channel or one pixel have several layouts and one place in memory: oneDNN's
 * own cache has one primitive for all of these. */
static void layouts_of_one_place(void **state)
{
	static const int64_t channels[] = { 1, 2, 16 };
	for (int kind = CONV_FORWARD; kind <= CONV_BACKWARD_WEIGHTS; kind++)
		for (int i = 0; i < 9; i++)
			for (int64_t extent = 1; extent <= 5; extent += 4)
				for (int64_t kernel = 1; kernel <= 3; kernel += 2)
					assert_true(layouts_keep_apart((enum conv_kind)kind, channels[i / 3],
					                               channels[i % 3], extent, kernel));
}

/* A window of one tap is dense whatever its dilation says, also for oneDNN, which is wrong for some
 * of those that are said to be dilated. */
static void single_taps_are_dense(void **state)
{
	struct dnn_prim *p[3];
	for (int i = 0; i < 3; i++) {
		struct dnn_conv c = some_conv(CONV_BACKWARD_WEIGHTS, 1);
		c.geom.kernel[0] = 1;
		c.geom.out[0] = c.geom.in[0];
		c.geom.pad_lo[0] = c.geom.pad_hi[0] = 0;
		c.geom.dilation[0] = 1 + 3 * i;
		if (i == 2) {
			c.geom.dilation[0] = 1;
			c.geom.dilation[1] = 2;
			c.geom.pad_lo[1] = c.geom.pad_hi[1] = 2;
		}
		assert_int_equal(dnn_conv_new(&p[i], &c), 0);
	}
	assert_ptr_equal(p[0]->code, p[1]->code);
	assert_ptr_not_equal(p[0]->code, p[2]->code);
	for (int i = 0; i < 3; i++)
		dnn_prim_free(p[i]);
}

static void describes_itself(void **state)
{
	char text[64], small[8];
	assert_int_equal(strncmp(dnn_describe(text, sizeof text), "oneDNN ", 7), 0);
	assert_int_equal(strlen(dnn_describe(small, sizeof small)), 7);
}

static void classes(void **state)
{
	assert_true(bf16_ratio_class(371e9, 2600e9) == 8);
	assert_true(bf16_ratio_class(371e9, 232e9) == 0.5);
	assert_true(bf16_ratio_class(100, 141) == 1 && bf16_ratio_class(100, 142) == 2);
	assert_true(bf16_ratio_class(1, 1e6) == 8 && bf16_ratio_class(1e6, 1) == 0.5);
	assert_true(bf16_ratio_class(0, 1) == 0 && bf16_ratio_class(1, 0) == 0);
}

static int measured;
static double bf16_is;

static double measure(enum dtype type)
{
	measured++;
	return type == DTYPE_F32 ? 100 : bf16_is;
}

/* The class of a processor, and whether it was measured for that. */
static void assert_ratio(const char *processor, double class, bool anew)
{
	measured = 0;
	const struct bf16_ratio r = bf16_ratio_keep(processor, measure);
	assert_true(r.class == class && r.core);
	assert_int_equal(measured > 0, anew);
	assert_int_equal(err_count(), 0);
}

/* Writes text over the one file in the folder. */
static void overwrite(const char *folder, const char *text)
{
	DIR *d = opendir(folder);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		char *path = io_join(folder, e->d_name);
		if (e->d_name[0] != '.')
			assert_int_equal(io_write_file(path, text, strlen(text)), 0);
		mem_free(path);
	}
	closedir(d);
}

static void rates_are_kept(void **state)
{
	char dir[] = "/tmp/dlx-test-ratio-XXXXXX", cache[64];
	assert_non_null(mkdtemp(dir));
	snprintf(cache, sizeof cache, "%s/dlx", dir);
	setenv("XDG_CACHE_HOME", dir, 1);
	bf16_is = 400;
	assert_ratio("A, oneDNN 1 x", 4, true);
	bf16_is = 200;
	assert_ratio("A, oneDNN 1 x", 4, false);
	overwrite(cache, "A, oneDNN 1 x\nf32 100 bf16 790\n");
	assert_ratio("A, oneDNN 1 x", 8, false);
	/* Of another processor, cut, or no numbers: measured, and kept again. */
	const char *damaged[] = { "B, oneDNN 1 x\nf32 100 bf16 790\n", "A, oneDNN", "",
		"A, oneDNN 1 x\nf32 100 bf16 -1\n", "A, oneDNN 1 x\nf32 nan bf16 1\n" };
	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
		overwrite(cache, damaged[i]);
		assert_ratio("A, oneDNN 1 x", 2, true);
		assert_ratio("A, oneDNN 1 x", 2, false);
	}
	assert_ratio("A, oneDNN 2 x", 2, true);
	bf16_is = 0;                     /* what failed is not kept */
	assert_ratio("C", 0, true);
	assert_ratio("C", 0, true);
	bf16_is = 400;
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "/dev/null", 1);
	assert_ratio("A, oneDNN 1 x", 4, true);
	assert_ratio("A, oneDNN 1 x", 4, true);
	assert_int_equal(io_remove_tree(dir), 0);
}

/* The processor's bf16 is measured only where it is its own. */
static void rates_are_measured(void **state)
{
	assert_true(cpu_measure_core(DTYPE_F32) > 0);
	if (dnn_bf16_support() != DNN_BF16_NONE)
		assert_true(cpu_measure_core(DTYPE_BF16) > 0);
	assert_int_equal(cpu_measure_peak_bf16(2) > 0, dnn_bf16_support() == DNN_BF16_NATIVE);
	assert_int_equal(err_count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_layouts_can_be_given_back),
		cmocka_unit_test(gradients_leave_padding_zero),
		cmocka_unit_test(reorders_move_elements),
		cmocka_unit_test(products),
		cmocka_unit_test(refusals_say_why),
		cmocka_unit_test(equal_questions_share_code),
		cmocka_unit_test(rows_and_columns_are_one),
		cmocka_unit_test(layouts_of_one_place),
		cmocka_unit_test(single_taps_are_dense),
		cmocka_unit_test(describes_itself),
		cmocka_unit_test(classes),
		cmocka_unit_test(rates_are_kept),
		cmocka_unit_test(rates_are_measured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
