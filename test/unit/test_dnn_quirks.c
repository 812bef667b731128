/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnn_known_fault: each rule refuses a shape that oneDNN computes wrongly and lets its neighbours
 * pass. Names and shapes alone are looked at, so rules for any processor are tested on each. */
#include "cases.h"
#include "backend/dnn/dnn_quirks.h"

/* NAME with a number for each of n axes, as in "k3x1", or one for all; false: it is not there. */
static bool read_axes(const char *text, const char *name, int n, int64_t *v)
{
	const size_t length = strlen(name);
	for (const char *s = text; s; s = strchr(s, ' ')) {
		s += *s == ' ';
		if (strncmp(s, name, length) != 0 || s[length] < '0' || s[length] > '9')
			continue;
		char *end;
		v[0] = strtol(s + length, &end, 10);
		for (int i = 1; i < n; i++)
			v[i] = *end == 'x' ? strtol(end + 1, &end, 10) : v[0];
		return true;
	}
	return false;
}

static int count_axes(const char *text)
{
	int n = 1;
	for (const char *s = strstr(text, "in"); s && *s && *s != ' '; s++)
		n += *s == 'x';
	return n;
}

/* "in9x8 k3 s1 d1 p1 n1 ci16 co16 g1": extents, windows, steps, dilation (1: dense), padding on
 * both sides, samples, channels in and out of all groups, groups; but for `in` and with these
 * values 1, 1, 1, 0, 1, 16, 16 and 1 what is left out. */
static struct conv_geom geometry(const char *text)
{
	struct conv_geom g = { .ns = count_axes(text), .n = 1, .ci = 16, .co = 16, .groups = 1 };
	int64_t pad[CONV_NS] = { 0 };
	for (int i = 0; i < CONV_NS; i++)
		g.in[i] = g.kernel[i] = g.out[i] = g.stride[i] = g.dilation[i] = 1;
	assert_true(read_axes(text, "in", g.ns, g.in));
	read_axes(text, "k", g.ns, g.kernel);
	read_axes(text, "s", g.ns, g.stride);
	read_axes(text, "d", g.ns, g.dilation);
	read_axes(text, "p", g.ns, pad);
	read_axes(text, "n", 1, &g.n);
	read_axes(text, "ci", 1, &g.ci);
	read_axes(text, "co", 1, &g.co);
	read_axes(text, "g", 1, &g.groups);
	for (int i = 0; i < g.ns; i++) {
		const int64_t room = g.in[i] + 2 * pad[i] - (g.kernel[i] - 1) * g.dilation[i] - 1;
		assert_true(room >= 0);
		g.out[i] = room / g.stride[i] + 1;
		g.pad_lo[i] = g.pad_hi[i] = pad[i];
	}
	return g;
}

/* kind: 'f' forward, 'd' gradient of the input, 'w' of the weights. */
struct row {
	const char *versions, *impl;
	char kind;
	enum dtype type;
	const char *faulty[4], *right[6];
};

#define BF16 DTYPE_BF16
#define F32 DTYPE_F32

