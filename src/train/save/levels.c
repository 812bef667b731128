/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/save/levels.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "train/run/ranks.h"

static bool first_of_host(const struct comm *comm)
{
	return !comm || comm->local_rank == 0;
}

const char *levels_folder(struct arena *a, const struct ckpt_local *c, const struct comm *comm,
                          const char *run)
{
	char host[256] = "";
	if (!c->dir || !run[0])
		return NULL;
	if (comm)
		snprintf(host, sizeof host, "%s", comm->host_name);
	else
		gethostname(host, sizeof host - 1);
	return arena_printf(a, "%s/dlx-checkpoints-%s-%s", c->dir, host, run);
}

bool levels_older(struct ckpt_age a, struct ckpt_age b)
{
	return a.time != b.time ? a.time < b.time : a.serial < b.serial;
}

/* Of this host; NULL if there is none. */
static struct ckpt_version *look_here(const char *folder, const char *which)
{
	const int mark = err_count();
	struct ckpt_version *v = NULL;
	int rc = which ? ckpt_load(&v, folder, which) : ckpt_look(&v, folder, "last");
	if (rc < 0 && rc != E_NOINPUT)
		warn("no checkpoint is taken from this host's disk: %s",
		     err_count() > mark ? err_get(mark)->text : err_name(rc));
	err_truncate(mark);
	return v;
}

struct seen {
	struct ckpt_age age;
	int64_t step;
};

void levels_look(struct levels *out, struct comm *comm, const char *folder, const char *which,
                 struct ckpt_version **mine)
{
	const int n = comm_count(comm);
	struct ckpt_version *v = NULL;
	*out = (struct levels){ .root = -1 };
	if (which)
		*mine = NULL;
	if (!folder)
		return;
	struct seen here = { { 0 } }, *all = mem_calloc((size_t)n, sizeof *all);
	if (first_of_host(comm) && io_exists(folder))
		v = look_here(folder, which);
	if (v)
		here = (struct seen){ ckpt_version_state(v)->age, ckpt_version_state(v)->step };
	all[0] = here;
	if (comm_many(comm))
		comm_all_gather(comm, &here, sizeof here, all, "checkpoints on hosts' disks");
	for (int i = 0; i < n; i++)
		if (all[i].age.serial > 0 && (out->root < 0 || levels_older(out->newest, all[i].age)))
			*out = (struct levels){ all[i].age, i, all[i].step };
	mem_free(all);
	if (which)
		*mine = v;
	else
		ckpt_version_free(v);
}

int levels_open(struct ckpt_store **out, struct comm *comm, const struct ckpt_config *c,
                const char *folder, const char *run, const char *job)
{
	struct ckpt_config config = *c;
	const struct ckpt_share share = { .rank = comm ? comm->local_rank : 0,
		.ranks = comm ? comm->local_size : 1, .save = job, .world = comm_count(comm), .run = run };
	const bool mine = folder && (!comm || comm->host < c->local.copies);
	config.keep = (struct ckpt_keep){ .last = c->local.keep };
	config.store = NULL;
	config.plain = PLAIN_NONE;
	*out = NULL;
	/* the others expect the first one's run.json */
	for (int turn = 0; turn < 2; turn++) {
		const bool now = mine && first_of_host(comm) == (turn == 0);
		TRY(ranks_agree(comm, now ? ckpt_open(out, folder, &config, &share) : 0,
		                "opening the checkpoints on hosts' disks"));
	}
	return 0;
}
