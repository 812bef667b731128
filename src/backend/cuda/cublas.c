/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interface to cuBLASLt, whose matrices are column-major: a row-major product c = a b is
 * computed as c' = b' a', so its A is dlx's b and its B dlx's a. Without wisdom the first algorithm
 * that the heuristics propose is used, so that a problem gets the same kernel in every process;
 * with wisdom the fastest one, which is stored there or found by measuring the first few. */
#include "backend/cuda/cublas.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cublasLt.h>

#include "backend/cuda/cuda.h"
#include "backend/cuda/cuda_time.h"
#include "backend/proof/passed.h"
#include "backend/wisdom.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/library.h"
#include "base/mem.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define LIBRARY "libcublasLt.so." STRING(CUBLAS_VER_MAJOR)

#define ALIGNMENT 16          /* bytes: alignment of operands in a plan; cuBLASLt would assume
                               * 256 */
#define PROPOSED 8            /* number of algorithms requested for a measurement */

#define FUNCTIONS(X) \
	X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtGetStatusString) X(cublasLtMatmul) \
	X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute) \
	X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy) \
	X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy) \
	X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic) \
	X(cublasLtMatmulAlgoConfigGetAttribute) X(cublasLtGetVersion)

LIBRARY_LATE(FUNCTIONS, LIBRARY, "cuBLASLt")

static int check(cublasStatus_t status, const char *what)
{
	if (status == CUBLAS_STATUS_SUCCESS)
		return 0;
	return ERR(status == CUBLAS_STATUS_ALLOC_FAILED ? E_NOMEM : E_UNSUPPORTED, NULL,
	           "cuBLASLt: %s: %s", what, lib.cublasLtGetStatusString(status));
}

int cublas_open(void **handle)
{
	cublasLtHandle_t h = NULL;
	TRY(load());
	TRY(check(lib.cublasLtCreate(&h), "cannot start"));
	*handle = h;
	return 0;
}

void cublas_close(void *handle)
{
	if (handle)
		lib.cublasLtDestroy(handle);
}

struct cublas_plan {
	cublasLtHandle_t handle;
	const struct device *dev;
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t a, b, c;          /* in cuBLAS's order: its A is dlx's b */
	cublasLtMatmulAlgo_t algo;
	bool bias;
	size_t ws_bytes;
	int place;                   /* index among the proposed algorithms */
	char name[24], shown[40], impl[40];      /* the algorithm's names: in wisdom, in a plan, in
	                                          * proofs */
	uint64_t key;                /* hash of the problem and the library's version, for proofs */
};

static cudaDataType_t data_type(enum dtype t)
{
	switch (t) {
	case DTYPE_F16: return CUDA_R_16F;
	case DTYPE_BF16: return CUDA_R_16BF;
	default: return CUDA_R_32F;
	}
}

/* A row-major (rows, columns) matrix as cuBLAS's column-major (columns, rows): not transposed if
 * its rows are contiguous. */
static cublasStatus_t layout(cublasLtMatrixLayout_t *out, enum dtype t, int64_t rows,
                             int64_t columns, const int64_t *stride, cublasOperation_t *op)
{
	bool plain = stride[1] == 1 && (stride[0] >= columns || rows == 1);
	*op = plain ? CUBLAS_OP_N : CUBLAS_OP_T;
	int64_t ld = plain ? stride[0] : stride[1];
	uint64_t r = (uint64_t)(plain ? columns : rows), c = (uint64_t)(plain ? rows : columns);
	if (ld < (int64_t)r)
		ld = (int64_t)r;         /* a single column has no distance */
	return lib.cublasLtMatrixLayoutCreate(out, data_type(t), r, c, ld);
}

