/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the `model` section, finds the family it names, lets that emit its nodes and checks what
 * came out. */
#include <string.h>

#include "base/err.h"
#include "model/model.h"

const struct field model_input_fields[] = { FIELD_INT(struct model_input, channels, "0", 0, 1 << 20,
	                                                  "channels of the input; 0: as the data has"),
	                                        FIELD_INTS(struct model_input, size, NULL, 1, 1 << 20,
	                                                   "[height, width] or [depth, height, width]"),
	                                        FIELD_END };

const struct field init_from_fields[] = {
	FIELD(struct init_from, file, FT_PATH, .flags = FIELD_SHORTHAND,
	      .doc = "safetensors file, PyTorch's names and layouts"),
	FIELD_BOOL(struct init_from, strict, "true",
	           "a tensor that is missing, extra or of another shape is an error; false: load what "
	           "fits and say what was skipped"),
	FIELD_END
};

int model_read(struct arena *a, const struct ynode *section, const char *what,
               struct variant_value *out)
{
	TRY(schema_read_variant(a, section, model_variants, what, out));
	return model_check(a, out);
}

int model_check(struct arena *a, const struct variant_value *m)
{
	const struct family *f = m->v->own;
	const struct model_common *c = m->data;
	if (c->input.size.n > 3)
		return ERR(E_CONFIG, &m->loc, "'input.size' has %d numbers; expected at most 3",
		           c->input.size.n);
	return f->check ? f->check(a, m->data, &m->loc) : 0;
}

void model_output(struct model_build *b, const char *name, tid t)
{
	BUG_IF(b->outputs->n == MODEL_OUTPUTS, "more than %d outputs", MODEL_OUTPUTS);
	b->outputs->v[b->outputs->n].name = name;
	b->outputs->v[b->outputs->n++].t = t;
}

tid model_output_get(const struct model_outputs *o, const char *name)
{
	for (int i = 0; i < o->n; i++)
		if (name ? o->v[i].name && strcmp(o->v[i].name, name) == 0 : i == 0)
			return o->v[i].t;
	return NONE;
}

int model_build(struct graph *g, struct arena *a, const struct variant_value *m, bool training,
                tid input, int64_t classes, struct model_outputs *out)
{
	const struct family *f = m->v->own;
	struct model_build b = { .g = g,
		                     .arena = a,
		                     .training = training,
		                     .input = input,
		                     .classes = classes,
		                     .config = m->data,
		                     .loc = m->loc,
		                     .outputs = out };
	char text[SHAPE_TEXT];
	if (classes < 1)
		return ERR(E_CONFIG, &m->loc, "the number of output channels is not known; give 'classes'");
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	*out = (struct model_outputs){ .n = 1 };
	int rc = f->build(&b, &out->v[0].t);
	graph_leave(g, saved);
	TRY(rc);
	const struct shape *s = &graph_t(g, out->v[0].t)->shape;
	const nid last = graph_t(g, out->v[0].t)->producer;
	if (s->nd < 2 || s->d[1] != classes)
		return ERR(E_SHAPE, last == NONE ? &m->loc : &g->node[last]->loc, "the model's "
		           "output is %s, but needs %lld channels (axis 1), as 'model.classes' or the data "
		           "says: the last layer has to make %lld", shape_text(s, text), (long long)classes,
		           (long long)classes);
	return 0;
}
