/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan of the forward pass without optimisations, of which every tensor can be read. */
#include <string.h>

#include "base/err.h"
#include "plan/compilation.h"

#define MOST 9

static int pass_keep(struct graph *g, struct pass_env *env)
{
	for (tid t = 0; t < g->ntensor; t++)
		graph_t(g, t)->output = graph_t(g, t)->role == ROLE_ACTIVATION;
	return 0;
}

/* Sums over ranks read the share of this rank's batch, an input that the seed of gradients
 * emits. */
static int pass_share(struct graph *g, struct pass_env *env)
{
	struct compilation *c = env->user;
	tid seed;
	return mean_emit_seed(g, &c->p->mean, c->loss.weight, NONE, &seed);
}

/* Those of the table of all passes, by name, and the two above. */
static int passes_of(struct pass table[MOST])
{
	static const char *const names[] = { "build", "commute", "partition", "statistics",
		"precision", "layout", "sched" };
	static const struct pass own[] = { { "keep", "", pass_keep, STAGE_BUILT },
		{ "share", "", pass_share, STAGE_BUILT } };
	int all, n = 0, i = 0;
	const struct pass *p = plan_passes(&all);
	for (int k = 0; k < all; k++) {
		if (i == sizeof names / sizeof *names || strcmp(p[k].name, names[i]) != 0)
			continue;
		if (i == 2 || i == 3)
			table[n++] = own[i - 2];
		table[n++] = p[k];
		i++;
	}
	return n;
}

int plan_plain(struct plan **out, const struct plan_request *r)
{
	const struct plan_env env = plan_env_of(r->config, r->wisdom);
	struct pass table[MOST];
	struct plan *p;
	TRY(plan_compile(&p, r, table, passes_of(table)));
	const int rc = exec_new(&p->exec, p->g, r->dev, &env);
	if (rc < 0)
		plan_free(p);
	else
		*out = p;
	return rc;
}