static const struct row rows[] = {
	{ "23", "jit:avx512_core_amx_bf16", 'w', BF16,
	  { "in7x1 s1x2 k3 p1", "in3x4x1 s1x1x2 k1x1x3 p0x0x1", "in1 s2 k2 p1" },
	  { "in7x2 s1x2 k3 p1", "in7x1 s1x2 k3x1 p1x0", "in1x7 s2x1 k3 p1" } },
	{ "23", "jit:avx512_core_amx_bf16", 'w', BF16,
	  { "in3x9x9 k3 s2 p1", "in2x9x9 k3 p1", "in9x2x9 k3 p1" },
	  { "in4x9x9 k3 s2 p1", "in3x9x9 k3 p1", "in9x9x2 k3 p1", "in2x9 k3 p1" } },
	{ "23", "jit:avx512_core_amx_bf16", 'w', BF16,
	  { "in11x10 k3 d4 p4 ci17", "in11x10 k3 d2 p2 ci24", "in9x9x9 k3 d1x2x1 p2 ci8",
	    "in11x10 k3 d2 p2 ci32 co32 g4" },
	  { "in11x10 k3 d4 p4 ci32", "in11x10 k3 d1x4 p1x4 ci17", "in9x9x9 k3 d2x1x1 p2 ci8",
	    "in11x10 k1x3 d2 p0x2 ci17", "in40 k3 d2 p2 ci17" } },
	{ "3", "jit:avx10_1_512_amx", 'w', BF16,
	  { "in7x1 s1x2 k3 p1", "in3x9x9 k3 s2 p1", "in11x10 k3 d4 p4 ci17" },
	  { "in7x2 s1x2 k3 p1", "in4x9x9 k3 s2 p1", "in11x10 k3 d4 p4 ci32" } },
	{ "3", "brgconv_bwd_w:avx10_1_512_amx", 'w', BF16,
	  { "in7x1 s1x2 k3 p1" },
	  { "in7x2 s1x2 k3 p1", "in7x1 s1x2 k3x1 p1x0", "in3x9x9 k3 s2 p1" } },
	{ "23", "jit_bf16:avx512_core_bf16", 'w', BF16,
	  { "in7x1 s1x2 k3 p1", "in7x1 s1x2 k3x1 p1x0" }, { "in7x2 s1x2 k3 p1" } },
	{ "23", "jit_bf16:avx512_core", 'w', BF16,
	  { "in7x1 s1x2 k3 p1", "in3x9x9 k3 s2 p1", "in9x2x9 k3 p1", "in6x9x9 k3 d3x1x1 p3x1x1" },
	  { "in7x2 s1x2 k3 p1", "in4x9x9 k3 s2 p1", "in9x9x2 k3 p1", "in2x9 k3 p1",
	    "in7x9x9 k3 d3x1x1 p3x1x1" } },
	{ "23", "jit_bf16:avx512_core", 'w', BF16,
	  { "in1x8 k5 p2 ci113", "in2x8 k7 p3 ci128" },
	  { "in1x8 k5 p2 ci112", "in2x8 k5 p2 ci128", "in8x1 k5 p2 ci128",
	    "in1x8 k5 p2 ci224 co16 g2", "in3x9x9 k3x1x1 p4x0x0 ci128" } },
	{ "23", "jit_bf16:avx512_core", 'w', BF16,
	  { "in18x30 k2 d2 ci48 co48 g48", "in18x30 k3 d1x2 p1x2 ci48 co48 g48" },
	  { "in18x30 k2 ci48 co48 g48", "in18x30 k2 d2 ci48 co48", "in18x30 k1 d2 ci48 co48 g48",
	    "in18x30 k2 d2 ci48 co48 g24", "in18x30 k2 d2 ci1 co1" } },
	{ "23", "jit_bf16_1x1:avx512_core", 'w', BF16,
	  { "in14x14 s2 ci5", "in12x11 s3x1 ci8", "in8 s2 ci20" },
	  { "in14x14 s2 ci16", "in15x14 s2 ci5", "in14x14 ci5" } },
	{ "23", "jit_1x1:avx512_core", 'w', F32,
	  { "in14x14 s2 ci5", "in14x14 s2 ci32 co32 g4" }, { "in14x14 s2 ci16", "in14x14 ci5" } },
	{ "23", "jit:avx512_core", 'w', F32,
	  { "in4x8x8 k3 s3 p1", "in3x8x8 k3 s2x1x1 p1" },
	  { "in2x8x8 k3 p1", "in4x8x8 k3 s2 p1", "in9x2x8 k3 s2 p1", "in3x8 k3 s2 p1",
	    "in7x1 s1x2 k3 p1" } },
	{ "3", "brg_conv_fwd:avx10_1_512_amx", 'f', BF16,
	  { "in18x2 k3 s2 p1 ci32 co128", "in9x9x2 k3 s1x1x2 p1" },
	  { "in18x3 k3 s2 p1 ci32 co128", "in18x1 k3 p1", "in2 k3 s2 p1", "in2x18 k3 s2 p1" } },
	{ "3", "brg_conv_fwd:avx10_1_512_amx", 'f', BF16,
	  { "in1x4x5 k3 p1 ci8", "in1x4x5 k3 p1 ci32 co32 g4" },
	  { "in1x4x5 k3 p1 ci16", "in2x4x5 k3 p1 ci8", "in1x4x5 k1x3x3 p0x1x1 ci8",
	    "in1x5 k3 p1 ci8" } },
	{ "3", "brg_conv_fwd:avx10_1_512_amx", 'f', BF16,
	  { "in1x9 k2x3 d2x1 p1", "in9x9 k3 p3", "in9x2x9 k3 p1x4x1" },
	  { "in3x9 k2x3 d2x1 p1", "in9x9 k3 p2", "in9x9 k3 p1x3", "in1x9 k3 d2 p2" } },
	{ "3", "brg_conv_fwd:avx512_core_bf16", 'f', BF16,
	  { "in1x4x5 k3 p1 ci1", "in9x9 k3 p1x3", "in9x9 k3 p3x1" },
	  { "in1x4x5 k3 p1 ci2", "in9x9 k3 p2", "in18x2 k3 s2 p1" } },
	{ "3", "brg_conv_bwd:avx10_1_512_amx+brg_conv_fwd:avx10_1_512_amx", 'd', BF16,
	  { "in1x9 k2x3 d2x1 p1", "in9x9 k3 p3" },
	  { "in3x9 k2x3 d2x1 p1", "in9x9 k3 p1x3", "in1x4x5 k3 p1 ci8" } },
	{ "2", "brgconv:avx512_core_amx_bf16", 'f', BF16,
	  { "in1x9 k2x3 d2x1 p1", "in9x9x9 k3 p1x3x1" },
	  { "in3x9 k2x3 d2x1 p1", "in9x9 k3 p1x3", "in18x2 k3 s2 p1", "in9 k3 p3" } },
	{ "2", "brgconv_1x1:avx512_core_amx_bf16", 'f', BF16,
	  { "in4x1x10 ci17", "in7x5 ci34 co34 g2" }, { "in4x1x10 ci18", "in4x1x10 co17" } },
	{ "2", "jit_1x1:avx512_core_amx_bf16", 'f', BF16, { "in3x9", "in4x4" }, { NULL } },
	{ "23", "jit_bf16_1x1:avx512_core", 'f', BF16,
	  { "in5 co65", "in1x5 co160 ci48", "in9x1 s2 co80" },
	  { "in5 co64", "in6 co160", "in1x5 co16 ci80", "in1x5 co128 g2" } },
	{ "23", "jit_bf16_1x1:avx512_core", 'd', BF16,
	  { "in5 ci65", "in5x1 ci118 co48" },
	  { "in5 ci64", "in10 ci160", "in1x5 ci16 co80", "in1x5 ci128 g2" } },
	{ "23", "jit_bf16_1x1:avx512_core_bf16", 'f', BF16,
	  { "in5x6 ci33" }, { "in5x6 ci34", "in5x6 co33" } },
	{ "23", "jit_bf16_1x1:avx512_core_bf16", 'd', BF16,
	  { "in5x6 co33", "in5x6 ci34 co34 g2" }, { "in5x6 co34", "in5x6 ci33" } },
	/* nothing is known of these, but what others do wrong */
	{ "23", "brgconv:avx512_core_bf16", 'f', BF16,
	  { NULL }, { "in1x9 k2x3 d2x1 p1", "in9x9 k3 p3" } },
	{ "23", "brgconv_1x1:avx512_core_bf16", 'f', BF16, { NULL }, { "in4x1x10 ci17" } },
	{ "23", "jit_1x1:avx512_core", 'f', F32, { NULL }, { "in5x6 ci33" } },
	{ "23", "jit:avx512_core_amx_bf16", 'd', BF16,
	  { NULL }, { "in7x1 s1x2 k3 p1", "in3x9x9 k3 s2 p1" } },
	{ "3", "brg_conv_fwd:avx512_core", 'f', F32, { NULL }, { "in1x4x5 k3 p1 ci1", "in9x9 k3 p3" } },
	{ "3", "brg_conv_bwd:avx512_core_bf16", 'd', BF16, { NULL }, { "in9x9 k3 p3" } },
};
#define NROW (sizeof rows / sizeof *rows)

