/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions as the real cuDNN sees them, without a GPU: the library plans for one that is only
 * described, so that what it refuses (a layout, a type, an engine that is too inexact or not
 * deterministic) shows on any machine where it is installed. What cuDNN would compile at run time
 * needs a driver; such plans are made only where there is one.
 *
 * With -v the engine and the workspace of each problem. Exit status: 77 if there is no cuDNN, or
 * one that cannot do this. */
#include <stdio.h>
#include <string.h>

#include <dlfcn.h>

#include "backend/cuda/cudnn.h"
#include "base/err.h"
#include "op/conv/conv_shape.h"

/* What cuDNN writes of an H200. */
static const char h200[] =
	"{\"deviceName\":\"NVIDIA "
	"H200\",\"deviceVer\":900,\"driverVer\":13000,\"maxGridSize\":[2147483647,65535,65535],"
	"\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,\"multiProcessorCount\":132,"
	"\"smClockRateKHz\":1980000,"
	"\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560,\"warpSize\":32,"
	"\"maxSharedMemoryPerBlock\":49152,"
	"\"maxSharedMemoryPerBlockOptin\":232448,\"reservedSharedMemoryPerBlock\":1024,"
	"\"maxRegistersPerSM\":65536,"
	"\"pciDeviceId\":0,\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,"
	"\"maxThreadsPerSM\":2048,\"isTccDriver\":0,"
	"\"supportCoopLaunch\":1,\"totalGlobalMem\":150754820096,\"cudaDeviceId\":0}";

/* What the networks of the zoo have, and channels that are no multiple of anything. */
static const struct problem {
	int ns;
	int64_t n, ci, co, in, kernel, stride, dilation, pad, groups;
} problems[] = {
	{ 2, 2, 64, 64, 56, 3, 1, 1, 1, 1 }, { 2, 2, 16, 64, 96, 7, 2, 1, 3, 1 },
	{ 2, 2, 256, 64, 56, 1, 1, 1, 0, 1 },
	{ 2, 2, 512, 256, 28, 3, 1, 12, 12, 1 }, { 2, 2, 3, 48, 33, 3, 1, 1, 1, 1 },
	{ 2, 1, 17, 5, 19, 3, 2, 1, 1, 1 },
	{ 2, 2, 32, 32, 40, 3, 1, 1, 1, 32 },
	{ 3, 2, 4, 16, 32, 3, 1, 1, 1, 1 }, { 3, 1, 32, 32, 16, 2, 2, 1, 0, 1 },
	{ 3, 1, 16, 32, 24, 5, 1, 1, 2, 1 },
	{ 1, 2, 8, 12, 40, 3, 1, 1, 1, 1 }, { 3, 1, 14, 2, 1, 5, 1, 1, 2, 2 },
};

static bool verbose, driver;
static int made, failed;

struct layouts {
	struct layout x, w, y;
};

static struct conv_geom geometry(const struct problem *p, struct layouts *l)
{
	struct conv_geom g = { .ns = p->ns, .n = p->n, .ci = p->ci, .co = p->co, .groups = p->groups };
	struct shape x = { p->ns + 2, { p->n, p->ci } },
	             w = { p->ns + 2, { p->co, p->ci / p->groups } },
		     y = { p->ns + 2, { p->n, p->co } };
	for (int i = 0; i < p->ns; i++) {
		g.in[i] = x.d[2 + i] = p->in + i;      /* no axis like another */
		g.kernel[i] = w.d[2 + i] = p->kernel;
		g.stride[i] = p->stride;
		g.dilation[i] = p->dilation;
		g.pad_lo[i] = g.pad_hi[i] = p->pad;
		g.out[i] = y.d[2 + i] = (g.in[i] + 2 * p->pad - p->dilation * (p->kernel - 1) - 1) /
		           p->stride + 1;
	}
	*l = (struct layouts){ layout_native(&x), layout_native(&w), layout_native(&y) };
	return g;
}