static cublasStatus_t describe(struct cublas_plan *p, const struct cublas_matmul *m)
{
	const cublasComputeType_t compute = m->type == DTYPE_F32 && m->tf32 ?
	                                    CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
	const cublasLtEpilogue_t epilogue = m->bias ? CUBLASLT_EPILOGUE_BIAS :
	                                    CUBLASLT_EPILOGUE_DEFAULT;
	const cudaDataType_t f32 = CUDA_R_32F;
	cublasOperation_t opa, opb, opc;
	cublasStatus_t s = lib.cublasLtMatmulDescCreate(&p->desc, compute, CUDA_R_32F);
	if (s == CUBLAS_STATUS_SUCCESS)
		s = layout(&p->a, m->type, m->k, m->n, m->b_stride, &opa);
	if (s == CUBLAS_STATUS_SUCCESS)
		s = layout(&p->b, m->type, m->m, m->k, m->a_stride, &opb);
	if (s == CUBLAS_STATUS_SUCCESS)
		s = layout(&p->c, m->c_type, m->m, m->n, m->c_stride, &opc);
	if (s == CUBLAS_STATUS_SUCCESS && opc != CUBLAS_OP_N)
		s = CUBLAS_STATUS_NOT_SUPPORTED;
	if (s == CUBLAS_STATUS_SUCCESS)
		s = lib.cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &opa,
		                                       sizeof opa);
	if (s == CUBLAS_STATUS_SUCCESS)
		s = lib.cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSB, &opb,
		                                       sizeof opb);
	if (s == CUBLAS_STATUS_SUCCESS)
		s = lib.cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
		                                       sizeof epilogue);
	if (s == CUBLAS_STATUS_SUCCESS && m->bias)
		s = lib.cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &f32,
		                                       sizeof f32);
	return s;
}

/* The algorithms that the heuristics propose, the best first, n at most. */
static cublasStatus_t propose(const struct cublas_plan *p, size_t ws_limit,
                              cublasLtMatmulHeuristicResult_t *found, int *n)
{
	static const cublasLtMatmulPreferenceAttributes_t aligned[] = {
		CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
		CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES };
	/* The partial sums of a split-K product are added in float32, not in the result's type. */
	const uint32_t alignment = ALIGNMENT,
	               sums = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
	const int most = *n;
	cublasLtMatmulPreference_t want = NULL;
	cublasStatus_t s = lib.cublasLtMatmulPreferenceCreate(&want);
	if (s == CUBLAS_STATUS_SUCCESS)
		s = lib.cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
		                                             &ws_limit, sizeof ws_limit);
	if (s == CUBLAS_STATUS_SUCCESS)
		s = lib.cublasLtMatmulPreferenceSetAttribute(
			want, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &sums, sizeof sums);
	for (size_t i = 0; i < sizeof aligned / sizeof *aligned && s == CUBLAS_STATUS_SUCCESS; i++)
		s = lib.cublasLtMatmulPreferenceSetAttribute(want, aligned[i], &alignment,
		                                             sizeof alignment);
	*n = 0;
	if (s == CUBLAS_STATUS_SUCCESS)
		s = lib.cublasLtMatmulAlgoGetHeuristic(p->handle, p->desc, p->a, p->b, p->c, p->c,
		                                       want, most, found, n);
	if (want)
		lib.cublasLtMatmulPreferenceDestroy(want);
	return s == CUBLAS_STATUS_SUCCESS && *n == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : s;
}

/* "3:algo66": the fourth proposal, which is algorithm 66. */
static void take(struct cublas_plan *p, const cublasLtMatmulHeuristicResult_t *found, int place)
{
	int32_t id = -1;
	size_t written;
	p->place = place;
	p->algo = found[place].algo;
	p->ws_bytes = found[place].workspaceSize;
	lib.cublasLtMatmulAlgoConfigGetAttribute(&p->algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id,
	                                         &written);
	snprintf(p->name, sizeof p->name, "%d:algo%d", place, (int)id);
	snprintf(p->shown, sizeof p->shown, "cublaslt:algo%d", (int)id);
	snprintf(p->impl, sizeof p->impl, "cublaslt:%s", p->name);
}

