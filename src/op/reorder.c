/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that change the storage of values, not the values:
 *
 *   reorder   another physical layout; the layout pass inserts it where a kernel needs one
 *   cast      another element type, rounding to nearest; integers saturate */
#include "op/reorder.h"

#include <math.h>
#include <string.h>

#include "backend/device.h"
#include "backend/dnn/dnn.h"
#include "base/err.h"
#include "base/half.h"
#include "op/lib/copy_cuda.h"
#include "op/lib/cuda.h"
#include "op/lib/reads.h"
#include "op/lib/regroup.h"
#include "op/update/copier.h"

/* --- attributes --- */

#define X(id, name, size) name,
static const char *const dtype_names[] = { DTYPE_LIST(X) NULL };
#undef X

static const struct field cast_fields[] = {
	FIELD_ENUM(struct cast_attr, dtype, "", dtype_names, "element type of the result"),
	FIELD_END
};

/* --- shape --- */

static int reorder_shape(struct graph *g, struct node *n)
{
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, node_in_shape(g, n, 0));
}

static int cast_shape(struct graph *g, struct node *n)
{
	const struct cast_attr *at = n->attr;
	if (at->dtype < 0 || at->dtype >= DTYPE_COUNT)
		return ERR(E_SHAPE, &g->cur_loc, "'cast' of %s to an unknown element type",
		           shape_text(node_in_shape(g, n, 0), (char[SHAPE_TEXT]){ "" }));
	return graph_out(g, n, 0, (enum dtype)at->dtype, node_in_shape(g, n, 0));
}

/* --- grad --- */

static int reorder_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[0] = dy[0];
	return 0;
}

static int cast_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct cast_attr back = { (int)graph_t(g, n->in[0])->dtype };
	dx[0] = NONE;
	if (!dtype_is_float(graph_t(g, n->in[0])->dtype)
	    || !dtype_is_float(graph_t(g, n->out[0])->dtype))
		return 0;
	return graph_emit1(g, "cast", &back, 1, dy, &dx[0]);
}

/* --- reorder: reference and cpu kernels --- */

static enum dtype stored_type(const struct kplan *k, tid t)
{
	return device_dtype(k->dev, graph_t(k->g, t)->dtype);
}

static int reorder_reference(const struct kplan *k, const struct kargs *a)
{
	memcpy(a->out[0], a->in[0],
	       (size_t)kplan_in_elements(k, 0) * dtype_size(stored_type(k, k->n->in[0])));
	return 0;
}

/* The pass that inserts reorders sets both layouts. A reorder that the pass did not insert converts
 * between row-major and channels-last. */
static int reorder_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	if (!in[0].set)
		in[0] = layout_plain(s);
	if (!out[0].set)
		out[0] = layout_is_plain(&in[0], s) ? layout_native(s) : layout_plain(s);
	return 0;
}

enum way { LOOP, TRANSPOSE, TRANSPOSE_BACK }; /* without oneDNN */

struct reorder_plan {
	struct dnn_prim *prim; /* NULL: see `way` */
	enum way way;
	struct copier *copier; /* for cast: preferred to all others if not NULL */
};

/* Plans oneDNN's reorder. Sets *out to NULL if oneDNN does not support the layouts or types. */
static int plan_vendor(const struct tensor *x, const struct tensor *y, enum dtype from_type,
                       enum dtype to_type, struct dnn_prim **out)
{
	const struct layout *from = &x->layout, *to = &y->layout;
	const int mark = err_count();
	struct layout a = *from, b = *to;
	*out = NULL;
	if (a.nd + 1 == b.nd && !layout_split_first(from, to->dims[0], &a))
		return 0;
	if (b.nd + 1 == a.nd && !layout_split_first(to, from->dims[0], &b))
		return 0;
	if (a.nd != b.nd || memcmp(a.dims, b.dims, sizeof a.dims) != 0)
		return 0;
	int rc = dnn_reorder_new(out, from_type, &a, to_type, &b);
	if (rc == 0 && dnn_prim_is_reference(*out)) {
		dnn_prim_free(*out);
		*out = NULL;
	}
	if (rc == E_UNSUPPORTED) {
		err_truncate(mark);
		rc = 0;
	}
	return rc;
}

