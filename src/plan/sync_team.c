/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key takes a switch or a number, so it is read by hand and not by a schema table. */
#include "plan/sync_team.h"

#include "base/err.h"

#define MOST_RANKS (1 << 24)

int sync_team_parse(const struct ynode *n, int *team)
{
	int64_t ranks;
	bool all;
	*team = 1;
	if (y_bool(n, &all)) {
		*team = all ? 0 : 1;
		return 0;
	}
	if (y_int(n, &ranks) && ranks >= 1 && ranks <= MOST_RANKS) {
		*team = (int)ranks;
		return 0;
	}
	return ERR(E_CONFIG, &n->loc, "'sync_batch_norm' must be false, true (all ranks together), or how many ranks a group "
	           "has, from 1 to %d", MOST_RANKS);
}

int sync_team_size(const struct run_config *c, int ranks, int *team)
{
	TRY(sync_team_parse(c->parallel.sync_batch_norm, team));
	if (*team == 0 || ranks == 1)
		*team = ranks;
	if (ranks % *team == 0)
		return 0;
	return ERR(E_CONFIG, &c->parallel.sync_batch_norm->loc, "%d ranks cannot be divided into groups of %d, which 'sync_batch_norm' asks for", ranks, *team);
}
