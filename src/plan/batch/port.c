/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table of the numbers of a step that a graph may read. */
#include "plan/batch/port.h"

#include <string.h>

#include "base/err.h"
#include "op/lib/random.h"
#include "op/update/update.h"
#include "plan/plan.h"

static void put_rate(const struct plan_feeding *f, union port_values *out)
{
	out->f[0] = f->step->rate;
}

static void put_step(const struct plan_feeding *f, union port_values *out)
{
	out->i[0] = f->step->own;
}

static void put_micro(const struct plan_feeding *f, union port_values *out)
{
	out->i[0] = f->step->micro;
}

static void put_key(const struct plan_feeding *f, union port_values *out)
{
	out->i[0] = f->config->run.seed;
	out->i[1] = f->step->step;
	out->i[2] = f->step->first;
}

static void put_share(const struct plan_feeding *f, union port_values *out)
{
	out->f[0] = f->step->absent ? 0 : 1;
}

static void put_votes(const struct plan_feeding *f, union port_values *out)
{
	const struct plan_step *s = f->step;
	out->f[VOTE_STOP] = s->stop;
	out->f[VOTE_FIRST] = (s->save ? FIRST_SAVE : 0) + (s->report ? FIRST_REPORT : 0) +
	                     (s->save_local ? FIRST_SAVE_LOCAL : 0);
}

static void put_leaf(const struct plan_feeding *f, union port_values *out)
{
	const struct plan_step *s = f->step;
	out->i[SUM_INDEX] = s->micro;
	out->i[SUM_LAST] = s->micro + 1 == s->micros;
	out->i[SUM_ABSENT] = s->absent;
}

static void put_leaf_share(const struct plan_feeding *f, union port_values *out)
{
	out->f[0] = f->step->all_micros ? 1 / (double)f->step->all_micros : 1;
}

static void put_mixup(const struct plan_feeding *f, union port_values *out)
{
	out->f[0] = f->batch->share;
}

static const struct port numbers[] = {
	{ "learning_rate", NONE, put_rate, DTYPE_F64 }, { "step", NONE, put_step, DTYPE_I64 },
	{ "micro_batch", NONE, put_micro, DTYPE_I64 }, { RANDOM_KEY, NONE, put_key, DTYPE_I64 },
	{ "share", NONE, put_share, DTYPE_F64 }, { "wishes", NONE, put_votes, DTYPE_F64 },
	{ "leaf", NONE, put_leaf, DTYPE_I64 }, { "leaf_share", NONE, put_leaf_share, DTYPE_F64 },
	{ "mixup_share", NONE, put_mixup, DTYPE_F64 }
};

void ports_add(struct ports *p, const char *name, tid t)
{
	if (t == NONE)
		return;
	if (p->n == PORTS_MOST)
		BUG("more than %d ports", PORTS_MOST);
	p->port[p->n++] = (struct port){ .name = name, .t = t };
}

static const struct port *find(const struct port *port, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(port[i].name, name) == 0)
			return &port[i];
	return NULL;
}

void ports_set(struct ports *p, const char *name, tid t)
{
	int i = 0;
	while (strcmp(p->port[i].name, name) != 0)
		BUG_IF(++i == p->n, "no port '%s'", name);
	p->port[i].t = t;
}

tid ports_get(const struct ports *p, const char *name)
{
	const struct port *port = find(p->port, p->n, name);
	return port ? port->t : NONE;
}

void ports_of_inputs(struct ports *p, const struct graph *g)
{
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		if (x->role != ROLE_INPUT || x->alias != NONE)
			continue;
		ports_add(p, x->name, t);
		const struct port *number = find(numbers, (int)(sizeof numbers / sizeof *numbers), x->name);
		if (number) {
			p->port[p->n - 1].value = number->value;
			p->port[p->n - 1].type = number->type;
		}
	}
}