/* An engine, or at least no complaint about the description. */
static void check(const struct cudnn *c, const struct cudnn_conv *v, const struct problem *p,
                  bool must)
{
	static const char *const kind[] = { "forward", "data", "weights" };
	struct cudnn_plan *plan = NULL;
	char what[160];
	snprintf(what, sizeof what, "%s%s%s%s%s%s%s%s%s %s%s%s, %d axes, %lld to "
	         "%lld channels, kernel %lld", kind[v->kind], v->normalises ? "+normalises" : "",
	         v->norm_sums ? "+norm-sums" : "", v->scale ? "+scale" : "",
	         v->bias ? "+bias" : "", v->addend ? "+add" : "", v->relu ? "+relu" : "",
	         v->mask ? "+mask" : "", v->statistics ? "+statistics" : "", dtype_name(v->type),
	         v->tf32 ? " tf32" : "", v->deterministic ? " deterministic" : "", p->ns,
	         (long long)p->ci, (long long)p->co, (long long)p->kernel);
	int rc = cudnn_conv_new(&plan, c, NULL, v);
	if (rc == 0) {
		made++;
		if (v->kind == CONV_BACKWARD_WEIGHTS && strcmp(cudnn_plan_name(plan), "cudnn:eng1") == 0) {
			failed++;
			printf("not ok - %s: an engine whose sums are wrong\n", what);
		}
		if (verbose)
			printf("%-80s %-16s %zu bytes\n", what, cudnn_plan_name(plan),
			       cudnn_plan_workspace(plan));
	} else if (must || !strstr(err_get(err_count() - 1)->text, "has no engine")) {
		failed++;
		printf("not ok - %s\n", what);
		err_print(stdout, "  cudnn_plans");
	} else if (verbose) {
		printf("%-80s none\n", what);
	}
	err_clear();
	cudnn_plan_free(plan);
}

/* What may follow a convolution, as op/conv/conv_fused.c and op/conv/conv_statistics.c have it.
 * What cuDNN would compile for it is made only where there is a driver; that the description is
 * accepted shows everywhere. */
static void check_chains(const struct cudnn *c, const struct cudnn_conv *plain,
                         const struct problem *p)
{
	static const struct {
		enum conv_kind kind;
		bool scale, bias, addend, relu, mask, statistics;
	} chains[] = {
		{ CONV_FORWARD, .bias = true }, { CONV_FORWARD, .relu = true },
		{ CONV_FORWARD, .bias = true, .relu = true },
		{ CONV_FORWARD, .addend = true },
		{ CONV_FORWARD, .bias = true, .addend = true, .relu = true },
		{ CONV_FORWARD, .scale = true, .bias = true },
		{ CONV_FORWARD, .scale = true, .bias = true, .relu = true },
		{ CONV_FORWARD, .scale = true, .bias = true, .addend = true, .relu = true },
		{ CONV_FORWARD, .statistics = true }, { CONV_BACKWARD_DATA, .addend = true },
		{ CONV_BACKWARD_DATA, .mask = true },
		{ CONV_BACKWARD_DATA, .addend = true, .mask = true },
	};
	for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
		for (int leaky = 0; leaky <= (chains[i].relu || chains[i].mask); leaky++) {
			struct cudnn_conv v = *plain;
			v.kind = chains[i].kind;
			v.scale = chains[i].scale;
			v.bias = chains[i].bias;
			v.addend = chains[i].addend;
			v.relu = chains[i].relu;
			v.mask = chains[i].mask;
			v.statistics = chains[i].statistics;
			v.slope = leaky ? 0.25f : 0;
			v.deterministic = !v.statistics;
			check(c, &v, p, driver && p->groups == 1 && v.type != DTYPE_F32 &&
			      v.kind == CONV_FORWARD && !leaky);
		}
}

/* A norm and its ReLU at the input, as the pass `prologue` requests them. In fp16, with channels in
 * eights, the two gradients are not compiled at run time. */
