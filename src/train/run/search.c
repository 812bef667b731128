/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/run/search.h"

#include "base/err.h"
#include "base/mem.h"
#include "optim/lbfgs.h"

struct search {
	const struct session *session;
	const struct plan *plan;
	struct lbfgs l;
	struct store_entry *state, **param;
	double *x, *gradient;
};

static void put(const struct search *s, const double *x)
{
	store_meet_update(s->session->store);
	for (int i = 0; i < s->plan->nparam; i++) {
		store_set(s->param[i], DTYPE_F64, x);
		x += shape_count(&s->param[i]->shape);
	}
	store_touch(s->state);
}

static void get(const struct search *s, double *x)
{
	for (int i = 0; i < s->plan->nparam; i++) {
		store_get(s->param[i], DTYPE_F64, x);
		x += shape_count(&s->param[i]->shape);
	}
}

static int new_search(struct search **out, const struct session *session, const struct plan *p,
                      const struct objective *o)
{
	const int64_t n = plan_parameters(p);
	char name[256];
	if (session->dev->driver)
		return ERR(E_UNSUPPORTED, config_place(session->config, "objective", NULL),
		           "'lbfgs' runs on a CPU");
	struct search *s = mem_calloc(1, sizeof *s);
	*out = s;
	*s = (struct search){ .session = session, .plan = p,
		.param = mem_calloc((size_t)p->nparam, sizeof *s->param),
		.x = mem_calloc((size_t)n, sizeof *s->x),
		.gradient = mem_calloc((size_t)n, sizeof *s->gradient) };
	snprintf(name, sizeof name, LBFGS_STATE ".%s", o->name);
	s->state = store_find(session->store, name);
	for (int i = 0; i < p->nparam; i++)
		s->param[i] = store_find(session->store, graph_t(p->g, p->param[i])->name);
	const bool wide = config_compute(session->config) == DTYPE_F64 ||
	                  session->dev->backend == BACKEND_REFERENCE;
	const struct lbfgs_options options = { .history = (int)o->lbfgs->history,
		.gradient = o->lbfgs->gradient, .change = o->lbfgs->change,
		.rounding = wide ? 1e-15 : 1e-6, .single = !wide };
	lbfgs_init(&s->l, n, &options, s->state->data);
	return 0;
}

int search_propose(struct search **out, const struct session *session, const struct plan *p,
                   const struct objective *o, int64_t own)
{
	if (!*out) {
		TRY(new_search(out, session, p, o));
		struct search *s = *out;
		if (own == 0) {
			get(s, s->x);
			store_meet_update(session->store);
			lbfgs_begin(&s->l, s->x);
		} else {
			TRYC(lbfgs_restored(&s->l), "in the checkpoint's state of L-BFGS");
		}
	}
	struct search *s = *out;
	lbfgs_propose(&s->l, s->x);
	put(s, s->x);
	return 0;
}

int search_report(struct search *s, const char **reason)
{
	const struct plan *p = s->plan;
	double terms[MEAN_TERMS], *g = s->gradient;
	TRY(exec_read(p->exec, plan_out(p, PLAN_STEP_MEAN), DTYPE_F64, terms));
	const double loss = p->mean.terms == NONE ? terms[0] : terms[MEAN_LOSS] / terms[MEAN_WEIGHT];
	for (int i = 0; i < p->nparam; i++) {
		TRY(exec_read(p->exec, p->grad[i], DTYPE_F64, g));
		g += shape_count(&graph_t(p->g, p->grad[i])->shape);
	}
	const enum lbfgs_next next = lbfgs_report(&s->l, loss, s->gradient);
	*reason = next > LBFGS_STEP ? s->l.reason : NULL;
	put(s, s->l.point);
	return 0;
}

void search_free(struct search *s)
{
	if (!s)
		return;
	mem_free(s->gradient);
	mem_free(s->x);
	mem_free(s->param);
	mem_free(s);
}
