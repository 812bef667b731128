/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's part of a step: writes the inputs of a plan and reads its results. */
#include <string.h>

#include "base/err.h"
#include "plan/compilation.h"

int64_t plan_parameters(const struct plan *p)
{
	int64_t n = 0;
	for (int i = 0; i < p->nparam; i++)
		n += shape_count(&graph_t(p->g, p->param[i])->shape);
	return n;
}

tid plan_in(const struct plan *p, const char *name)
{
	return ports_get(&p->in, name);
}

tid plan_out(const struct plan *p, const char *name)
{
	return ports_get(&p->out, name);
}

int plan_read_steps(struct plan *p, const struct device *dev)
{
	const tid guard = plan_out(p, PLAN_STEP_GUARD);
	tid *read = ARENA_ARRAY(p->g->arena, tid, p->out.n);
	if (guard != NONE)
		p->guarded = ARENA_ARRAY(p->g->arena, double, shape_count(&graph_t(p->g, guard)->shape));
	for (int i = 0; i < p->out.n; i++)
		read[i] = strncmp(p->out.port[i].name, "step/", 5) == 0 ? p->out.port[i].t : NONE;
	return readback_new(&p->readback, p->g, dev, read, p->out.n);
}

int plan_ask(const struct plan *p)
{
	return readback_request(p->readback, p->exec);
}

/* Copies the step's result so named, if the plan has it. */
static bool get(const struct plan *p, const char *name, double *out)
{
	for (int i = 0; i < p->out.n; i++)
		if (strcmp(p->out.port[i].name, name) == 0) {
			readback_get(p->readback, i, DTYPE_F64, out);
			return true;
		}
	return false;
}

static bool is_value(const char *name)
{
	static const char *const kinds[] = { PLAN_STEP_TERM, PLAN_STEP_WEIGHT, PLAN_STEP_VARIABLE };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

static void get_values(const struct plan *p, struct plan_result *r)
{
	for (int i = 0; i < p->out.n; i++) {
		const char *name = p->out.port[i].name;
		if (!is_value(name))
			continue;
		struct jsonl_value *v = &r->value[r->nvalue++];
		v->name = name + strlen("step/");
		readback_get(p->readback, i, DTYPE_F64, &v->v);
	}
}

int plan_result(const struct plan *p, struct plan_result *r)
{
	double terms[MEAN_TERMS];
	*r = (struct plan_result){ .weight = 1 };
	TRY(readback_wait(p->readback));
	get_values(p, r);
	get(p, PLAN_STEP_SCALING, r->scaling);
	if (p->guarded && get(p, PLAN_STEP_GUARD, p->guarded))
		memcpy(r->guard, p->guarded, sizeof r->guard);
	if (p->mean.terms == NONE) {
		get(p, PLAN_STEP_MEAN, &r->loss);
		return 0;
	}
	get(p, PLAN_STEP_MEAN, terms);
	r->weight = terms[MEAN_WEIGHT];
	r->stop = terms[MEAN_VOTE + VOTE_STOP] > 0;
	r->save = (int)terms[MEAN_VOTE + VOTE_FIRST] & FIRST_SAVE;
	r->save_local = (int)terms[MEAN_VOTE + VOTE_FIRST] & FIRST_SAVE_LOCAL;
	r->report = (int)terms[MEAN_VOTE + VOTE_FIRST] & FIRST_REPORT;
	r->loss = p->mean.sum ? terms[MEAN_LOSS] : r->weight != 0 ? terms[MEAN_LOSS] / r->weight : 0;
	return 0;
}

static bool travels(const struct plan *p, const struct port *port)
{
	return !port->value && graph_t(p->g, port->t)->prefetched;
}

int plan_prefetch(struct plan *p, const struct batch *b)
{
	p->prefetched = b;
	TRY(exec_prefetch_begin(p->exec));
	for (int i = 0; i < p->in.n; i++) {
		const struct port *port = &p->in.port[i];
		if (!travels(p, port))
			continue;
		const struct batch_array *a = batch_array(b, port->name);
		TRY(exec_prefetch(p->exec, port->t, &(struct host_values){ a->dtype, a->data, b->memory,
		                                                            b->memory_bytes }));
	}
	return 0;
}

/* A batch that was not ahead takes the same way, where some of it may travel ahead. */
static int send(struct plan *p, const struct batch *b)
{
	for (int i = 0; i < p->in.n; i++)
		if (travels(p, &p->in.port[i]))
			return plan_prefetch(p, b);
	return 0;
}

static int feed_port(struct plan *p, const struct port *port, const struct plan_feeding *f)
{
	union port_values number;
	if (!port->value) {
		const struct batch_array *a = batch_array(f->batch, port->name);
		return travels(p, port) ? exec_take(p->exec, port->t) :
		       exec_write(p->exec, port->t, a->dtype, a->data);
	}
	if (!f->step)
		return 0;
	port->value(f, &number);
	return exec_write(p->exec, port->t, port->type, &number);
}

int plan_feed(struct plan *p, const struct run_config *c, const struct batch *b,
              const struct plan_step *step)
{
	const struct plan_feeding f = { c, b, step };
	if (p->prefetched != b)
		TRY(send(p, b));
	p->prefetched = NULL;
	for (int i = 0; i < p->in.n; i++)
		TRY(feed_port(p, &p->in.port[i], &f));
	return 0;
}
