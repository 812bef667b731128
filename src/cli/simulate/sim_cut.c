/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The number of a sample's axes is known only to a plan, so grids of three axes are tried first,
 * then those of two and of one: one of the wrong number is refused soon. */
#include "cli/simulate/sim_cut.h"

#include "base/err.h"
#include "plan/spatial/plan_cut.h"
#include "plan/spatial/spatial.h"
#include "plan/spatial/spatial_auto.h"

#define TRIED 4                  /* numbers of subdomains */

static const char *set_of(const struct sim_given *g, const struct cut_grid *grid)
{
	struct buf text = BUF_INIT;
	spatial_text(grid, &text);
	const char *set = arena_printf(g->arena, "parallel.spatial=%s", text.data);
	buf_release(&text);
	return set;
}

/* *planned: whether a grid of this many axes can be planned. */
static bool fastest(struct sim_change *out, struct sim_given *g, const struct cluster *c,
                    int64_t ranks, int axes, int parts, bool *planned)
{
	struct cut_grid grid[SPATIAL_GRIDS];
	const int n = spatial_grids(grid, axes, parts);
	bool found = false;
	for (int i = 0; i < n; i++) {
		struct sim_change now = { .set = set_of(g, &grid[i]), .note = out->note };
		const int mark = err_count();
		const bool possible = sim_row(&now.row, g, ranks, now.set) == 0;
		err_truncate(mark);
		*planned |= possible;
		if (!possible || !sim_fits(c, &now.row) ||
		    (found && now.row.samples <= out->row.samples))
			continue;
		*out = now;
		found = true;
	}
	return found;
}

bool sim_cut(struct sim_change *out, struct sim_given *g, const struct cluster *c, int64_t ranks,
             int64_t least)
{
	bool found = false;
	for (int64_t parts = least, tried = 0;
	     parts <= ranks && parts <= SPATIAL_MOST && tried < TRIED && !found; parts++) {
		bool planned = false;
		if (parts < 2 || ranks % parts)
			continue;
		for (int axes = CUT_AXES; axes > 0 && !planned; axes--)
			found = fastest(out, g, c, ranks, axes, (int)parts, &planned);
		tried++;
	}
	return found;
}
