/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation, dropout and their fused forms where tensors are slices of the channels of a
 * larger buffer: the same bits as with tensors of their own, and nothing written next to them. Also
 * in place, over every input that allows it. */
#include "cases.h"
#include "backend/device.h"
#include "base/err.h"
#include "op/lib/sample.h"

#define GAP   7                  /* channels of the buffer that are not the tensor's */
#define FIRST 3                  /* of these stand before it */
#define CANARY 12345.0f

struct place {
	float *buffer, *data;
	int64_t elements;
	bool sliced;
};

/* An image with bit i of the mask set becomes a slice. */
static bool may_slice(const struct sample *s, tid t, unsigned mask, int i)
{
	return t != NONE && (mask >> i & 1) && graph_t(s->g, t)->shape.nd > 2;
}

static struct place place_new(struct graph *g, tid t, bool sliced)
{
	struct place p = { .sliced = sliced };
	struct tensor *x = graph_t(g, t);
	x->layout = sliced ? layout_slice(&x->shape, x->shape.d[1] + GAP)
	                   : layout_native(&x->shape);
	p.elements = layout_elements(&x->layout) + (sliced ? GAP : 0);
	p.buffer = malloc(sizeof(double) * (size_t)p.elements);   /* the random key is of that size */
	for (int64_t i = 0; i < p.elements; i++)
		p.buffer[i] = CANARY;
	p.data = p.buffer + (sliced ? FIRST : 0);
	return p;
}

static void check_canaries(const struct graph *g, tid t, const struct place *p)
{
	int64_t c = graph_t(g, t)->shape.d[1];
	for (int64_t i = 0; p->sliced && i < p->elements; i++)
		if (i % (c + GAP) < FIRST || i % (c + GAP) >= FIRST + c)
			assert_true(p->buffer[i] == CANARY);
}

/* Runs the sample's node, images as slices where the masks say so; output 0 over input `over` if
 * that is not -1. out[i]: values of output i, row-major, to be freed. */
static void run(const struct op *op, const char *text, unsigned in_mask, unsigned out_mask,
                int over, float **out)
{
	struct sample s;
	struct device dev = { .backend = BACKEND_CPU, .threads = 1 };
	struct place in[16] = { { 0 } }, made[4] = { { 0 } };
	void *in_p[16] = { 0 }, *out_p[4] = { 0 };
	struct arena *arena = arena_new();
	const struct kernel *kernel = &op->kernel[BACKEND_CPU];
	assert_int_equal(sample_build(&s, op, text, 1), 0);
	struct kplan k = { .g = s.g, .n = s.node, .dev = &dev, .arena = arena };
	for (int i = 0; i < s.nin; i++) {
		if (s.in[i] == NONE)
			continue;
		const struct tensor *t = graph_t(s.g, s.in[i]);
		in[i] = place_new(s.g, s.in[i], may_slice(&s, s.in[i], in_mask, i));
		layout_pack(&t->layout, &t->shape, t->dtype, in[i].data, DTYPE_F64, s.value[i]);
		in_p[i] = in[i].data;
	}
	for (int i = 0; i < s.node->nout; i++) {
		tid t = s.node->out[i];
		if (i == 0 && over >= 0) {
			graph_t(s.g, t)->layout = graph_t(s.g, s.in[over])->layout;
			out_p[i] = in_p[over];
			continue;
		}
		made[i] = place_new(s.g, t, may_slice(&s, t, out_mask, i));
		out_p[i] = made[i].data;
	}
	assert_int_equal(kernel->plan(&k), 0);
	struct kargs a = { in_p, out_p, aligned_alloc(64, (k.ws_bytes + 63) / 64 * 64) };
	assert_int_equal(kernel->run(&k, &a), 0);
	for (int i = 0; i < s.node->nout; i++) {
		const struct tensor *t = graph_t(s.g, s.node->out[i]);
		out[i] = malloc(sizeof(float) * (size_t)shape_count(&t->shape));
		layout_unpack(&t->layout, &t->shape, DTYPE_F32, out[i], DTYPE_F32, out_p[i]);
		check_canaries(s.g, t->id, i == 0 && over >= 0 ? &in[over] : &made[i]);
		free(made[i].buffer);
	}
	for (int i = 0; i < s.nin; i++)
		free(in[i].buffer);
	free(a.ws);
	arena_free(arena);
	sample_release(&s);
}

static void compare(const struct op *op, const char *text, unsigned in, unsigned out, int over)
{
	float *a[4] = { 0 }, *b[4] = { 0 };
	struct sample s;
	run(op, text, 0, 0, -1, a);
	run(op, text, in, out, over, b);
	assert_int_equal(sample_build(&s, op, text, 1), 0);
	for (int i = 0; i < s.node->nout; i++) {
		size_t n = (size_t)shape_count(&graph_t(s.g, s.node->out[i])->shape);
		if (memcmp(a[i], b[i], sizeof(float) * n) != 0)
			fail_msg("%s '%s' slices %x -> %x over %d: output %d differs", op->name, text,
			         in, out, over, i);
		free(a[i]);
		free(b[i]);
	}
	sample_release(&s);
}

static const char *const names[] = {
	"batch_norm", "batch_norm_grad", "batch_norm_inference", "batch_norm_inference_grad",
	"batch_norm_apply", "dropout", "relu_dropout", "relu_dropout_grad"
};
#define NNAMES (sizeof names / sizeof *names)

/* Whether the sample has an input k. */
static bool has_input(const char *text, int k)
{
	for (; k > 0 && *text && *text != ';'; text++)
		k -= *text == ' ';
	return k == 0 && *text != '\0' && *text != ';' && *text != '-';
}

/* Which tensors may be slices; if the kernel decides, all that are not vectors. */
static unsigned slices(const struct op *op, bool output)
{
	const struct kernel *k = &op->kernel[BACKEND_CPU];
	if (k->takes_slice)
		return ~0u;
	return output ? k->slice_out : k->slice_in;
}

static void test_slices(void **state)
{
	for (size_t i = 0; i < NNAMES; i++) {
		const struct op *op = op_find(names[i]);
		unsigned in = slices(op, false), out = slices(op, true);
		for (const char *const *t = op->samples; *t; t++) {
			compare(op, *t, in, out, -1);
			compare(op, *t, 1, 0, -1);
			compare(op, *t, in & ~1u, out, -1);
		}
	}
}

static void test_in_place(void **state)
{
	for (size_t i = 0; i < NNAMES; i++) {
		const struct op *op = op_find(names[i]);
		unsigned in = slices(op, false);
		for (const char *const *t = op->samples; *t; t++)
			for (int k = 0; k < 16; k++)
				if ((op->inplace >> k & 1) && has_input(*t, k)) {
					compare(op, *t, 0, 0, k);
					compare(op, *t, in, 0, k);
				}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_in_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
