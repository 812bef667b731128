/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuBLASLt for the emulation: plain loops in the order of the emulated stream, stricter than the
 * library. Types, strides, the epilogue, the workspace and the alignment that heuristics may count
 * on must be what the library takes; what is wrong is printed and refused.
 *
 * Four algorithms are proposed: the first does 1 Tflop/s by the emulation's clock, and twice as
 * much in 16 bits; the second is proposed but fails when it runs, the third takes half of the first
 * one's time, the fourth twice as much. DLX_FAKE_CUBLAS_TIMES: what all of these times are
 * multiplied by. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>

#include "base/mem.h"
#include "base/types.h"

void emulate_spend(double us);
int emulate_records(void *stream);
void emulate_submit_waiting(void *stream, int (*run)(void *), void *argument);

/* of every product, which fills it, so that booking it is tested too */
#define WORKSPACE 4096
#define ALIGNMENT 16
#define WORKSPACE_ALIGNMENT 256

static const struct {
	int id;
	double factor;               /* of the first one's time; 0: it fails */
} algorithms[] = { { 20, 1 }, { 21, 0 }, { 22, 0.5 }, { 23, 2 } };
#define ALGORITHMS ((int)(sizeof algorithms / sizeof *algorithms))

typedef struct {
	cudaDataType_t type;
	int64_t rows, columns, ld;
} matrix;

typedef struct {
	cublasComputeType_t compute;
	cublasOperation_t a, b;
	cublasLtEpilogue_t epilogue;
	cudaDataType_t bias_type;
	const float *bias;
	bool ran;                    /* so that the code of its kernels is loaded */
} product;

typedef struct {
	size_t workspace;
	uint32_t reductions;         /* 0: not said, which the library takes for any */
	uint32_t alignment[4];       /* of A, B, C, D; 0: not said, which the library takes for 256 */
} preference;

