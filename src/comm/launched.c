/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What launchers leave in the environment for MPI. An interface counts, not a scheduler: the shell of
 * a batch script has the scheduler's variables too and is one process, and a step that srun started
 * with --mpi=none has several that cannot meet. */
#include "comm/launched.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

static const struct {
	const char *rank, *size, *by;
} interfaces[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun" },
	{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MVAPICH's mpirun" },
	{ "PMI_RANK", "PMI_SIZE", "mpiexec" },
	{ "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "jsrun" },
	{ "PALS_RANKID", NULL, "PALS' mpiexec" },
	{ "PMIX_RANK", NULL, "a launcher with PMIx" },
};

static int number(const char *name)
{
	const char *text = name ? getenv(name) : NULL;
	long n = text ? strtol(text, NULL, 10) : 0;
	return n > 0 && n <= INT_MAX ? (int)n : 0;
}

void launched_find(struct launched *out)
{
	int step = number("SLURM_STEP_NUM_TASKS");
	*out = (struct launched){ NULL, 1, false };
	for (size_t i = 0; i < sizeof interfaces / sizeof *interfaces; i++)
		if (getenv(interfaces[i].rank)) {
			int n = number(interfaces[i].size);
			*out = (struct launched){ interfaces[i].by, n ? n : step, true };
			return;
		}
	if (step > 1 && getenv("SLURM_PROCID"))
		*out = (struct launched){ "srun", step, false };
}
