/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps are planned by the transforms of inputs, for which the target is in the place of
 * the input: so options, statistics and mistakes are the same. */
#include "data/target_transforms.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "data/transform_step.h"

#define ROW(name_, fields_, doc_)                                                 \
	{                                                                             \
		.name = #name_, .doc = doc_, .fields = fields_,                           \
		.size = sizeof(struct name_##_options),                                   \
		.own = &(const struct transform_op){ .plan = name_##_plan },              \
	}

const struct variant data_target_transforms[] = {
	ROW(cast, transform_cast_fields, "every channel divided by one number"),
	ROW(normalize, target_normalize_fields,
	    "every channel to mean 0 and deviation 1, or to the range 0 to 1"),
	ROW(log1p, target_log1p_fields, "log(1 + x), for quantities of many magnitudes such as rain"),
	{ 0 },
};

static int not_a_list(const struct ynode *list)
{
	return ERR(E_CONFIG, &list->loc, "'target_transforms' must be a list, as in "
	           "[log1p, {normalize: standard}]");
}

static bool is_given(const struct ynode *list)
{
	return list && list->kind != Y_NULL;
}

static int read_entry(struct arena *a, const struct ynode *entry, struct variant_value *v)
{
	return schema_read_tagged(a, entry, data_target_transforms, "target transform", NULL, v);
}

int target_transforms_check(struct arena *a, const struct ynode *list, int *n)
{
	struct variant_value v;
	int rc = 0;
	*n = 0;
	if (!is_given(list))
		return 0;
	if (list->kind != Y_SEQ)
		return not_a_list(list);
	*n = list->n;
	for (int i = 0; i < list->n; i++) {
		const int one = read_entry(a, list->item[i], &v);

		rc = rc < 0 ? rc : one;
	}
	return rc;
}

/* --- planning --- */

static struct channel_stats start_stats(const struct target_source *from,
                                        const struct record_array *t, int64_t c)
{
	if (t && t->nstats > 0)
		return t->stats[c];
	return (struct channel_stats){ from->imagined ? 0 : 1, NAN, NAN, NAN, NAN };
}

/* info: made to describe the target as if it were the input. */
static void start_chain(struct chain_state *p, struct arena *a, const struct target_source *from,
                        struct dataset_info *info)
{
	const struct record_array *t = from->set ? dataset_target(from->set) : NULL;
	const int64_t n = !t ? from->channels : t->shape.nd ? t->shape.d[0] : 1;
	*info = (struct dataset_info){ .input_dtype = t ? t->dtype : DTYPE_F32,
	                              .input_channels = t ? t->channels : NULL, .mask = -1 };
	*p = (struct chain_state){ .a = a, .info = info, .stored = info->input_dtype, .mask = -1,
	                          .of_target = true };
	p->g.c = n;
	p->stats = ARENA_ARRAY(a, struct channel_stats, n + 1);
	p->lost_after = ARENA_ARRAY(a, const char *, n + 1);
	p->channel_names = ARENA_ARRAY(a, const char *, n + 1);
	for (int64_t c = 0; c < n; c++) {
		p->stats[c] = start_stats(from, t, c);
		p->channel_names[c] = info->input_channels ? arena_strdup(a, t->channels[c]) : "";
	}
}

/* Checks that the constants and those of the inverse are finite in float32. */
static int check_numbers(const struct chain_state *p, const struct step *s)
{
	for (int64_t c = 0; c < p->g.c; c++) {
		const double width = 1 / (double)s->scale[c];

		if (!isfinite(s->centre[c]) || !isfinite((float)width) || !isfinite(s->scale[c]))
			return ERR(E_CONFIG, &s->loc, "targets of channel %lld '%s' cannot be scaled in 32 "
			           "bits", (long long)c, p->channel_names[c]);
	}
	return 0;
}

static int plan_step(struct chain_state *p, const struct ynode *entry, struct target_step *out)
{
	const struct transform_op *op;
	struct variant_value v;
	struct step s;
	TRY(read_entry(p->a, entry, &v));
	op = v.v->own;
	s = (struct step){ .op = op, .loc = v.loc, .options = v.data, .mask = -1, .before = p->g };
	TRYC(op->plan(p, &s), "in target transform '%s'", v.v->name);
	TRYC(check_numbers(p, &s), "in target transform '%s'", v.v->name);
	*out = (struct target_step){ .centre = s.centre, .scale = s.scale,
	                            .log1p = op->plan == log1p_plan ? s.active : NULL };
	return 0;
}

int target_scaling_new(const struct target_scaling **out, struct arena *a,
                       const struct ynode *list, const struct target_source *from)
{
	struct target_scaling *s = ARENA_NEW(a, struct target_scaling);
	struct target_step *step;
	struct dataset_info info;
	struct chain_state p;
	int rc = 0;
	*out = NULL;
	if (!is_given(list) || list->n == 0)
		return 0;
	start_chain(&p, a, from, &info);
	step = ARENA_ARRAY(a, struct target_step, list->n);
	for (int i = 0; i < list->n; i++) {
		const int one = plan_step(&p, list->item[i], &step[i]);

		rc = rc < 0 ? rc : one;
	}
	TRY(rc);
	*s = (struct target_scaling){ p.g.c, list->n, step, p.channel_names };
	*out = s;
	return 0;
}

/* --- whether a set fits --- */

/* The smallest value of channel c, as far as it is known; that of an integer type without a sign
 * is 0. */
static double least(const struct record_array *t, int64_t c)
{
	if (t->nstats > 0)
		return t->stats[c].count > 0 ? t->stats[c].min : 0;
	return t->dtype == DTYPE_U8 || t->dtype == DTYPE_U16 ? 0 : -INFINITY;
}

static int fit_channel(const struct target_scaling *s, const struct dataset *d, int64_t c)
{
	double v = least(dataset_target(d), c);
	int64_t within;
	for (int i = 0; i < s->n; i++) {
		const struct target_step *at = &s->step[i];

		if (!at->log1p)
			v = (v - (double)at->centre[c]) * (double)at->scale[c];
		else if (at->log1p[c] && !(v > -1))
			return ERR(E_DATA, NULL, "'%s': log1p needs targets above -1; channel %lld '%s' %s",
			           dataset_locate(d, 0, &within), (long long)c, s->names[c],
			           isinf(v) ? "is of integers, of whose range nothing is known"
			                    : "goes further down");
		else if (at->log1p[c])
			v = log1p(v);
	}
	return 0;
}

int target_scaling_fit(const struct target_scaling *s, const struct dataset *d)
{
	const struct record_array *t = dataset_target(d);
	const int64_t n = t->shape.nd ? t->shape.d[0] : 1;
	for (int64_t c = 0; s && dataset_info(d)->has_target && c < s->channels && c < n; c++)
		TRY(fit_channel(s, d, c));
	return 0;
}

/* --- what undoes it --- */

void target_step_inverse(const struct target_step *s, int64_t c, float *factor, float *shift)
{
	*factor = (float)(1 / (double)s->scale[c]);
	*shift = s->centre[c];
}

static void put_affine(const struct target_scaling *s, const struct target_step *at,
                       struct buf *out)
{
	for (int k = 0; k < 2; k++) {
		buf_puts(out, k ? "], \"add\": [" : "{\"multiply\": [");
		for (int64_t c = 0; c < s->channels; c++) {
			float v[2];

			target_step_inverse(at, c, &v[0], &v[1]);
			buf_printf(out, "%s%.9g", c ? ", " : "", (double)v[k]);
		}
	}
	buf_puts(out, "]}");
}

static void put_function(const struct target_scaling *s, const struct target_step *at,
                         struct buf *out)
{
	bool any = false;
	buf_puts(out, "{\"function\": \"expm1\", \"channels\": [");
	for (int64_t c = 0; c < s->channels; c++)
		if (at->log1p[c]) {
			buf_printf(out, "%s%lld", any ? ", " : "", (long long)c);
			any = true;
		}
	buf_puts(out, "]}");
}

void target_scaling_inverse_json(const struct target_scaling *s, struct buf *out)
{
	buf_putc(out, '[');
	for (int i = s->n - 1; i >= 0; i--) {
		if (s->step[i].log1p)
			put_function(s, &s->step[i], out);
		else
			put_affine(s, &s->step[i], out);
		buf_puts(out, i ? ", " : "");
	}
	buf_putc(out, ']');
}

/* --- in words --- */

/* Appends one step to a formula; x is the formula so far. */
static void put_step(const struct target_step *s, int64_t c, struct buf *x)
{
	struct buf y = BUF_INIT;
	float width, centre;
	if (s->log1p && s->log1p[c])
		buf_printf(&y, "log1p(%s)", x->data);
	if (!s->log1p) {
		target_step_inverse(s, c, &width, &centre);
		if (centre != 0)
			buf_printf(&y, "(%s %c %g)", x->data, centre < 0 ? '+' : '-', fabs((double)centre));
		else
			buf_puts(&y, x->data);
		if (width != 1)
			buf_printf(&y, " / %g", (double)width);
	}
	if (y.len) {
		buf_clear(x);
		buf_puts(x, y.data);
	}
	buf_release(&y);
}

void target_scaling_text(const struct target_scaling *s, int64_t c, struct buf *out)
{
	struct buf x = BUF_INIT;
	buf_putc(&x, 'x');
	for (int i = 0; i < s->n; i++)
		put_step(&s->step[i], c, &x);
	buf_puts(out, x.data);
	buf_release(&x);
}
