/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Named networks that are made of layers. The properties that expressions need, shapes and whether
 * the network can be differentiated, are found from a temporary graph. */
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "model/networks.h"
#include "op/lib/emit.h"

int network_read_layers(struct arena *a, struct network *n)
{
	const struct layers of = { .layers = n->c.layers, .blocks = n->c.blocks };
	TRY(layer_list_read(a, &of, &n->loc, &n->list));
	for (int i = 0; i < n->list.n; i++)
		n->list.layer[i].path = arena_printf(a, "%s.%s", n->name, n->list.layer[i].path);
	return 0;
}

static struct shape with_rows(int64_t rows, const struct shape *sample)
{
	struct shape s = { sample->nd + 1, { rows } };
	memcpy(s.d + 1, sample->d, (size_t)sample->nd * sizeof *s.d);
	return s;
}

/* To samples of a shape, whatever that is. */
static int emit_samples(struct graph *g, struct arena *a, const struct network *n, bool training,
                        int place, tid x, tid *out)
{
	struct model_build b = { .g = g, .arena = a, .training = training && !n->frozen,
		.loc = n->loc, .place = place };
	const struct shape in = with_rows(graph_t(g, x)->shape.d[0], &n->in);
	TRY(emit_reshape(g, x, &in, &b.input));
	return layer_list_build(&b, &n->list, out);
}

int network_emit_layers(struct graph *g, struct arena *a, const struct network *n, bool training,
                        int place, tid x, tid *out)
{
	const struct shape flat = { 2, { graph_t(g, x)->shape.d[0], n->c.outputs } };
	TRY(emit_samples(g, a, n, training, place, x, out));
	return emit_reshape(g, *out, &flat, out);
}

/* --- shapes --- */

/* The places of samples, the same for all inputs that have some; *out without axes: none do. */
static int find_places(const struct network *n, const struct shape *given, struct shape *out)
{
	char one[SHAPE_TEXT], other[SHAPE_TEXT];
	*out = (struct shape){ 0 };
	for (int i = 0; i < n->c.inputs.n; i++) {
		struct shape places = { given[i].nd > 0 ? given[i].nd - 1 : 0, { 0 } };
		memcpy(places.d, given[i].d + 1, (size_t)places.nd * sizeof *places.d);
		if (i > 0 && !shape_equal(out, &places))
			return ERR(E_CONFIG, &n->loc, "inputs '%s' and '%s' of network '%s' are samples of %s "
			           "and of %s, which are not of the same places; say 'shape'",
			           n->c.inputs.v[0], n->c.inputs.v[i], n->name, shape_text(&given[0], one),
			           shape_text(&given[i], other));
		*out = places;
	}
	return 0;
}

/* An input that is in no set, which expressions may give, or a slip. */
static int not_known(const struct expr_scope *s, const struct network *n, const struct shape *given)
{
	const char *name = NULL, *arrays = "";
	const struct loc *at = &n->loc;
	struct suggest near = { 0 };
	for (int i = 0; i < n->c.inputs.n && !name; i++)
		if (given[i].nd == 0) {
			name = n->c.inputs.v[i];
			at = &n->c.inputs.loc[i];
		}
	near.word = name;
	for (int i = 0; i < s->nname; i++) {
		if (s->name[i].what == EXPR_ARRAY)
			arrays = arena_printf(s->arena, "%s%s%s", arrays, *arrays ? ", " : "", s->name[i].name);
		if (name)
			suggest_offer(&near, s->name[i].name);
	}
	if (!name)
		return ERR(E_CONFIG, &n->loc, "nothing says how large the inputs of network '%s' are; say "
		           "'shape', as [1, 28, 28]", n->name);
	if (near.best)
		return ERR(E_CONFIG, at, "input '%s' of network '%s' is nothing here; did you mean "
		           "'%s'?", name, n->name, near.best);
	return ERR(E_CONFIG, at, "input '%s' of network '%s' is nothing here%s%s; where "
	           "expressions give it, '%s(...)', say 'shape', as [1, 28, 28]", name, n->name,
	           *arrays ? "; the sets have " : "", arrays, n->name);
}

