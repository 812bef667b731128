/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key's value is a boolean or a number, so it is parsed here and not by a schema table. */
#include "plan/sums/sync_group.h"

#include "base/err.h"

#define MOST_RANKS (1 << 24)

int sync_group_parse(const struct ynode *n, int *size)
{
	int64_t ranks;
	bool all;
	*size = 1;
	if (y_bool(n, &all)) {
		*size = all ? 0 : 1;
		return 0;
	}
	if (y_int(n, &ranks) && ranks >= 1 && ranks <= MOST_RANKS) {
		*size = (int)ranks;
		return 0;
	}
	return ERR(E_CONFIG, &n->loc, "'sync_batch_norm' must be false, true (all ranks together), or "
	           "how many ranks a group has, from 1 to %d", MOST_RANKS);
}

int sync_group_size(const struct run_config *c, int ranks, int parts, int *size)
{
	TRY(sync_group_parse(c->parallel.sync_batch_norm, size));
	if (*size == 0 || ranks == 1)
		*size = ranks;
	if (*size == 1)
		*size = parts;
	if (*size % parts)
		return ERR(E_CONFIG, &c->parallel.sync_batch_norm->loc, "'sync_batch_norm' asks for groups "
		           "of %d ranks, but 'parallel.spatial' has %d ranks share each sample", *size,
		           parts);
	if (ranks % *size == 0)
		return 0;
	return ERR(E_CONFIG, &c->parallel.sync_batch_norm->loc,
	           "%d ranks cannot be divided into groups of %d, which 'sync_batch_norm' asks for",
	           ranks, *size);
}
