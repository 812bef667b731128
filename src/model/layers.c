/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Family `layers`: the network as a list of layers in the config. The list is read and checked
 * whole (layer_list.c), then emitted in order; each layer's value is the graph tensor it made. The
 * last layer is the output. */
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "model/layer.h"
#include "model/layer_scope.h"
#include "model/nn.h"

const struct field layers_fields[] = {
	MODEL_COMMON_FIELDS(struct layers),
	FIELD_LIST_OF(struct layers, layers, "", layer_entries,
	              "the layers, each {KIND: {KEYS, name, inputs}} or KIND"),
	FIELD_NODE(struct layers, blocks, NULL,
	           "lists of layers by name, or {parameters, layers}, each usable as a layer"),
	FIELD_END
};

static tid value(const struct model_build *b, const tid *made, int layer)
{
	return layer == LAYER_INPUT ? b->input : made[layer];
}

static int emit(struct model_build *b, const struct layer *l, const tid *made, tid *y)
{
	const struct layer_kind *kind = layer_kind_find(l->value.v->name);
	tid *in = ARENA_ARRAY(b->arena, tid, l->nin);
	for (int i = 0; i < l->nin; i++)
		in[i] = value(b, made, l->in[i]);
	if (kind)
		return kind->emit(b, l->path, l->value.data, in[0], y);
	return nn_op(b, l->path, l->value.v->name, l->value.data, l->nin, in, y);
}

/* The place of a layer for its user: of the entry in the model's own list. */
static struct loc place(const struct layer *l)
{
	struct loc loc = l->loc;
	for (const struct layer_use *u = l->use; u; u = u->outer)
		loc = u->loc;
	return loc;
}

/* The blocks that the layer is in, from the inside out. */
static void explain_blocks(const struct layer *l, int rc)
{
	int line = l->loc.line;
	for (const struct layer_use *u = l->use; u; u = u->outer) {
		err_context(rc, "in line %d, in block '%s' (line %d)", line, u->block->name,
		            u->block->loc.line);
		line = u->loc.line;
	}
}

/* A layer of one axis for samples of one channel and two: what dlx-convert made of channels. */
static void explain_series(const struct model_build *b, const struct layer *l, int rc)
{
	const struct shape *in = &graph_t(b->g, b->input)->shape;
	if (io_ends_in(l->value.v->name, "1d") && in->nd == 4 && in->d[1] == 1)
		err_context(rc, "samples are 1 channel of %lldx%lld; series of %lld channels are converted "
		            "with 'dlx-convert --input-layout first'", (long long)in->d[2],
		            (long long)in->d[3], (long long)in->d[2]);
}

/* Which layers, of which shapes, came into the one that failed. */
static int explain(const struct model_build *b, const struct layer_list *list,
                   const struct layer *l, const tid *made, int rc)
{
	struct buf text = BUF_INIT;
	char shape[SHAPE_TEXT];
	for (int i = 0; i < l->nin; i++) {
		const char *from = l->in[i] == LAYER_INPUT ? "the input" : list->layer[l->in[i]].path;
		buf_printf(&text, "%s'%s' %s", i ? ", " : "", from,
		           shape_text(&graph_t(b->g, value(b, made, l->in[i]))->shape, shape));
	}
	err_locate(rc, &b->loc);
	err_context(rc, "layer '%s' (%s) takes %s", l->path, l->value.v->name, text.data);
	buf_release(&text);
	explain_series(b, l, rc);
	explain_blocks(l, rc);
	return rc;
}

int layers_check(struct arena *a, const void *config, const struct loc *loc)
{
	struct layer_list list;
	return layer_list_read(a, config, loc, &list);
}

int layer_list_build(struct model_build *b, const struct layer_list *list, tid *out)
{
	tid *made = ARENA_ARRAY(b->arena, tid, list->n);
	struct loc model = b->loc;
	for (int i = 0; i < list->n; i++) {
		b->loc = place(&list->layer[i]);
		int rc = emit(b, &list->layer[i], made, &made[i]);
		if (rc < 0)
			return explain(b, list, &list->layer[i], made, rc);
	}
	*out = made[list->n - 1];
	b->loc = model;
	return 0;
}

int layers_build(struct model_build *b, tid *out)
{
	struct layer_list list;
	TRY(layer_list_read(b->arena, b->config, &b->loc, &list));
	return layer_list_build(b, &list, out);
}