/* Takes the proposal at this index, unless a proof has found it wrong. */
static bool may_take(struct cublas_plan *p, const cublasLtMatmulHeuristicResult_t *found, int place)
{
	take(p, found, place);
	return !passed_over(p->key, p->impl);
}

/* Takes the first proposal that no proof has found wrong. False: there is none. */
static bool take_first(struct cublas_plan *p, const cublasLtMatmulHeuristicResult_t *found, int n)
{
	for (int i = 0; i < n; i++)
		if (may_take(p, found, i))
			return true;
	return false;
}

/* --- measuring --- */

enum { A, B, BIAS, C, WS, ARGUMENTS };

struct trial {
	const struct cublas_plan *p;
	void *argument[ARGUMENTS];
};

static int run_trial(void *user)
{
	const struct trial *t = user;
	return cublas_plan_run(t->p, t->argument[A], t->argument[B], t->argument[BIAS],
	                       t->argument[C], t->argument[WS]);
}

static size_t extent(int64_t rows, int64_t columns, const int64_t *stride, enum dtype t)
{
	return (size_t)((rows - 1) * stride[0] + (columns - 1) * stride[1] + 1) * dtype_size(t);
}

/* Takes the fastest algorithm. Without memory for a trial the previous choice stays, and `measured`
 * remains false. */
static void measure(struct cublas_plan *p, const struct cublas_matmul *m,
                    const cublasLtMatmulHeuristicResult_t *found, int n, double *best_us,
                    bool *measured)
{
	size_t bytes[ARGUMENTS] = { extent(m->m, m->k, m->a_stride, m->type),
		extent(m->k, m->n, m->b_stride, m->type), (size_t)m->n * sizeof(float),
		extent(m->m, m->n, m->c_stride, m->c_type), 0 };
	struct trial t = { .p = p };
	int best = p->place, rc = 0, mark = err_count();
	*measured = false;
	for (int i = 0; i < n; i++)
		bytes[WS] = found[i].workspaceSize > bytes[WS] ? found[i].workspaceSize : bytes[WS];
	for (int i = 0; i < ARGUMENTS && rc == 0; i++)
		rc = cuda_scratch(&t.argument[i], bytes[i]);
	for (int i = 0; i < n && rc == 0; i++) {
		double us, much = *measured ? CUDA_TIME_MUCH * *best_us : 0;
		if (!may_take(p, found, i) ||
		    cuda_time(cuda_stream(p->dev), run_trial, &t, much, &us) < 0 ||
		    (*measured && us >= *best_us))
			continue;
		best = i;
		*best_us = us;
		*measured = true;
	}
	for (int i = 0; i < ARGUMENTS; i++)
		cuda_scratch_free(t.argument[i]);
	err_truncate(mark);
	take(p, found, best);
}

static void name_problem(char *out, size_t n, const struct cublas_matmul *m, size_t ws_limit)
{
	snprintf(out, n, "product%s%s %s to %s %" PRId64 "x%" PRId64 "x%" PRId64 " a %" PRId64
	         ",%" PRId64 " b %" PRId64 ",%" PRId64 " c %" PRId64 " workspace %zu",
	         m->bias ? "+bias" : "", m->tf32 && m->type == DTYPE_F32 ? " tf32" : "",
	         dtype_name(m->type), dtype_name(m->c_type), m->m, m->n, m->k, m->a_stride[0],
	         m->a_stride[1], m->b_stride[0], m->b_stride[1], m->c_stride[0], ws_limit);
}

/* Whether the algorithm of that name is still what is proposed at its place. */
static bool take_known(struct cublas_plan *p, const cublasLtMatmulHeuristicResult_t *found, int n,
                       const char *known)
{
	int place = -1;
	if (!known || sscanf(known, "%d:", &place) != 1 || place < 0 || place >= n)
		return false;
	return may_take(p, found, place) && strcmp(p->name, known) == 0;
}

static uint64_t key_of(const char *problem, const char *library)
{
	struct buf key = BUF_INIT;
	buf_printf(&key, "%s %s", problem, library);
	const uint64_t hash = hash_name(key.data);
	buf_release(&key);
	return hash;
}

