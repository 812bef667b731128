/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The libraries of the emulation: their functions are found here instead of in shared objects
 * (fake_cudnn.c, fake_cublas.c, fake_cupti_replay.c). */
#include <dlfcn.h>
#include <string.h>

#include <cublasLt.h>
#include <cudnn.h>

#include "base/err.h"
#include "base/library.h"
#include "fake_cupti_replay.h"

#define FAKES(X)                                                                                   \
	X(cudnnCreate) X(cudnnDestroy) X(cudnnSetStream) X(cudnnGetErrorString) X(cudnnGetVersion)     \
	X(cudnnBackendCreateDescriptor) X(cudnnBackendDestroyDescriptor) X(cudnnBackendFinalize)       \
	X(cudnnBackendSetAttribute) X(cudnnBackendGetAttribute) X(cudnnBackendExecute)                 \
	X(cudnnGetLastErrorString)                                                                     \
	X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtGetStatusString) X(cublasLtGetVersion)          \
	X(cublasLtMatmul) X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy)                     \
	X(cublasLtMatmulDescSetAttribute) X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy) \
	X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy)                           \
	X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic)                      \
	X(cublasLtMatmulAlgoConfigGetAttribute)

static const struct library_function fakes[] = {
#define ROW(name) { #name, (void **)name },
	FAKES(ROW)
};

/* In place of base/library.c. */
int library_open(const char *file, const char *what, const struct library_function *f, size_t n)
{
	bool faked = strncmp(file, "libcudnn", 8) == 0 || strncmp(file, "libcublasLt", 11) == 0 ||
	             strncmp(file, "libcupti", 8) == 0;
	void *library = faked ? NULL : dlopen(file, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < n; i++) {
		*f[i].pointer = library ? dlsym(library, f[i].name) : NULL;
		for (size_t k = 0; k < sizeof fakes / sizeof *fakes && !library; k++)
			if (strcmp(fakes[k].name, f[i].name) == 0)
				*f[i].pointer = (void *)fakes[k].pointer;
		if (!library && !*f[i].pointer)
			*f[i].pointer = fake_cupti_function(f[i].name);
		if (!*f[i].pointer)
			return ERR(E_UNAVAILABLE, NULL, "%s: the emulation has no '%s'", what, f[i].name);
	}
	return 0;
}

void library_keep(const char *file)
{
	(void)file;
}

void *library_find(const char *file, const char *name)
{
	(void)file;
	(void)name;
	return NULL;
}