static bool is_proven(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_BF16;
}

/* Inputs of other types than f32 are copied without conversion. */
static struct kernel_choice choice_of(const struct dnn_prim *p, const struct tensor *x,
                                      const struct tensor *y)
{
	return is_proven(x->dtype) && is_proven(y->dtype) ? dnn_prim_choice(p) :
	       (struct kernel_choice){ NULL, 0 };
}

static enum way way(const struct tensor *x, const struct tensor *y, size_t size)
{
	const struct shape *s = &x->shape;
	if (size != 4 || s->nd < 3)
		return LOOP;
	if (layout_is_plain(&x->layout, s) && layout_is_native(&y->layout, s))
		return TRANSPOSE;
	return layout_is_native(&x->layout, s) && layout_is_plain(&y->layout, s) ? TRANSPOSE_BACK :
	       LOOP;
}

/* oneDNN uses a slow reorder for samples of 2^31 bytes or more: 10 s for 4 x 512^3. */
static void prefer_transpose(struct reorder_plan *p)
{
	if (p->way != LOOP && p->prim && strncmp(dnn_prim_impl(p->prim), "simple", 6) == 0) {
		dnn_prim_free(p->prim);
		p->prim = NULL;
	}
}

static int reorder_plan(struct kplan *k)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	struct reorder_plan *p = ARENA_NEW(k->arena, struct reorder_plan);
	enum dtype t = stored_type(k, x->id);
	k->state = p;
	p->way = way(x, y, dtype_size(t));
	TRY(plan_vendor(x, y, t, t, &p->prim));
	prefer_transpose(p);
	k->impl = p->way == LOOP ? "loop" : "turn";
	if (!p->prim)
		return 0;
	TRY(dnn_prim_prepare(p->prim));
	k->ws_bytes = dnn_prim_workspace(p->prim);
	k->impl = arena_strdup(k->arena, dnn_prim_impl(p->prim));
	k->choice = choice_of(p->prim, x, y);
	return 0;
}

#define TILE 16 /* positions at a time: a cache line of each channel */

void reorder_transpose(const void *src, void *dst, int64_t n, int64_t c, int64_t s, bool back)
{
	const int64_t tiles = (s + TILE - 1) / TILE;
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < n * tiles; i++) {
		const int64_t base = i / tiles * c * s, at = i % tiles * TILE;
		const int64_t end = s - at < TILE ? s : at + TILE;
		const uint32_t *x = (const uint32_t *)src + base;
		uint32_t *y = (uint32_t *)dst + base;
		for (int64_t j = 0; j < c; j++)
			for (int64_t p = at; p < end; p++)
				if (back)
					y[j * s + p] = x[p * c + j];
				else
					y[p * c + j] = x[j * s + p];
	}
}

/* Copies element by element, for types and axis groupings that oneDNN does not support. */
static void reorder_loop(const struct layout *from, const struct layout *to, size_t size,
			 int64_t count, const char *src, char *dst)
{
	if (to->nblk > 0)
		memset(dst, 0, (size_t)layout_elements(to) * size);
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < count; i++)
		memcpy(dst + (size_t)layout_offset(to, i) * size,
		       src + (size_t)layout_offset(from, i) * size, size);
}

static int reorder_run(const struct kplan *k, const struct kargs *a)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	const struct reorder_plan *p = k->state;
	const struct shape *s = &x->shape;
	void *const arg[] = { a->in[0], a->out[0] };
	if (p->prim)
		return dnn_prim_run(p->prim, arg, a->ws);
	if (p->way == LOOP)
		reorder_loop(&x->layout, &y->layout, dtype_size(stored_type(k, x->id)), shape_count(s),
		             a->in[0], a->out[0]);
	else if (shape_count(s) > 0)
		reorder_transpose(a->in[0], a->out[0], s->d[0], s->d[1],
		                  shape_count(s) / s->d[0] / s->d[1], p->way == TRANSPOSE_BACK);
	return 0;
}

