/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens libnccl. It must be as new as the limit of blocks that a communicator takes (2.17). */
#include "comm/nccl_library.h"

#include "base/err.h"
#include "base/library.h"

#define LIBRARY "libnccl.so.2"
#define OLDEST 21701

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
		return ERR(E_UNAVAILABLE, NULL, "NCCL %d.%d.%d is too old; 2.17.1 or newer is needed",
		           version / 10000, version / 100 % 100, version % 100);
	return 0;
}