static void check_norms(const struct cudnn *c, const struct cudnn_conv *plain,
                        const struct problem *p)
{
	const bool known = plain->type == DTYPE_F16 && p->ci % 8 == 0 && p->co % 8 == 0 &&
	                   p->groups == 1 && p->ns == 2 && p->kernel <= 3 && p->dilation <= 2;
	struct cudnn_conv v = *plain;
	for (v.kind = CONV_FORWARD; v.kind <= CONV_BACKWARD_WEIGHTS; v.kind++) {
		v.normalises = v.kind != CONV_BACKWARD_DATA;
		v.norm_sums = v.kind == CONV_BACKWARD_DATA;
		v.statistics = v.kind == CONV_FORWARD;
		v.best_only = true;
		v.deterministic = v.kind == CONV_BACKWARD_WEIGHTS;
		check(c, &v, p, known && (driver || v.kind != CONV_FORWARD));
	}
}

/* x and y as windows of buffers that are wider by 24 channels, as op/conv/conv_cuda.c requests it:
 * after a convolution a bias, ReLU or sums. */
static void check_windows(const struct cudnn *c, const struct cudnn_conv *plain,
                          const struct problem *p)
{
	const struct shape xs = conv_x_shape(&plain->geom), ys = conv_y_shape(&plain->geom);
	const struct layout x = layout_slice(&xs, p->ci + 24), y = layout_slice(&ys, p->co + 24);
	struct cudnn_conv v = *plain;
	v.kind = CONV_FORWARD;
	v.x = &x;
	v.y = &y;
	v.best_only = true;
	for (int what = 0; what < 3; what++) {
		v.bias = what < 2;
		v.relu = what == 1;
		v.statistics = what == 2;
		v.deterministic = !v.statistics;
		check(c, &v, p, driver && p->groups == 1 && p->ci % 8 == 0 && p->co % 8 == 0 &&
		      p->ns < 3 && v.type != DTYPE_F32);
	}
}

static void check_problem(const struct cudnn *c, const struct problem *p)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
	struct layouts l;
	struct cudnn_conv v = { .geom = geometry(p, &l), .x = &l.x, .w = &l.w, .y = &l.y,
		.deterministic = true };
	for (int i = 0; i < 3; i++)
		for (int tf32 = 0; tf32 < (i ? 1 : 2); tf32++) {
			v.type = types[i];
			v.tf32 = tf32;
			for (v.kind = CONV_FORWARD; v.kind <= CONV_BACKWARD_WEIGHTS; v.kind++)
				check(c, &v, p, true);
			if (v.type != DTYPE_F32 || tf32)
				check_chains(c, &v, p);
			check_norms(c, &v, p);
			check_windows(c, &v, p);
		}
}

/* A plan that is made only to be printed compiles nothing, and so is the same on every machine:
 * the only engines that cuDNN has for a ReLU after a convolution are those that it compiles. */
static void check_uncompiled(void)
{
	struct cudnn *c = NULL;
	struct cudnn_plan *plan = NULL;
	struct layouts l;
	struct cudnn_conv v = { .geom = geometry(&problems[0], &l), .x = &l.x, .w = &l.w, .y = &l.y,
		.type = DTYPE_BF16, .relu = true,
		.best_only = true };
	bool ok = cudnn_open_described(&c, h200, "described") == 0;
	if (ok) {
		cudnn_leave_unknown(c);
		ok = cudnn_conv_new(&plan, c, NULL, &v) < 0;
		cudnn_plan_free(plan);
		plan = NULL;
		v.relu = v.best_only = false;
		ok &= cudnn_conv_new(&plan, c, NULL, &v) == 0 &&
		      strcmp(cudnn_plan_name(plan), "cudnn:?") != 0;
	}
	if (!ok)
		printf("not ok - an engine that would be compiled\n");
	failed += !ok;
	err_clear();
	cudnn_plan_free(plan);
	cudnn_close(c);
}

int main(int argc, char **argv)
{
	struct cudnn *c = NULL;
	verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	driver = dlopen("libcuda.so.1", RTLD_NOW) != NULL;
	if (cudnn_open_described(&c, h200, "described") < 0) {
		err_print(stdout, "cudnn_plans");
		return 77;
	}
	for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
		check_problem(c, &problems[i]);
	cudnn_close(c);
	check_uncompiled();
	printf("%d plans, %d failed\n", made, failed);
	return failed != 0;
}