static const char *fault(int major, const char *impl, const struct row *r, const char *text,
                         int threads)
{
	const enum conv_kind kind = r->kind == 'f' ? CONV_FORWARD : r->kind == 'd' ?
	                            CONV_BACKWARD_DATA : CONV_BACKWARD_WEIGHTS;
	struct dnn_conv c = { .kind = kind, .geom = geometry(text) };
	c.x_type = r->kind == 'd' ? DTYPE_F32 : r->type;       /* what is made is float32 */
	c.w_type = r->kind == 'w' ? DTYPE_F32 : r->type;
	c.y_type = r->kind == 'f' ? DTYPE_F32 : r->type;
	return dnn_known_fault(major, impl, &c, threads);
}

static void rules_know_faults_and_their_neighbours(void **state)
{
	for (const struct row *r = rows; r < rows + NROW; r++)
		for (const char *v = r->versions; *v; v++) {
			for (int i = 0; i < 4 && r->faulty[i]; i++)
				if (!fault(*v - '0', r->impl, r, r->faulty[i], 2))
					fail_msg("%s of version %c passes with %s", r->impl, *v, r->faulty[i]);
			for (int i = 0; i < 6 && r->right[i]; i++)
				if (fault(*v - '0', r->impl, r, r->right[i], 2))
					fail_msg("%s of version %c is refused with %s: %s", r->impl, *v, r->right[i],
					         fault(*v - '0', r->impl, r, r->right[i], 2));
		}
}