static int find_input(const struct expr_scope *s, struct network *n, const struct shape *given)
{
	char text[SHAPE_TEXT];
	struct shape places;
	if (n->c.shape.n > MAXD - 1)
		return ERR(E_CONFIG, &n->loc, "'shape' of network '%s' has %d axes; expected at most %d",
		           n->name, n->c.shape.n, MAXD - 1);
	if (n->c.shape.n) {
		n->in = shape_of(n->c.shape.n, n->c.shape.v);
		if (n->width && n->width != shape_count(&n->in))
			return ERR(E_CONFIG, &n->loc, "'shape' of network '%s' says %s, which is %lld values, "
			           "and its inputs have %d", n->name, shape_text(&n->in, text),
			           (long long)shape_count(&n->in), n->width);
		n->width = (int)shape_count(&n->in);
		return 0;
	}
	if (n->width == 0)
		return not_known(s, n, given);
	TRY(find_places(n, given, &places));
	if (n->width % shape_count(&places))
		return ERR(E_CONFIG, &n->loc, "'input' of network '%s' has %d values, which are not "
		           "samples of %s places; say 'shape'", n->name, n->width,
		           shape_text(&places, text));
	n->in = with_rows(n->width / shape_count(&places), &places);
	return 0;
}

/* --- derivatives --- */

static bool is_any(const char *name, const char *const *list)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

/* Layers that are piecewise linear, and linear ones; all others are neither. */
static void find_kinks(struct network *n, const struct graph *g)
{
	static const char *const kinks[] = { "relu", "leaky_relu", "max_pool", NULL };
	static const char *const linear[] = { "dense", "conv", "conv_grad_input", "reshape", "concat",
		"slice", "add", "subtract", "scale", "pad", "resize", "average_pool", "global_average",
		"ema_update", "dropout", "broadcast", "transpose", NULL };
	const char *kink = NULL;
	bool smooth = false;
	for (int i = 0; i < g->nnode; i++) {
		const char *op = g->node[i]->op->name;
		if (strcmp(op, "batch_norm") == 0)
			n->mixes = "batch_norm";
		if (is_any(op, kinks))
			kink = op;
		else
			smooth |= !is_any(op, linear);
	}
	n->kinked = smooth ? NULL : kink;
}

static int emit_scratch(struct graph *g, struct arena *a, const struct network *n, const char *name,
                        tid *y)
{
	const struct shape flat = { 2, { 2, n->width } };
	tid x;
	TRY(graph_input(g, name, DTYPE_F32, &flat, &x));
	return emit_samples(g, a, n, true, 0, x, y);
}

int network_find_shape(struct expr_scope *s, struct network *n, const struct shape *given)
{
	int *components = ARENA_ARRAY(s->arena, int, n->c.inputs.n);
	struct graph *g;
	tid y;
	for (int i = 0; i < n->c.inputs.n; i++)
		components[i] = given[i].nd ? (int)shape_count(&given[i]) : 0;
	TRY(network_check(s, n, components));
	TRY(find_input(s, n, given));
	g = graph_new();
	int rc = n->owner->width == n->width || n->owner->width == 0 ? 0 : emit_scratch(g, s->arena,
		n->owner, "owner", &y);
	if (rc == 0)
		rc = emit_scratch(g, s->arena, n, "x", &y);
	if (rc == 0) {
		n->out = graph_t(g, y)->shape;
		memmove(n->out.d, n->out.d + 1, (size_t)--n->out.nd * sizeof *n->out.d);
		n->c.outputs = shape_count(&n->out);
		find_kinks(n, g);
	}
	graph_free(g);
	if (rc < 0 && n->in.nd == 1 && n->c.shape.n == 0)
		return err_context(rc, "the inputs of network '%s' have no places: a set has values of "
		                   "points by 'record: FILE', whole samples by 'samples: FILE'; 'shape' of "
		                   "the network gives them one", n->name);
	return rc;
}