static cublasStatus_t choose(struct cublas_plan *p, struct wisdom *wisdom,
                             const struct cublas_matmul *m, size_t ws_limit)
{
	cublasLtMatmulHeuristicResult_t found[PROPOSED] = { 0 };
	char problem[240], kind[CUDA_KIND], library[32];
	bool measured = false;
	double us = 0;
	name_problem(problem, sizeof problem, m, ws_limit);
	cuda_kind(p->dev, kind);
	snprintf(library, sizeof library, "cublaslt-%zu", lib.cublasLtGetVersion());
	p->key = key_of(problem, library);
	int n = wisdom || passed_of(p->key) ? PROPOSED : 1;
	cublasStatus_t s = propose(p, ws_limit, found, &n);
	if (s != CUBLAS_STATUS_SUCCESS)
		return s;
	if (take_known(p, found, n, wisdom_find(wisdom, problem, kind, library)))
		return s;
	if (!take_first(p, found, n))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (wisdom_may_measure(wisdom)) {
		const double start = io_seconds();
		measure(p, m, found, n, &us, &measured);
		wisdom->spent += io_seconds() - start;
	} else {
		wisdom_left(wisdom);
	}
	if (measured)
		wisdom_measured(wisdom, problem, kind, library, p->name, us);
	return s;
}

/* --- plans --- */

int cublas_matmul_new(struct cublas_plan **out, const struct device *d, struct wisdom *wisdom,
                      const struct cublas_matmul *m, size_t ws_limit)
{
	void *handle;
	if (d->imagined) {         /* its heuristics would query the driver */
		*out = mem_calloc(1, sizeof **out);
		(*out)->ws_bytes = ws_limit;
		snprintf((*out)->shown, sizeof (*out)->shown, "cublaslt:?");
		return 0;
	}
	TRY(cuda_cublas(d, &handle));
	struct cublas_plan *p = mem_calloc(1, sizeof *p);
	p->handle = handle;
	p->dev = d;
	p->bias = m->bias;
	cublasStatus_t s = describe(p, m);
	if (s == CUBLAS_STATUS_SUCCESS)
		s = choose(p, wisdom, m, ws_limit);
	int rc = check(s, "no kernel for this matrix product");
	if (rc < 0 && passed_of(p->key))
		err_context(rc, "but for %d that failed their proof here; "
		            "DLX_DEBUG=proof=no takes them", passed_of(p->key));
	if (rc < 0)
		cublas_plan_free(p);
	else
		*out = p;
	return rc;
}

size_t cublas_plan_workspace(const struct cublas_plan *p)
{
	return p->ws_bytes;
}

const char *cublas_plan_name(const struct cublas_plan *p)
{
	return p->shown;
}

struct kernel_choice cublas_plan_choice(const struct cublas_plan *p)
{
	return (struct kernel_choice){ p->impl[0] ? p->impl : NULL, p->key };
}

int cublas_plan_run(const struct cublas_plan *p, const void *a, const void *b, const void *bias,
                    void *c, void *ws)
{
	const float one = 1, none = 0;
	if (p->bias)
		TRY(check(lib.cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
		                                             &bias, sizeof bias), "setting the bias"));
	return check(lib.cublasLtMatmul(p->handle, p->desc, &one, b, p->a, a, p->b, &none,
	                                c, p->c, c, p->c, &p->algo, ws,
	                                p->ws_bytes, cuda_stream(p->dev)),
	             "running a matrix product");
}

void cublas_plan_free(struct cublas_plan *p)
{
	if (!p)
		return;
	if (p->desc)
		lib.cublasLtMatmulDescDestroy(p->desc);
	if (p->a)
		lib.cublasLtMatrixLayoutDestroy(p->a);
	if (p->b)
		lib.cublasLtMatrixLayoutDestroy(p->b);
	if (p->c)
		lib.cublasLtMatrixLayoutDestroy(p->c);
	mem_free(p);
}
