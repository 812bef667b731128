/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens libnccl. It must be as new as its errors are told by (ncclGetLastError came with 2.13). */
#include "comm/nccl_library.h"

#include "base/err.h"
#include "base/library.h"

#define LIBRARY "libnccl.so.2"
#define OLDEST 21304

struct nccl_functions nccl;

static const struct library_function functions[] = {
#define X(f) { "nccl" #f, (void **)&nccl.f },
	NCCL_FUNCTIONS(X)
#undef X
};

int nccl_library_open(void)
{
	int version = 0;
	TRY(library_open(LIBRARY, "NCCL 2", functions, sizeof functions / sizeof *functions));
	if (nccl.GetVersion(&version) != ncclSuccess || version < OLDEST)
		return ERR(E_UNAVAILABLE, NULL, "NCCL %d.%d.%d is too old; 2.13.4 or newer is needed", version / 10000,
		           version / 100 % 100, version % 100);
	return 0;
}
