/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The libraries of the emulation. Their functions are found here instead of in shared objects (cuDNN: fake_cudnn.c);
 * backend/cublas.h is replaced as a whole, by plain loops in the order of the emulated stream that check what the real
 * library would refuse. By the emulation's clock they do 1 Tflop/s, and twice as much in 16 bits. */
#include <dlfcn.h>
#include <string.h>

#include <cudnn.h>

#include "backend/cublas.h"
#include "backend/cuda.h"
#include "base/err.h"
#include "base/library.h"
#include "base/mem.h"

void emulate_spend(double us);
void emulate_submit_waiting(void *stream, int (*run)(void *), void *argument);

#define WORKSPACE 4096        /* every plan asks for some and fills it, so that booking it is tested too */

#define FAKES(X) \
	X(cudnnCreate) X(cudnnDestroy) X(cudnnSetStream) X(cudnnGetErrorString) X(cudnnGetVersion) \
	X(cudnnBackendCreateDescriptor) X(cudnnBackendDestroyDescriptor) X(cudnnBackendFinalize) \
	X(cudnnBackendSetAttribute) X(cudnnBackendGetAttribute) X(cudnnBackendExecute)

static const struct library_function fakes[] = {
#define ROW(name) { #name, (void **)name },
	FAKES(ROW)
};

/* In place of base/library.c. */
int library_open(const char *file, const char *what, const struct library_function *f, size_t n)
{
	void *library = strncmp(file, "libcudnn", 8) == 0 ? NULL : dlopen(file, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < n; i++) {
		*f[i].pointer = library ? dlsym(library, f[i].name) : NULL;
		for (size_t k = 0; k < sizeof fakes / sizeof *fakes && !library; k++)
			if (strcmp(fakes[k].name, f[i].name) == 0)
				*f[i].pointer = (void *)fakes[k].pointer;
		if (!*f[i].pointer)
			return ERR(E_UNAVAILABLE, NULL, "%s: the emulation has no '%s'", what, f[i].name);
	}
	return 0;
}

/* --- matrix products --- */

int cublas_open(void **handle)
{
	*handle = (void *)1;
	return 0;
}

void cublas_close(void *handle)
{
	(void)handle;
}

struct cublas_plan {
	struct device *dev;
	struct cublas_matmul m;
};

int cublas_matmul_new(struct cublas_plan **out, struct device *d, const struct cublas_matmul *m, size_t ws_limit)
{
	if ((m->a_stride[0] != 1 && m->a_stride[1] != 1) || (m->b_stride[0] != 1 && m->b_stride[1] != 1) ||
	    m->c_stride[1] != 1 || ws_limit < WORKSPACE)
		return ERR(E_UNSUPPORTED, NULL, "strides that cuBLAS cannot take");
	if ((m->c_type != m->type && m->c_type != DTYPE_F32) || (m->bias && m->c_type != DTYPE_F32))
		return ERR(E_UNSUPPORTED, NULL, "types that cuBLAS cannot take");
	*out = mem_alloc(sizeof **out);
	(*out)->m = *m;
	(*out)->dev = d;
	return 0;
}

size_t cublas_plan_workspace(const struct cublas_plan *p)
{
	(void)p;
	return WORKSPACE;
}

struct matmul_job {
	struct cublas_matmul m;
	const void *a, *b;
	const float *bias;
	void *c, *ws;
};

static int multiply(void *argument)
{
	const struct matmul_job *j = argument;
	const struct cublas_matmul *m = &j->m;
	memset(j->ws, 0x5a, WORKSPACE);
	for (int64_t r = 0; r < m->m; r++)
		for (int64_t c = 0; c < m->n; c++) {
			double sum = m->bias ? j->bias[c] : 0;
			for (int64_t i = 0; i < m->k; i++)
				sum += dtype_get(m->type, j->a, r * m->a_stride[0] + i * m->a_stride[1]) *
				       dtype_get(m->type, j->b, i * m->b_stride[0] + c * m->b_stride[1]);
			dtype_convert(m->c_type, (char *)j->c + dtype_size(m->c_type) * (size_t)(r * m->c_stride[0] + c),
			              DTYPE_F64, &sum, 1);
		}
	return 1;
}

int cublas_plan_run(const struct cublas_plan *p, const void *a, const void *b, const void *bias, void *c, void *ws)
{
	const char *end = (char *)c + dtype_size(p->m.c_type) * (size_t)((p->m.m - 1) * p->m.c_stride[0] + p->m.n);
	if (p->m.bias && !bias)
		return ERR(E_UNAVAILABLE, NULL, "a product has no bias to add");
	if ((char *)ws < end && (char *)ws + WORKSPACE > (char *)c)
		return ERR(E_UNAVAILABLE, NULL, "a product's workspace is in its result");
	struct matmul_job *j = mem_alloc(sizeof *j);
	*j = (struct matmul_job){ p->m, a, b, bias, c, ws };
	emulate_spend(2e-6 * (double)(p->m.m * p->m.n * p->m.k) / (p->m.type == DTYPE_F32 ? 1 : 2));
	emulate_submit_waiting(cuda_stream(p->dev), multiply, j);
	return 0;
}

void cublas_plan_free(struct cublas_plan *p)
{
	mem_free(p);
}
