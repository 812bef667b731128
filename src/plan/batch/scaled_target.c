/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An affine transform becomes a node that also normalises inputs (op/normalize_input.c). It has
 * constants for each channel, and rounds the difference before scaling it. */
#include "plan/batch/scaled_target.h"

#include "base/buf.h"
#include "base/err.h"
#include "data/target_transforms.h"
#include "op/lib/emit.h"
#include "op/normalize_input.h"

#define LISTED 8                 /* channels in a description */

static struct graph_context enter(struct graph *g, const struct plan_request *r, const char *name)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	g->cur_name = name;
	g->cur_phase = PHASE_FORWARD;
	g->cur_loc = *config_place(r->config, "data", "target_transforms");
	return saved;
}

/* The channel of the steps for channel c: where nothing but one channel is known, it is the same
 * for all. */
static int64_t channel(const struct target_scaling *s, int64_t c)
{
	return s->channels == 1 ? 0 : c;
}

/* y = (x - centre) * scale in n steps; the table has the rows of one step after another's. */
static int emit_table(struct graph *g, tid x, int n, const float *table, tid *y)
{
	return emit_normalize_input(g, x, -1, n, table, y);
}

static float *new_table(struct graph *g, int n, int64_t channels)
{
	float *t = ARENA_ARRAY(g->arena, float, n * INPUT_ROWS * channels);
	for (int k = 0; k < n; k++)
		for (int64_t c = 0; c < channels; c++)
			t[(k * INPUT_ROWS + INPUT_SCALE) * channels + c] = 1;
	return t;
}

static int emit_affine(struct graph *g, const struct target_scaling *s,
                       const struct target_step *at, tid x, tid *y)
{
	const int64_t n = graph_t(g, x)->shape.d[1];
	float *t = new_table(g, 1, n);
	for (int64_t c = 0; c < n; c++) {
		t[INPUT_CENTRE * n + c] = at->centre[channel(s, c)];
		t[INPUT_SCALE * n + c] = at->scale[channel(s, c)];
	}
	return emit_table(g, x, 1, t, y);
}

/* First (x - 0) * factor, then (x - -shift) * 1. */
static int undo_affine(struct graph *g, const struct target_scaling *s,
                       const struct target_step *at, tid x, tid *y)
{
	const int64_t n = graph_t(g, x)->shape.d[1];
	float *t = new_table(g, 2, n);
	for (int64_t c = 0; c < n; c++) {
		float factor, shift;
		target_step_inverse(at, channel(s, c), &factor, &shift);
		t[INPUT_SCALE * n + c] = factor;
		t[(INPUT_ROWS + INPUT_CENTRE) * n + c] = -shift;
	}
	return emit_table(g, x, 2, t, y);
}

/* x in the channels that are chosen (or not, if `chosen` is false), and 0 in the others. */
static int emit_part(struct graph *g, const struct target_scaling *s, const bool *channels,
                     bool chosen, tid x, tid *y)
{
	const int64_t n = graph_t(g, x)->shape.d[1];
	float *t = new_table(g, 1, n);
	for (int64_t c = 0; c < n; c++)
		t[INPUT_SCALE * n + c] = channels[channel(s, c)] == chosen;
	return emit_table(g, x, 1, t, y);
}

/* The function (f(0) = 0) in some channels, or in all. */
static int emit_function(struct graph *g, const char *op, const struct target_scaling *s,
                         const bool *channels, tid x, tid *y)
{
	bool all = true;
	tid part[2];
	for (int64_t c = 0; c < s->channels; c++)
		all = all && channels[c];
	if (all)
		return emit_unary(g, op, x, y);
	TRY(emit_part(g, s, channels, true, x, &part[0]));
	TRY(emit_unary(g, op, part[0], &part[0]));
	TRY(emit_part(g, s, channels, false, x, &part[1]));
	return graph_emit1(g, "add", NULL, 2, part, y);
}