/* Otherwise nothing would be left to take. */
static void gemm_and_reference_are_never_refused(void **state)
{
	static const char *const impl[] = { "x64:gemm:jit", "gemm:jit", "gemm:ref", "ref:any",
		"jit_dw:avx512_core" };
	for (const struct row *r = rows; r < rows + NROW; r++)
		for (int i = 0; i < 4 && r->faulty[i]; i++)
			for (size_t k = 0; k < sizeof impl / sizeof *impl; k++)
				for (int major = 2; major <= 3; major++)
					assert_null(fault(major, impl[k], r, r->faulty[i], 2));
}

static void threads_beyond_samples(void **state)
{
	static const struct row r = { .kind = 'w', .type = BF16 };
	const char *impl = "brgconv_bwd_w:avx10_1_512_amx";
	assert_non_null(fault(3, impl, &r, "in61 k3 p1 ci8 co40", 2));
	assert_null(fault(3, impl, &r, "in61 k3 p1 ci8 co40", 1));
	assert_null(fault(3, impl, &r, "in61 k3 p1 ci8 co40 n2", 2));
	assert_non_null(fault(3, impl, &r, "in61 k3 p1 ci8 co40 n2", 3));
	assert_null(fault(3, impl, &r, "in61 k3 p1 ci16 co40", 2));
	assert_null(fault(3, impl, &r, "in61x4 k3 p1 ci8 co40", 2));
}

/* One of 3.7's is none of 2.6's. */
static void versions_differ(void **state)
{
	static const struct row f = { .kind = 'f', .type = BF16 };
	assert_non_null(fault(2, "jit_1x1:avx512_core_amx_bf16", &f, "in4x4", 2));
	assert_null(fault(3, "jit_1x1:avx512_core_amx_bf16", &f, "in4x4", 2));
	assert_non_null(fault(3, "brg_conv_fwd:avx10_1_512_amx", &f, "in18x2 k3 s2 p1", 2));
	assert_null(fault(2, "brg_conv_fwd:avx10_1_512_amx", &f, "in18x2 k3 s2 p1", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_know_faults_and_their_neighbours),
		cmocka_unit_test(gemm_and_reference_are_never_refused),
		cmocka_unit_test(threads_beyond_samples),
		cmocka_unit_test(versions_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