static void reorder_free(struct kplan *k)
{
	const struct reorder_plan *p = k->state;
	if (p)
		dnn_prim_free(p->prim);
}

/* The expected value of both ops is the input's value. */
static int reorder_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                          const struct picks *p, struct expected *e)
{
	const struct tensor *x = graph_t(g, n->in[0]);
	const int64_t count = picks_count(p);
	for (int64_t i = 0; i < count; i++) {
		int64_t index[MAXD], flat = 0;
		picks_index(p, i, index);
		for (int d = 0; d < p->nd; d++)
			flat = flat * x->shape.d[d] + index[d];
		e[i].value = dtype_get(x->dtype, in[0], layout_offset(&x->layout, flat));
		e[i].size = fabs(e[i].value);
	}
	return 0;
}

/* --- cast --- */

#define CHUNK 4096      /* elements converted by a thread at a time */

static void convert(enum dtype to, void *y, enum dtype from, const void *x, int64_t n)
{
	if (from == DTYPE_F32 && to == DTYPE_BF16)
		bfloat_from_floats(y, x, n);
	else if (from == DTYPE_BF16 && to == DTYPE_F32)
		bfloat_to_floats(y, x, n);
	else
		dtype_convert(to, y, from, x, n);
}

static int cast_run(const struct kplan *k, const struct kargs *a)
{
	const enum dtype from = stored_type(k, k->n->in[0]), to = stored_type(k, k->n->out[0]);
	const size_t fs = dtype_size(from), ts = dtype_size(to);
	const int64_t count = kplan_out_elements(k, 0);
	const char *x = a->in[0];
	char *y = a->out[0];
#pragma omp parallel for schedule(static) if (count > 4 * CHUNK)
	for (int64_t i = 0; i < count; i += CHUNK) {
		const int64_t n = count - i < CHUNK ? count - i : CHUNK;
		convert(to, y + (size_t)i * ts, from, x + (size_t)i * fs, n);
	}
	return 0;
}

/* The layout that node n's kernel prefers for its input (output) t, given the layouts chosen so
 * far. False if the kernel takes only row-major tensors or has no preference. */
static int wish_of(const struct kplan *k, const struct node *n, bool output, tid t,
                   struct layout *l)
{
	const struct kernel *kernel = &n->op->kernel[k->dev->backend];
	struct kplan other = { .g = k->g, .n = n, .dev = k->dev, .env = k->env, .arena = k->arena };
	struct layout *w = ARENA_ARRAY(k->arena, struct layout, n->nin + n->nout);
	if (k->dev->backend == BACKEND_CUDA && kernel->layouts == KL_NATIVE)
		*l = layout_native(&graph_t(k->g, t)->shape);
	if (kernel->layouts != KL_CHOOSE || !kernel->run)
		return 0;
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE)
			w[i] = graph_t(k->g, n->in[i])->layout;
	TRY(kernel->choose(&other, w, w + n->nin));
	for (int i = 0; i < n->nin && !output; i++)
		if (n->in[i] == t)
			*l = w[i];
	for (int i = 0; i < n->nout && output; i++)
		if (n->out[i] == t)
			*l = w[n->nin + i];
	return 0;
}

/* The layout that the kernel for the gradient of param t prefers, so that the update reads the
 * gradient in the layout in which that kernel writes it. */
static int gradient_wish(const struct kplan *k, tid t, struct layout *l)
{
	for (tid i = 0; i < k->g->ntensor && !l->set; i++) {
		const struct tensor *x = graph_t(k->g, i);
		if (x->grad_of == t && x->producer != NONE)
			TRY(wish_of(k, k->g->node[x->producer], true, i, l));
	}
	return 0;
}