static int emit_step(struct graph *g, const struct target_scaling *s, const struct target_step *at,
                     tid x, tid *y)
{
	return at->log1p ? emit_function(g, "log1p", s, at->log1p, x, y) : emit_affine(g, s, at, x, y);
}

static int undo_step(struct graph *g, const struct target_scaling *s, const struct target_step *at,
                     tid x, tid *y)
{
	return at->log1p ? emit_function(g, "expm1", s, at->log1p, x, y) : undo_affine(g, s, at, x, y);
}

/* The loss says what does not fit. */
static bool fits(const struct target_scaling *s, const struct shape *x)
{
	return x->nd > 1 && (s->channels == 1 || s->channels == x->d[1]);
}

int scaled_target_emit(struct graph *g, const struct plan_request *r, tid target, tid *out)
{
	const struct target_scaling *s = r->data->scaling;
	int rc = 0;
	*out = target;
	if (!s || !fits(s, &graph_t(g, target)->shape))
		return 0;
	struct graph_context saved = enter(g, r, "target");
	for (int i = 0; i < s->n && rc == 0; i++)
		rc = emit_step(g, s, &s->step[i], *out, out);
	graph_leave(g, saved);
	return rc;
}

int scaled_target_undo(struct graph *g, const struct plan_request *r, tid output, tid *out)
{
	const struct target_scaling *s = r->data->scaling;
	char text[SHAPE_TEXT];
	int rc = 0;
	*out = output;
	if (!s)
		return 0;
	if (!fits(s, &graph_t(g, output)->shape))
		return ERR(E_SHAPE, config_place(r->config, "data", "target_transforms"),
		           "the target has %lld channels, but the network's output is %s",
		           (long long)s->channels, shape_text(&graph_t(g, output)->shape, text));
	struct graph_context saved = enter(g, r, "output");
	for (int i = s->n - 1; i >= 0 && rc == 0; i--)
		rc = undo_step(g, s, &s->step[i], *out, out);
	graph_leave(g, saved);
	return rc;
}

/* --- in a session --- */

int scaled_target_settle(struct session *s)
{
	const struct target_source from = { s->train_set, s->data.classes,
		!s->train_set && !s->validation_set };
	TRY(target_scaling_new(&s->data.scaling, s->config->arena, s->config->data.target_transforms,
	                       &from));
	if (s->data.scaling && s->train_set)
		TRY(target_scaling_fit(s->data.scaling, s->train_set));
	if (s->data.scaling && s->validation_set)
		TRY(target_scaling_fit(s->data.scaling, s->validation_set));
	return 0;
}

void scaled_target_describe(const struct session *s, struct buf *out)
{
	const struct target_scaling *t = s->data.scaling;
	if (!t || !s->train_set)
		return;
	buf_puts(out, "target        the loss sees ");
	for (int64_t c = 0; c < t->channels && c < LISTED; c++) {
		buf_puts(out, c ? ", " : "");
		if (*t->names[c])
			buf_printf(out, "'%s' as ", t->names[c]);
		else if (t->channels > 1)
			buf_printf(out, "channel %lld as ", (long long)c);
		target_scaling_text(t, c, out);
	}
	if (t->channels > LISTED)
		buf_printf(out, " and %lld more", (long long)(t->channels - LISTED));
	buf_puts(out, ";\n              metrics and predictions have the target's own units\n");
}

void scaled_target_json(const struct session *s, struct buf *out)
{
	const struct target_scaling *t = s->data.scaling;
	if (!t || !s->train_set)
		return;
	buf_puts(out, " \"target\": [");
	for (int64_t c = 0; c < t->channels; c++) {
		struct buf text = BUF_INIT;
		target_scaling_text(t, c, &text);
		buf_puts(out, c ? ", {\"channel\": " : "{\"channel\": ");
		buf_json_string(out, t->names[c]);
		buf_puts(out, ", \"loss_sees\": ");
		buf_json_string(out, text.data);
		buf_putc(out, '}');
		buf_release(&text);
	}
	buf_puts(out, "],\n");
}
