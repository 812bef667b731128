/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variables that launchers set for MPI. An interface counts, not a scheduler: a step that srun
 * started with --mpi=none has several tasks that cannot connect. */
#include "comm/launched.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/launcher.h"

static const char *const interfaces[] = {
	"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "JSM_NAMESPACE_RANK",
	"PALS_RANKID",
};

void launched_find(struct launched *out)
{
	struct launcher_place p;
	launcher_place(&p);
	*out = (struct launched){ p.launcher, p.size, p.rank, false };
	for (size_t i = 0; i < sizeof interfaces / sizeof *interfaces; i++)
		if (getenv(interfaces[i]))
			out->interface = true;
	if (out->interface && !p.launcher)
		*out = (struct launched){ "a launcher with PMIx", 0, 0, true };
}