static int reader_wish(const struct kplan *k, struct layout *l)
{
	const tid t = k->n->out[0];
	for (int i = k->n->id + 1; i < k->g->nnode; i++)
		for (int j = 0; j < k->g->node[i]->nin; j++)
			if (k->g->node[i]->in[j] == t)
				return wish_of(k, k->g->node[i], false, t, l);
	return 0;
}

/* A param and its copy of another type may also differ in layout, since the conversion reads and
 * writes everything in any case: the copy gets the layout of its first reader, the param that of
 * its gradient. */
static int cast_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]);
	if (x->role == ROLE_PARAM) {
		TRY(reader_wish(k, &out[0]));
		if (!in[0].set)
			TRY(gradient_wish(k, x->id, &in[0]));
	}
	if (!in[0].set)
		in[0] = out[0].set ? out[0] : layout_plain(&x->shape);
	if (!out[0].set)
		out[0] = in[0];
	return 0;
}

/* Weights with blocked layouts on both sides are copied by a copier (op/update/copier.h), at twice
 * oneDNN's speed. */
static bool plan_copier(struct kplan *k, struct reorder_plan *p, const struct tensor *x,
                        const struct tensor *y)
{
	copier_new(&p->copier, k->arena, (struct copier_side){ x, x->dtype },
	           (struct copier_side){ y, y->dtype }, true);
	k->impl = p->copier ? copier_name(p->copier) : NULL;
	return p->copier;
}

/* The plan's prim stays NULL if the layouts are equal or oneDNN does not support the types. */
static int cast_plan(struct kplan *k)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	struct reorder_plan *p = ARENA_NEW(k->arena, struct reorder_plan);
	k->state = p;
	if (layout_equal(&x->layout, &y->layout) || plan_copier(k, p, x, y))
		return 0;
	TRY(plan_vendor(x, y, x->dtype, y->dtype, &p->prim));
	k->impl = "loop";
	if (!p->prim)
		return 0;
	TRY(dnn_prim_prepare(p->prim));
	k->ws_bytes = dnn_prim_workspace(p->prim);
	k->impl = arena_strdup(k->arena, dnn_prim_impl(p->prim));
	k->choice = choice_of(p->prim, x, y);
	return 0;
}

/* Element by element, if the layouts differ and oneDNN does not support them. */
static void cast_loop(const struct tensor *x, const struct tensor *y, const char *src, char *dst)
{
	const size_t fs = dtype_size(x->dtype), ts = dtype_size(y->dtype);
	const int64_t count = shape_count(&x->shape);
	if (y->layout.nblk > 0)
		memset(dst, 0, (size_t)layout_elements(&y->layout) * ts);
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < count; i++)
		convert(y->dtype, dst + (size_t)layout_offset(&y->layout, i) * ts, x->dtype,
		        src + (size_t)layout_offset(&x->layout, i) * fs, 1);
}

static int cast_cpu(const struct kplan *k, const struct kargs *a)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	const struct reorder_plan *p = k->state;
	void *const arg[] = { a->in[0], a->out[0] };
	if (p->copier) {
		copier_all(p->copier, a->in[0], a->out[0]);
		return 0;
	}
	if (p->prim)
		return dnn_prim_run(p->prim, arg, a->ws);
	if (layout_equal(&x->layout, &y->layout))
		return cast_run(k, a);
	cast_loop(x, y, a->in[0], a->out[0]);
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
/* Whether the conversion between the two layouts is a transposition of channels and points in each
 * sample. The kernel of normalize_input then reads and writes whole cache lines on both sides, and
 * converts the type, too. */
static bool turns(const struct kplan *k, const struct layout *from, const struct layout *to)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	const bool numbers = dtype_is_float(x->dtype) || dtype_size(x->dtype) <= 4;
	return x->shape.nd > 2 && numbers && x->dtype != DTYPE_F64 && dtype_is_float(y->dtype) &&
	       y->dtype != DTYPE_F64 && layout_is_plain(from, &x->shape) &&
	       layout_is_native(to, &x->shape);
}

