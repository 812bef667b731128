/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loss scaling as nodes of the graph: one node gives the scale before backward. After backward, a
 * maximum for each bundle of gradients shows whether one has overflowed, which changes the scale
 * and decides whether the updates are applied. */
#include <string.h>

#include "base/err.h"
#include "op/update/loss_scale.h"
#include "optim/optim.h"

struct fixed {
	double scale;
};
struct changing {
	double start, least, most, factor, log_max;
	int64_t every;
};

#define BOUNDS                                                                                 \
	FIELD_FLOAT(struct changing, least, "1", 1e-30, 1e30, "smallest scale"),                   \
	FIELD_FLOAT(struct changing, most, "16777216", 1e-30, 1e30, "largest scale")
static const struct field none_fields[] = { FIELD_END };
static const struct field fixed_fields[] = {
	FIELD_FLOAT(struct fixed, scale, "65536", 1e-30, 1e30, "factor on the loss"),
	FIELD_END
};
static const struct field dynamic_fields[] = {
	FIELD_FLOAT(struct changing, start, "65536", 1e-30, 1e30, "scale of the first step"),
	FIELD_FLOAT(struct changing, factor, "2", 1, 1e6,
	            "an overflow divides the scale by it, clean steps multiply it"),
	FIELD_INT(struct changing, every, "2000", 1, 1e9, "clean steps in a row before it grows"),
	BOUNDS, FIELD_END
};
static const struct field logmax_fields[] = {
	FIELD_FLOAT(struct changing, start, "1", 1e-30, 1e30, "scale of the first step"),
	FIELD_FLOAT(struct changing, log_max, "16", -100, 100,
	            "log2 of the bound below which the largest gradient is to stay"),
	BOUNDS, FIELD_END
};

const struct variant loss_scale_variants[] = {
	{ .name = "none", .doc = "gradients as they are", .fields = none_fields, .size = 1 },
	{ .name = "static", .doc = "one scale throughout", .fields = fixed_fields,
	  .size = sizeof(struct fixed) },
	{ .name = "dynamic",
	  .doc = "a scale that is as large as possible without overflow", .fields = dynamic_fields,
	  .size = sizeof(struct changing) },
	{ .name = "logmax", .doc = "from the distribution of the largest gradients (OpenSeq2Seq)",
	  .fields = logmax_fields, .size = sizeof(struct changing) },
	{ NULL }
};

static struct loss_scale_update_attr attr_of(const struct variant_value *v)
{
	const struct fixed *f = v->data;
	const struct changing *c = v->data;
	struct loss_scale_update_attr at = { .mode = LOSS_SCALE_FIXED, .factor = 2, .every = 1 };
	if (v->v->fields == fixed_fields) {
		at.start = at.least = at.most = f->scale;
		return at;
	}
	at = (struct loss_scale_update_attr){ LOSS_SCALE_DYNAMIC, c->start, c->least, c->most,
		c->factor, 16, c->every };
	if (v->v->fields == logmax_fields) {
		at.mode = LOSS_SCALE_LOGMAX;
		at.log_max = c->log_max;
		at.factor = 2;
		at.every = 1;
	}
	return at;
}

bool loss_scaling_wanted(const struct variant_value *v)
{
	return v->v && v->v->fields != none_fields;
}

int loss_scaling_check(const struct variant_value *v)
{
	const struct changing *c = v->data;
	if (!loss_scaling_wanted(v) || v->v->fields == fixed_fields)
		return 0;
	if (c->least > c->start || c->start > c->most)
		return ERR(E_CONFIG, &v->loc, "the scale must start between 'least' and 'most'");
	return 0;
}

int loss_scaling_emit(struct graph *g, const struct variant_value *v, tid step,
                      struct loss_scaling *out)
{
	const struct shape s = { 1, { LOSS_SCALE_STATE } };
	struct loss_scale_attr at = { attr_of(v).start };
	tid o[3];
	TRY(graph_state(g, LOSS_SCALE_NAME, DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 },
	                &out->state));
	TRY(graph_emit(g, "loss_scale", &at, 2, (tid[]){ out->state, step }, 3, o));
	out->scale = o[0];
	out->inverse = o[1];
	out->step = o[2];
	return 0;
}

int loss_scaling_update(struct graph *g, const struct variant_value *v, const struct bundles *b,
                        const struct loss_scaling *s, tid *apply)
{
	struct loss_scale_update_attr at = attr_of(v);
	tid *in = ARENA_ARRAY(g->arena, tid, b->n + 1), out[2];
	*apply = NONE;
	if (b->n == 0)                 /* all is frozen */
		return 0;
	in[0] = s->state;
	for (int k = 0; k < b->n; k++)
		TRY(graph_emit1(g, "max_abs", NULL, b->first[k + 1] - b->first[k], b->grad + b->first[k],
		                &in[k + 1]));
	TRY(graph_emit(g, "loss_scale_update", &at, b->n + 1, in, 2, out));
	*apply = out[1];
	return 0;
}
