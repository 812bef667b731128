/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The requirements of a network on a field are found by building its graph: at training size to get
 * the total stride, and at the padded size to check that it can be built with the same
 * parameters. */
#include "plan/extent/whole.h"

#include "base/err.h"
#include "data/record.h"

static int outline(const struct session *s, const struct shape *input,
                   const struct graph_whole *whole, struct plan **out)
{
	struct plan_data data = s->data;
	data.field = (struct plan_field){ .input = *input, .whole = whole };
	const struct plan_request r = { .config = s->config, .dev = s->dev, .data = &data,
		.objective = s->config->objectives.v,
		.mode = PLAN_PREDICT, .batch = 1,
		.limit = INT64_MIN };
	return plan_outline(out, &r);
}

int whole_shapes(const struct session *s, const struct shape *input, struct arena *a,
                 struct graph_whole *out)
{
	struct plan *p;
	TRY(outline(s, input, NULL, &p));
	const struct graph *g = p->g;
	struct shape *in = ARENA_ARRAY(a, struct shape, g->nnode),
	             *made = ARENA_ARRAY(a, struct shape, g->nnode);
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		in[i] = n->nin && n->in[0] != NONE ? *node_in_shape(g, n, 0) : (struct shape){ 0 };
		made[i] = *node_out_shape(g, n, 0);
	}
	*out = (struct graph_whole){ g->nnode, in, made };
	plan_free(p);
	return 0;
}

int whole_receptive_field(const struct session *s, const struct shape *input,
                          const struct graph_whole *whole, struct receptive_field *out)
{
	struct plan *p;
	TRY(outline(s, input, whole, &p));
	receptive_field_find(p->g, plan_in(p, "input"), plan_out(p, "output"), out);
	out->why = NULL;                 /* it is freed with the plan */
	plan_free(p);
	return 0;
}

/* A layer that sees all of its input has as many weights. */
static int compare_params(const struct graph *g, const struct graph *trained,
                          const struct shape *field)
{
	char have[SHAPE_TEXT], want[SHAPE_TEXT], size[SHAPE_TEXT];
	for (tid t = 0; t < trained->ntensor; t++) {
		const struct tensor *x = graph_t(trained, t);
		tid other = x->role == ROLE_PARAM ? graph_find(g, x->name) : NONE;
		if (other != NONE && !shape_equal(&x->shape, &graph_t(g, other)->shape))
			return ERR(E_SHAPE, &x->loc, "the network takes samples of one size alone: '%s' is %s "
			           "as trained, and would be %s for samples "
			           "of %s", x->name, shape_text(&x->shape, have),
			           shape_text(&graph_t(g, other)->shape, want), shape_text(field, size));
	}
	return 0;
}

static int check_network(const struct session *s, const struct plan_field *f)
{
	struct plan *trained, *whole;
	struct shape padded = field_padded(f);
	TRY(outline(s, &s->data.input, NULL, &trained));
	int rc = outline(s, &padded, NULL, &whole);
	if (rc == 0) {
		rc = compare_params(whole->g, trained->g, &padded);
		plan_free(whole);
	}
	plan_free(trained);
	return rc;
}

/* Whether the network makes a map as large as these samples without zeros at their end. */
static bool takes_as_they_are(const struct session *s, const struct shape *input)
{
	struct receptive_field r;
	int mark = err_count();
	bool takes = whole_receptive_field(s, input, NULL, &r) == 0;
	err_truncate(mark);
	for (int k = 0; takes && k < r.axes; k++)
		takes = r.axis[k].extent == input->d[k + 1];
	return takes;
}

/* A network that takes means over all places would count the zeros: it gets none if it can do
 * without. */
int whole_pad(const struct session *s, struct plan_field *f)
{
	struct receptive_field r;
	TRY(whole_receptive_field(s, &s->data.input, NULL, &r));
	if (r.axis[0].extent > 0 && (r.finite || !takes_as_they_are(s, &f->input)))
		field_pad_to(f, r.stride);
	return 0;
}

bool whole_differs(const struct session *s)
{
	return s->data.field.input.nd > 0;
}

int whole_field(const struct session *s, const struct shape *input, const struct shape *target,
                struct plan_field *f)
{
	*f = (struct plan_field){ 0 };
	if (shape_equal(input, &s->data.input))
		return 0;
	f->input = *input;
	f->target = *target;
	return whole_pad(s, f);
}

static int settle(const struct session *s, const struct loader *l, struct plan_field *f)
{
	char text[SHAPE_TEXT];
	TRY(whole_field(s, loader_input_shape(l), loader_target_shape(l), f));
	if (f->input.nd == 0)
		return 0;
	TRYC(check_network(s, f), "for whole samples of %s; '- crop: {size: ..., validation: centre}' "
	     "validates and predicts windows", shape_text(&f->input, text));
	return 0;
}

/* --- training --- */

#define CROP "'- crop: {size: ...}' takes windows of one size"
#define MOST_MULTIPLE 1024

/* Makes the extents of places multiples of m, in a target that is a map too. */
static void round_up_places(struct plan_data *d, enum dtype target, int64_t m)
{
	const bool map = record_target_is_map(&d->input, &d->target, target);
	const int places = d->input.nd - 1, first = d->target.nd - places;
	for (int k = 0; k < places; k++) {
		d->input.d[1 + k] = (d->input.d[1 + k] + m - 1) / m * m;
		if (map)
			d->target.d[first + k] = d->input.d[1 + k];
	}
}

static int check_size(const struct session *s, int k, int64_t multiple)
{
	struct plan_data data = session_train_data(s, k);
	struct plan_request r = session_request(s, PLAN_TRAIN, s->config->train.batch_size);
	round_up_places(&data, dataset_info(s->train_set)->target_dtype, multiple);
	r.data = &data;
	return plan_check(&r);
}

/* The smallest power of two that the extents can be multiples of; 0: none helps. */
static int64_t find_multiple(const struct session *s)
{
	int mark = err_count();
	for (int64_t m = 2; m <= MOST_MULTIPLE; m *= 2) {
		bool all = true;
		for (int k = 0; k <= s->ntrain_size && all; k++)
			all = check_size(s, k, m) == 0;
		err_truncate(mark);
		if (all)
			return m;
	}
	return 0;
}

static int explain_size(const struct session *s, int k, int rc)
{
	char text[SHAPE_TEXT];
	int64_t m = find_multiple(s);
	err_context(rc, "for training samples of %s, which are of several sizes",
	            shape_text(loader_size(s->train, k).input, text));
	if (m)
		return err_context(rc, "extents that are multiples of %lld fit: '- pad: %lld' makes them "
		                   "so, or " CROP, (long long)m, (long long)m);
	return err_context(rc, CROP);
}

int whole_check_training(const struct session *s)
{
	for (int k = 0; k <= s->ntrain_size && s->ntrain_size; k++) {
		int rc = check_size(s, k, 1);
		if (rc < 0)
			return explain_size(s, k, rc);
	}
	for (int k = 1; k <= s->ntrain_size; k++)
		TRYC(check_network(s, &(struct plan_field){ .input = *loader_size(s->train, k).input }),
		     CROP);
	return 0;
}

/* --- evaluation --- */

int whole_settle(struct session *s)
{
	if (!s->validation || !s->data.input.nd)
		return 0;
	TRY(settle(s, s->validation, &s->data.field));
	for (int i = 0; i < s->nsize; i++)
		TRY(settle(s, s->size[i].loader, &s->size[i].field));
	return 0;
}