static int turn(const struct kplan *k, const struct kargs *a)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const struct k_samples samples = { .from = cuda_in_type(k, 0), .to = cuda_out_type(k, 0),
		.n = s->d[0], .c = s->d[1], .points = shape_count(s) / s->d[0] / s->d[1], .mask = -1 };
	return cuda_launched(k, k_normalize_input(cuda_stream(k->dev), &samples, a->in[0], a->out[0]));
}

static bool is_turned(const struct kplan *k)
{
	const struct layout *from = &graph_t(k->g, k->n->in[0])->layout,
	                    *to = &graph_t(k->g, k->n->out[0])->layout;
	return shape_count(node_in_shape(k->g, k->n, 0)) > 0 && !layout_equal(from, to) &&
	       turns(k, from, to);
}

static int reorder_cuda(const struct kplan *k, const struct kargs *a)
{
	if (is_turned(k))
		return turn(k, a);
	return cuda_copy(k, node_out_shape(k->g, k->n, 0), cuda_strides(k, k->n->in[0]),
	                 cuda_strides(k, k->n->out[0]), dtype_size(graph_t(k->g, k->n->in[0])->dtype),
	                 a->in[0], a->out[0]);
}

/* A weight's copy gets the layout of its first reader, so that the update writes it in the layout
 * in which it is read, and the kernel of the gradient writes what the update reads. A batch is
 * transposed while it is converted. Predicted, not measured: a step of fcn in bf16 then has 3.6 GB
 * fewer reorders, 2.6 GB of them of weights and gradients: 4 ms if strided copies of 2 and 4 bytes
 * reach 0.9 TB/s. */
static int cast_cuda_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	struct layout wish = { 0 };
	TRY(reader_wish(k, &wish));
	if (!in[0].set)
		in[0] = wish.set ? wish : layout_plain(node_in_shape(k->g, k->n, 0));
	out[0] = wish.set && turns(k, &in[0], &wish) ? wish : in[0];
	return 0;
}

static int cast_cuda(const struct kplan *k, const struct kargs *a)
{
	if (is_turned(k))
		return turn(k, a);
	return cuda_launched(k, k_cast(cuda_stream(k->dev), cuda_in_type(k, 0), cuda_out_type(k, 0),
	                               kplan_out_elements(k, 0), a->in[0], a->out[0]));
}
#endif

/* --- samples --- */

static const char *const reorder_samples[] = {
	"2x3x4x5", "1x17x3x2x5!", "7x16x3", "5x4", "3", "s", NULL
};

/* Only types that the reference stores as double. test_dnn tests rounding to 16 bits, and
 * integers. */
static const char *const cast_samples[] = {
	"2x3x4x5 ; dtype: f32", "2x16x3x7x5 ; dtype: f64", "3x701 ; dtype: f64", "s ; dtype: f64",
	"3x5x7:u8 ; dtype: i32", "3x5x7:i16 ; dtype: i32", "5x9:u16 ; dtype: f32", NULL
};

/* --- records --- */

static const struct op reorder = {
	.name = "reorder",
	.doc = "the same values in another physical layout",
	.min_in = 1, .max_in = 1, .nout = 1,
	.shape = reorder_shape, .grad = reorder_grad, .expect = reorder_expect, .reads = reads_point,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = reorder_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = reorder_choose, .plan = reorder_plan,
		                  .run = reorder_run, .free = reorder_free,
		                  .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = reorder_choose, .plan = cuda_check_strided,
		            .run = reorder_cuda, .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = reorder_samples,
};

static const struct op cast = {
	.name = "cast",
	.doc = "the same values as another element type",
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct cast_attr), .attrs = cast_fields,
	.shape = cast_shape, .grad = cast_grad, .expect = reorder_expect, .reads = reads_point,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_SAME, .run = cast_run),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = cast_choose, .plan = cast_plan,
		                  .run = cast_cpu, .free = reorder_free, .bf16_in = 1, .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = cast_cuda_choose, .plan = cuda_check_strided,
		            .run = cast_cuda, .bf16_in = 1, .bf16_out = 1)
	},
	.samples = cast_samples,
};

OPSET(reorder, &reorder, &cast);
