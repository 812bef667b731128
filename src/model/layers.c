/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Family `layers`: the network as a list of layers in the config. The list is read and checked
 * whole (layer_list.c), then emitted in order; each layer's value is the graph tensor it made. The
 * last layer is the output. */
#include "base/buf.h"
#include "base/err.h"
#include "model/layer.h"
#include "model/nn.h"

const struct field layers_fields[] = {
	MODEL_COMMON_FIELDS(struct layers),
	FIELD_LIST_OF(struct layers, layers, "", layer_entries,
	              "the layers, each {KIND: {KEYS, name, inputs}} or KIND"),
	FIELD_NODE(struct layers, blocks, NULL, "lists of layers by name, each usable as a layer"),
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
	err_locate(rc, &l->loc);
	err_context(rc, "layer '%s' (%s) takes %s", l->path, l->value.v->name, text.data);
	buf_release(&text);
	return rc;
}

int layers_check(struct arena *a, const void *config, const struct loc *loc)
{
	struct layer_list list;
	return layer_list_read(a, config, loc, &list);
}

int layers_build(struct model_build *b, tid *out)
{
	struct layer_list list;
	TRY(layer_list_read(b->arena, b->config, &b->loc, &list));
	tid *made = ARENA_ARRAY(b->arena, tid, list.n);
	struct loc model = b->loc;
	for (int i = 0; i < list.n; i++) {
		b->loc = list.layer[i].loc;
		int rc = emit(b, &list.layer[i], made, &made[i]);
		if (rc < 0)
			return explain(b, &list, &list.layer[i], made, rc);
	}
	*out = made[list.n - 1];
	b->loc = model;
	return 0;
}
