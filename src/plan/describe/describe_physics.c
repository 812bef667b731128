/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/describe/describe_parts.h"

#include <inttypes.h>

#include "graph/cost.h"
#include "plan/physics/physics.h"
#include "plan/program.h"
#include "plan/describe/sizes.h"

static void put_network(const struct network *n, bool first, struct buf *out)
{
	buf_printf(out, "%s%s(", first ? "networks      " : "              ", n->name);
	for (int i = 0; i < n->c.inputs.n; i++)
		buf_printf(out, "%s%s", i ? ", " : "", n->c.inputs.v[i]);
	buf_puts(out, "): ");
	if (n->owner != n)
		buf_printf(out, "with the parameters of %s, ", n->owner->name);
	if (n->layered) {
		char in[SHAPE_TEXT], to[SHAPE_TEXT];
		buf_printf(out, "%d layers, %s to %s%s%s\n", n->list.n, shape_text(&n->in, in),
		           shape_text(&n->out, to), n->output ? ", in an expression" : "",
		           n->frozen ? ", not trained" : "");
		return;
	}
	for (int i = 0; i < n->c.dense.n; i++)
		buf_printf(out, "%" PRId64 " ", n->c.dense.v[i]);
	buf_printf(out, "%s, %" PRId64 " output%s%s%s\n", network_activation(n), n->c.outputs,
	           n->c.outputs == 1 ? "" : "s", n->nfeature || n->c.fourier.features ?
	           ", of features" : "", n->output ? ", in an expression" : "");
}

static void put_variable(const struct variable *v, bool first, struct buf *out)
{
	buf_printf(out, "%s%s: from %g", first ? "variables     " : "              ", v->name,
	           v->start);
	if (v->bounded)
		buf_printf(out, ", between %g and %g", v->low, v->high);
	buf_puts(out, v->positive ? ", positive\n" : "\n");
}

static void put_set(const struct point_set *p, bool first, struct buf *out)
{
	static const char *const draws[] = { "uniform", "sobol", "latin_hypercube", "grid" };
	buf_printf(out, "%s%s: ", first ? "points        " : "              ", p->name);
	if (p->realizations)
		buf_printf(out, "%" PRId64 " realizations of ", p->realizations);
	buf_printf(out, "%" PRId64 " %s", p->count, p->whole ? "samples" : "points in ");
	for (int k = 0; k < p->naxes; k++)
		buf_printf(out, "%s%s", k ? ", " : "", p->axis[k]);
	buf_printf(out, ", %s", p->record ? p->record : draws[p->draw]);
	if (p->every)
		buf_printf(out, ", drawn again every %" PRId64 " steps", p->every);
	if (p->by)
		buf_printf(out, ", picked from %" PRId64 " by %s", p->of, p->by);
	buf_putc(out, '\n');
}

static void put_objective(const struct session *s, int k, struct buf *out)
{
	const struct objective *o = &s->config->objectives.v[k];
	char flops[32];
	buf_printf(out, "%s%s: ", k ? "              " : "objectives    ", o->name);
	for (int i = 0; i < o->nterm; i++)
		buf_printf(out, "%s%s%s", i ? " + " : "", o->term[i].name,
		           o->term[i].balanced ? " (balanced)" : "");
	if (o->lbfgs || o->steps || o->continues)
		buf_printf(out, ", %s", o->lbfgs ? "lbfgs" : o->optimizer->v->name);
	if (o->steps)
		buf_printf(out, " for %" PRId64 " steps", o->steps);
	else if (s->config->objectives.n > 1)
		buf_printf(out, ", %" PRId64 " step%s in a round", o->times, o->times == 1 ? "" : "s");
	for (int i = 0; i < s->nprogram; i++) {
		const struct program *p = &s->program[i];
		if (p->mode != PLAN_TRAIN || p->objective != k || !p->plan)
			continue;
		if (p->plan->derivatives)
			buf_printf(out, "; derivatives %s", p->plan->derivatives);
		buf_printf(out, "; %d nodes, %s a step", p->plan->g->nnode,
		           flops_text(graph_cost(p->plan->g, ~0u).flops, flops));
	}
	buf_putc(out, '\n');
}

void describe_physics(const struct session *s, struct buf *out)
{
	const struct physics *p = s->config->physics;
	bool first = true;
	for (int i = 0; i < p->net.n; i++)
		put_network(&p->net.v[i], i == 0, out);
	for (int i = 0; i < p->net.nnoise; i++)
		buf_printf(out, "%s%s: %" PRId64 " %s number%s\n", i ? "              " :
		           "noise         ", p->net.noise[i].name, p->net.noise[i].components,
		           p->net.noise[i].law ? "uniform" : "normal",
		           p->net.noise[i].components == 1 ? "" : "s");
	for (int i = 0; i < p->nvariable; i++)
		put_variable(&p->variable[i], i == 0, out);
	for (int i = 0; i < p->points.n; i++)
		if (p->points.set[i].count) {
			put_set(&p->points.set[i], first, out);
			first = false;
		}
	for (int i = 0; i < s->config->objectives.n; i++)
		put_objective(s, i, out);
}