__attribute__((format(printf, 1, 2))) static cublasStatus_t refuse(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	fputs("fake cuBLASLt: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
	*out = mem_calloc(1, 1);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t h)
{
	mem_free(h);
	return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusString(cublasStatus_t s)
{
	return s == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "refused by the emulation";
}

size_t cublasLtGetVersion(void)
{
	return 130000;
}

/* --- descriptions --- */

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
	if (type != CUDA_R_32F && type != CUDA_R_16F && type != CUDA_R_16BF)
		return refuse("a matrix of type %d", (int)type);
	if (ld < (int64_t)rows)
		return refuse("columns of %lld elements stand %lld apart", (long long)rows, (long long)ld);
	matrix *m = mem_alloc(sizeof *m);
	*m = (matrix){ type, (int64_t)rows, (int64_t)columns, ld };
	*out = (cublasLtMatrixLayout_t)(void *)m;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t m)
{
	mem_free(m);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
	if (scale != CUDA_R_32F ||
	    (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32))
		return refuse("a product that computes in type %d, scaled in %d", (int)compute, (int)scale);
	product *p = mem_calloc(1, sizeof *p);
	*p = (product){ .compute = compute, .a = CUBLAS_OP_N, .b = CUBLAS_OP_N,
		.epilogue = CUBLASLT_EPILOGUE_DEFAULT,
		.bias_type = (cudaDataType_t)-1 };
	*out = (cublasLtMatmulDesc_t)(void *)p;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t p)
{
	mem_free(p);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t store(void *to, size_t want, const void *from, size_t bytes)
{
	if (bytes != want)
		return refuse("an attribute of %zu bytes is set by %zu", want, bytes);
	memcpy(to, from, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t bytes)
{
	product *p = (product *)(void *)d;
	switch ((int)name) {
	case CUBLASLT_MATMUL_DESC_TRANSA: return store(&p->a, sizeof p->a, value, bytes);
	case CUBLASLT_MATMUL_DESC_TRANSB: return store(&p->b, sizeof p->b, value, bytes);
	case CUBLASLT_MATMUL_DESC_EPILOGUE:
		return store(&p->epilogue, sizeof p->epilogue, value, bytes);
	case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
		return store(&p->bias_type, sizeof p->bias_type, value, bytes);
	case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return store(&p->bias, sizeof p->bias, value, bytes);
	default: return refuse("attribute %d of a product", (int)name);
	}
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
	*out = mem_calloc(1, sizeof(preference));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
	mem_free(p);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t d,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void *value, size_t bytes)
{
	preference *p = (preference *)(void *)d;
	switch ((int)name) {
	case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
		return store(&p->workspace, sizeof p->workspace, value, bytes);
	case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
		return store(&p->reductions, sizeof p->reductions, value, bytes);
	case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
		return store(&p->alignment[0], sizeof *p->alignment, value, bytes);
	case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
		return store(&p->alignment[1], sizeof *p->alignment, value, bytes);
	case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
		return store(&p->alignment[2], sizeof *p->alignment, value, bytes);
	case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
		return store(&p->alignment[3], sizeof *p->alignment, value, bytes);
	default: return refuse("attribute %d of a preference", (int)name);
	}
}

/* --- algorithms --- */

static int64_t rows_of(const matrix *m, cublasOperation_t op)
{
	return op == CUBLAS_OP_N ? m->rows : m->columns;
}

static int64_t columns_of(const matrix *m, cublasOperation_t op)
{
	return op == CUBLAS_OP_N ? m->columns : m->rows;
}

/* Whether the library computes such a thing at all. */
static bool taken(const product *p, const matrix *a, const matrix *b, const matrix *d)
{
	if (rows_of(a, p->a) != d->rows || columns_of(b, p->b) != d->columns ||
	    columns_of(a, p->a) != rows_of(b, p->b))
		return false;
	if (a->type != b->type || (d->type != a->type && d->type != CUDA_R_32F))
		return false;
	if (p->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && a->type != CUDA_R_32F)
		return false;
	if (p->epilogue == CUBLASLT_EPILOGUE_BIAS)
		return d->type == CUDA_R_32F && p->bias_type == CUDA_R_32F;
	return p->epilogue == CUBLASLT_EPILOGUE_DEFAULT;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t want, int most,
                                              cublasLtMatmulHeuristicResult_t *out, int *n)
{
	const preference *w = (const preference *)(const void *)want;
	*n = 0;
	const matrix *mc = (const matrix *)(const void *)c, *md = (const matrix *)(const void *)d;
	if (!h || most < 1)
		return refuse("heuristics are asked without a handle");
	if (mc->type != md->type || mc->rows != md->rows || mc->columns != md->columns)
		return refuse("what is added is not like the result");
	for (int i = 0; i < 4; i++)
		if (w->alignment[i] == 0 || w->alignment[i] > ALIGNMENT)
			return refuse("operand %d need not be aligned by %u", i, w->alignment[i]);
	if (w->reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
		return refuse("sums may be added up in the result's type");
	if (w->workspace < WORKSPACE ||
	    !taken((const product *)(const void *)desc, (const matrix *)(const void *)a,
	           (const matrix *)(const void *)b, (const matrix *)(const void *)d))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	for (; *n < most && *n < ALGORITHMS; ++*n) {
		out[*n] = (cublasLtMatmulHeuristicResult_t){ .workspaceSize = WORKSPACE,
			.state = CUBLAS_STATUS_SUCCESS };
		out[*n].algo.data[0] = (uint64_t)*n;
	}
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t name,
                                                    void *out, size_t bytes, size_t *written)
{
	if (name != CUBLASLT_ALGO_CONFIG_ID || bytes != sizeof(int32_t) ||
	    algo->data[0] >= (uint64_t)ALGORITHMS)
		return refuse("attribute %d of an algorithm", (int)name);
	*(int32_t *)out = algorithms[algo->data[0]].id;
	*written = bytes;
	return CUBLAS_STATUS_SUCCESS;
}

/* --- products --- */

struct job {
	product p;
	matrix a, b, d;
	const void *pa, *pb;
	void *pd, *ws;
};

static enum dtype dtype_of(cudaDataType_t t)
{
	return t == CUDA_R_16F ? DTYPE_F16 : t == CUDA_R_16BF ? DTYPE_BF16 : DTYPE_F32;
}

/* The operand in float64: its rows one after another, or its columns. */
static double *widened(const matrix *m, cublasOperation_t op, const void *p, bool by_rows)
{
	const int64_t rows = rows_of(m, op), columns = columns_of(m, op);
	double *v = mem_alloc(sizeof *v * (size_t)(rows * columns));
	for (int64_t row = 0; row < rows; row++)
		for (int64_t column = 0; column < columns; column++)
			v[by_rows ? row * columns + column : column * rows + row] =
				dtype_get(dtype_of(m->type), p,
			              op == CUBLAS_OP_N ? column * m->ld + row : row * m->ld + column);
	return v;
}

static int multiply(void *argument)
{
	const struct job *j = argument;
	const bool biased = j->p.epilogue == CUBLASLT_EPILOGUE_BIAS;
	const enum dtype type = dtype_of(j->d.type);
	const int64_t inner = columns_of(&j->a, j->p.a);
	double *a = widened(&j->a, j->p.a, j->pa, true), *b = widened(&j->b, j->p.b, j->pb, false);
	memset(j->ws, 0x5a, WORKSPACE);
	for (int64_t column = 0; column < j->d.columns; column++)
		for (int64_t row = 0; row < j->d.rows; row++) {
			double sum = biased ? j->p.bias[row] : 0;
			for (int64_t i = 0; i < inner; i++)
				sum += a[row * inner + i] * b[column * inner + i];
			dtype_convert(type, (char *)j->pd + dtype_size(type) * (size_t)(column * j->d.ld + row),
			              DTYPE_F64, &sum, 1);
		}
	mem_free(a);
	mem_free(b);
	return 1;
}

static bool unaligned(const void *p, uintptr_t by)
{
	return !p || (uintptr_t)p % by;
}

/* Jobs are never freed: a replay may come at any time. */
cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t la, const void *b,
                              cublasLtMatrixLayout_t lb, const void *beta, const void *c,
                              cublasLtMatrixLayout_t lc, void *d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t *algo, void *ws, size_t ws_bytes,
                              cudaStream_t stream)
{
	struct job *j = mem_alloc(sizeof *j);
	*j = (struct job){ *(const product *)(const void *)desc, *(const matrix *)(const void *)la,
		*(const matrix *)(const void *)lb, *(const matrix *)(const void *)ld, a, b, d, ws };
	const char *end = (char *)d + dtype_size(dtype_of(j->d.type)) *
	                  (size_t)((j->d.columns - 1) * j->d.ld + j->d.rows);
	const bool biased = j->p.epilogue == CUBLASLT_EPILOGUE_BIAS;
	if (!h || *(const float *)alpha != 1 || *(const float *)beta != 0 || lc != ld)
		return refuse("a product that is not d = a b");
	if (unaligned(a, ALIGNMENT) || unaligned(b, ALIGNMENT) || unaligned(c, ALIGNMENT) ||
	    unaligned(d, ALIGNMENT) || (biased && !j->p.bias))
		return refuse("a product without an operand, or with one that is not aligned");
	if (unaligned(ws, WORKSPACE_ALIGNMENT) || ws_bytes < WORKSPACE)
		return refuse("a product without workspace, or with one that is not aligned by 256");
	if (!j->p.ran && emulate_records(stream))
		return refuse("a product runs for the first time while a step is recorded");
	((product *)(void *)desc)->ran = true;
	if ((char *)ws < end && (char *)ws + ws_bytes > (char *)d)
		return refuse("a product's workspace is in its result");
	const char *times = getenv("DLX_FAKE_CUBLAS_TIMES");
	const double factor = algorithms[algo->data[0]].factor * (times ? atof(times) : 1);
	if (factor == 0)
		return CUBLAS_STATUS_EXECUTION_FAILED;
	emulate_spend(factor * 2e-6 * (double)(j->d.rows * j->d.columns * columns_of(&j->a, j->p.a)) /
	              (j->a.type == CUDA_R_32F ? 1 : 2));
	emulate_submit_waiting(stream, multiply, j);
	return CUBLAS_STATUS_SUCCESS;
}
