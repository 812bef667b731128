/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Expands a `layers` list to a flat list. It traverses the YAML list; a block or a repeat is
 * expanded in place, in a scope of its own.
 *
 *   layers:                          path             a reference looks for
 *     - conv2d: {name: stem}         stem             "stem" in its own scope, then further out
 *     - unit: {name: u}                               "previous": the layer before
 *         - conv2d: {name: conv}     u.conv           "input": what came into the innermost list
 *     - repeat: {times: 2, ...}
 *         - relu                     repeat_0.0.relu_0  no name: its kind and a number
 *
 * The traversal continues after a mistake, so that all are found; a layer that cannot be read still
 * keeps its position and name. */
#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/suggest.h"
#include "model/layer.h"
#include "model/layer_scope.h"

#define MAX_LAYERS 10000

struct repeat {
	int64_t times;
	struct ynode *layers;
};
static const struct field repeat_fields[] = {
	FIELD_INT(struct repeat, times, "", 1, MAX_LAYERS, "number of repetitions"),
	FIELD_NODE(struct repeat, layers, "", "the layers to repeat"), FIELD_END
};

static const struct variant repeat_variant = { "repeat", "a list of layers several times in a row",
	                                           repeat_fields, sizeof(struct repeat) };

/* Keys of every entry, besides the keys of its kind. */
struct common {
	const char *name;
	struct strings inputs;
};
static const struct field common_fields[] = {
	FIELD_STRING(struct common, name, NULL, "name of the layer, for references and parameters"),
	FIELD_STRINGS(struct common, inputs, NULL,
	              "names of the layers this one takes; default: previous"),
	FIELD_END
};
static const char *const common_keys[] = { "name", "inputs", NULL };

/* A path and the layer whose output it means: a layer's own or, for a block or repeat, its last
 * one's. */
struct named {
	uint64_t hash;              /* of the path: thousands of layers are
	                             * looked through for each name */
	const char *path;
	int layer;
};

struct reader {
	struct arena *arena;
	struct variant *variant; /* kinds, ops, repeat, blocks */
	int nvariant, first_block;
	struct layer_block *block;
	int nblock;
	bool *block_used, *block_bad;
	struct layer *layer;
	int n, cap;
	struct named *named;
	int nnamed, named_cap;
	bool *used; /* by layer: it is the input of another */
	int rc, mistakes; /* first error code; number of mistakes */
};

static void note(struct reader *r, int rc)
{
	r->mistakes += rc < 0;
	if (r->rc == 0)
		r->rc = rc;
}

/* --- names --- */

static void *grown(struct arena *a, void *p, size_t size, int n, int *cap)
{
	if (n < *cap)
		return p;
	int more = *cap ? 2 * *cap : 64;
	void *q = arena_alloc(a, size * (size_t)more);
	if (n)
		memcpy(q, p, size * (size_t)n);
	*cap = more;
	return q;
}

static const struct named *named_find(const struct reader *r, const char *path)
{
	uint64_t hash = hash_name(path);
	for (int i = 0; i < r->nnamed; i++)
		if (r->named[i].hash == hash && strcmp(r->named[i].path, path) == 0)
			return &r->named[i];
	return NULL;
}

static void named_add(struct reader *r, const char *path, int layer)
{
	r->named = grown(r->arena, r->named, sizeof *r->named, r->nnamed, &r->named_cap);
	r->named[r->nnamed++] = (struct named){ hash_name(path), path, layer };
}

static int check_name(const char *name, const struct loc *loc)
{
	if (strcmp(name, "previous") == 0 || strcmp(name, "input") == 0)
		return ERR(E_CONFIG, loc, "'%s' cannot be a layer's name: it has a meaning in 'inputs'",
		           name);
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			return ERR(E_CONFIG, loc,
			           "'%s' cannot be a name; expected letters, digits, '_' and '-'", name);
	if (!*name)
		return ERR(E_CONFIG, loc, "a name cannot be empty");
	return 0;
}

/* The entry's path, from its name or from its kind and a number ("relu_0"). */
static const char *path_of(struct reader *r, struct layer_scope *s, int variant, const char *name,
                           const struct loc *loc)
{
	if (!name || check_name(name, loc) < 0) {
		if (name)
			note(r, E_CONFIG);
		const char *kind = variant < 0 ? "layer" : r->variant[variant].name;
		int number = variant < 0 ? r->n : s->count[variant]++;
		name = arena_printf(r->arena, "%s_%d", kind, number);
	}
	const char *path = arena_printf(r->arena, "%s%s", s->prefix, name);
	if (named_find(r, path))
		note(r, ERR(E_CONFIG, loc, "there is another layer named '%s'", path));
	return path;
}

static int unknown_reference(const struct reader *r, const struct layer_scope *s, const char *name,
                             const struct loc *loc)
{
	const char **names = ARENA_ARRAY(r->arena, const char *, r->nnamed + 3);
	size_t prefix = strlen(s->prefix);
	names[0] = "previous";
	names[1] = "input";
	for (int i = 0; i < r->nnamed; i++) {
		const char *p = r->named[i].path;
		names[2 + i] = strncmp(p, s->prefix, prefix) == 0 ? p + prefix : p;
	}
	const char *near = did_you_mean(name, names);
	if (near)
		return ERR(E_CONFIG, loc, "there is no layer '%s' before this one; did you mean '%s'?",
		           name, near);
	return ERR(E_CONFIG, loc,
	           "there is no layer '%s' before this one; a layer is called by its key 'name'", name);
}

static int resolve(const struct reader *r, const struct layer_scope *s, const char *name,
                   const struct loc *loc, int *layer)
{
	*layer = s->previous;
	if (strcmp(name, "previous") == 0)
		return 0;
	*layer = s->input;
	if (strcmp(name, "input") == 0)
		return 0;
	for (const struct layer_scope *o = s; o; o = o->outer) {
		const struct named *n = named_find(r, arena_printf(r->arena, "%s%s", o->prefix, name));
		if (n) {
			*layer = n->layer;
			return 0;
		}
	}
	return unknown_reference(r, s, name, loc);
}

/* --- one entry --- */

struct entry {
	struct variant_value value; /* .v NULL: could not be read */
	int variant;                /* index, or -1 */
	struct common common;
	const struct ynode *map; /* its keys, or NULL */
	/* the entry, or for one $NAME what was written for it; and the scope of that */
	const struct ynode *written;
	const struct layer_scope *scope;
	bool named_inputs;       /* has it the key `inputs` */
	struct loc loc, name_loc, inputs_loc;
	const char *path;
	int nin, *in;
};

/* Whether a name, or one of a list, is still a parameter. */
static bool names_parameters(const struct ynode *n)
{
	bool has = strchr(n->text, '$') != NULL;
	for (int i = 0; n->kind == Y_SEQ && i < n->n; i++)
		has |= strchr(n->item[i]->text, '$') != NULL;
	return has;
}

static void read_common(struct reader *r, struct entry *e)
{
	struct ypair pair[2];
	struct ynode map = { .kind = Y_MAP, .loc = e->loc, .text = "", .n = 0, .pair = pair };
	e->name_loc = e->inputs_loc = e->loc;
	for (int i = 0; e->map && common_keys[i]; i++) {
		struct ypair *p = ytree_pair(e->map, common_keys[i]);
		if (!p || names_parameters(p->value)) /* those that are left were reported */
			continue;
		*(i == 0 ? &e->name_loc : &e->inputs_loc) = p->value->loc;
		pair[map.n++] = *p;
		e->named_inputs |= i == 1;
	}
	note(r, schema_read(r->arena, &map, common_fields, "a layer", &e->loc, &e->common));
}

static const struct ypair *tag_of(const struct ynode *node)
{
	return node->kind == Y_MAP && node->n == 1 ? &node->pair[0] : NULL;
}

/* The list of layers of a repeat, or NULL. */
static const struct ynode *repeated(const struct ynode *node)
{
	const struct ypair *tag = tag_of(node);
	bool is = tag && tag->value->kind == Y_MAP && strcmp(tag->key, repeat_variant.name) == 0;
	return is ? ytree_find(tag->value, "layers") : NULL;
}

/* Whether the kind is an op of several inputs. */
static bool takes_several(const struct reader *r, const char *kind, int variant)
{
	const struct op *op = variant >= 0 && variant < r->first_block && !layer_kind_find(kind) ?
	                      op_find(kind) : NULL;
	return op && op->max_in > 1;
}

/* concat: [a, b], the short form of concat: {inputs: [a, b]}. */
static struct ynode *with_inputs(struct arena *a, const struct ynode *node)
{
	const struct ypair *tag = &node->pair[0];
	const struct ypair inputs = { "inputs", tag->value->loc, tag->value };
	const struct ynode keys = { .kind = Y_MAP, .loc = tag->value->loc, .text = "", .n = 1,
		.pair = arena_copy(a, &inputs, sizeof inputs) };
	struct ynode *whole = arena_copy(a, node, sizeof *node);
	whole->pair = arena_copy(a, tag, sizeof *tag);
	whole->pair->value = arena_copy(a, &keys, sizeof keys);
	return whole;
}

static void read_entry(struct reader *r, const struct layer_scope *s, struct ynode *node,
                       struct entry *e)
{
	*e = (struct entry){ .variant = -1, .loc = node->loc, .written = node, .scope = s };
	layer_written(&e->scope, &e->written);
	int rc = layer_substitute(r->arena, s, node, repeated(node), &node);
	const struct ypair *tag = tag_of(node);
	const char *name = tag ? tag->key : node->kind == Y_SCALAR ? node->text : NULL;
	for (int i = 0; name && i < r->nvariant; i++)
		if (strcmp(r->variant[i].name, name) == 0)
			e->variant = i;
	if (tag && tag->value->kind == Y_SEQ && takes_several(r, name, e->variant)) {
		node = with_inputs(r->arena, node);
		tag = tag_of(node);
	}
	if (tag) {
		e->loc = tag->key_loc;
		e->map = tag->value->kind == Y_MAP ? tag->value : NULL;
	}
	int mark = err_count();
	if (rc == 0)
		rc = schema_read_tagged(r->arena, node, r->variant, "a layer", common_keys, &e->value);
	if (e->variant >= r->first_block)
		err_context_since(mark, "block '%s' is defined in line %d", name,
		                  r->block[e->variant - r->first_block].loc.line);
	if (rc < 0)
		e->value.v = NULL;
	note(r, rc);
	read_common(r, e);
}

/* How many inputs the entry's kind takes. */
static void arity(const struct reader *r, const struct entry *e, int *min, int *max)
{
	*min = *max = 1;
	if (!e->value.v || e->variant >= r->first_block || layer_kind_find(e->value.v->name))
		return;
	const struct op *op = op_find(e->value.v->name);
	if (op) {                                   /* else a repeat */
		*min = op->min_in;
		*max = op->max_in;
	}
}

static int check_arity(const struct reader *r, const struct entry *e)
{
	int min, max, n = e->nin;
	arity(r, e, &min, &max);
	if (!e->value.v || (n >= min && n <= max))
		return 0;
	const char *kind = e->value.v->name;
	if (min != max)
		return ERR(E_CONFIG, &e->inputs_loc, "'%s' takes %d to %d inputs, but gets %d", kind, min,
		           max, n);
	if (!e->named_inputs)
		return ERR(E_CONFIG, &e->inputs_loc,
		           "'%s' takes %d inputs; name them as inputs: [NAME, previous]", kind, min);
	return ERR(E_CONFIG, &e->inputs_loc, "'%s' takes %d input%s, but 'inputs' names %d", kind, min,
	           min == 1 ? "" : "s", n);
}

/* The scope that the i-th of the entry's inputs is named in. */
static const struct layer_scope *scope_of_input(const struct entry *e, int i)
{
	const struct ypair *tag = tag_of(e->written);
	const struct ynode *n = tag && tag->value->kind == Y_MAP ? ytree_find(tag->value, "inputs") :
	                        tag && tag->value->kind == Y_SEQ ? tag->value : NULL;
	const struct layer_scope *s = e->scope;
	if (!n)
		return s;
	layer_written(&s, &n);
	if (n->kind == Y_SEQ && i < n->n) {
		n = n->item[i];
		layer_written(&s, &n);
	}
	return s;
}

static int resolve_inputs(struct reader *r, const struct layer_scope *s, struct entry *e)
{
	const struct strings *names = &e->common.inputs;
	int rc = 0;
	e->nin = e->named_inputs ? names->n : 1;
	e->in = ARENA_ARRAY(r->arena, int, e->nin + 1);
	e->in[0] = s->previous;
	for (int i = 0; i < names->n; i++) {
		int one = resolve(r, scope_of_input(e, i), names->v[i], &names->loc[i], &e->in[i]);
		rc = rc ? rc : one;
	}
	return rc ? rc : check_arity(r, e);
}

static int add_layer(struct reader *r, const struct layer_scope *s, const struct entry *e,
                     int *index)
{
	if (r->n >= MAX_LAYERS)
		return ERR(E_CONFIG, &e->loc, "the list expands to more than %d layers", MAX_LAYERS);
	int cap = r->cap;
	r->layer = grown(r->arena, r->layer, sizeof *r->layer, r->n, &cap);
	r->used = grown(r->arena, r->used, sizeof *r->used, r->n, &r->cap);
	for (int i = 0; i < e->nin; i++)
		if (e->in[i] != LAYER_INPUT)
			r->used[e->in[i]] = true;
	*index = r->n;
	r->used[r->n] = false;
	r->layer[r->n++] = (struct layer){ e->path, e->value, e->nin, e->in, e->loc, s->use };
	return 0;
}

/* --- lists --- */

static int read_list(struct reader *r, struct layer_scope *s, const struct ynode *list);

/* The scope of a list below path, in place of an entry of s. */
static struct layer_scope inner_scope(struct reader *r, const struct layer_scope *s,
                                      const struct layer_use *use, const char *path, int input)
{
	return (struct layer_scope){ .outer = s,
		                         .prefix = arena_printf(r->arena, "%s.", path),
		                         .use = use,
		                         .input = input,
		                         .previous = input,
		                         .count = ARENA_ARRAY(r->arena, int, r->nvariant) };
}

static int read_repeat(struct reader *r, const struct layer_scope *s, const struct entry *e,
                       int *last)
{
	const struct repeat *c = e->value.data;
	int before = r->mistakes;
	*last = e->in[0];
	for (int64_t i = 0; i < c->times && r->mistakes == before; i++) { /* report a mistake once */
		const char *path = arena_printf(r->arena, "%s.%lld", e->path, (long long)i);
		struct layer_scope inner = inner_scope(r, s, s->use, path, *last);
		TRY(read_list(r, &inner, c->layers));
		*last = inner.previous;
	}
	return 0;
}

/* Whether a mistake since mark is in the block's definition, and so in all its uses; those in
 * the values of one use do not. */
static bool is_bad(const struct layer_block *b, int mark)
{
	bool bad = mark == err_count();
	for (int i = mark; i < err_count(); i++) {
		int line = err_get(i)->loc.line;
		bad |= line >= b->loc.line && line <= b->last_line;
	}
	return bad;
}

/* use->arg: what the entry gives to the parameters, and defaults, which are in inner. */
static void read_arguments(struct reader *r, const struct entry *e, const struct layer_scope *inner,
                           struct layer_use *use)
{
	const struct ypair *tag = tag_of(e->written);
	const struct ynode *given = tag ? tag->value : NULL;
	const struct layer_scope *s = e->scope;
	struct ynode *const *value = e->value.data;
	if (given)
		layer_written(&s, &given);
	for (int i = 0; i < use->block->nparameter; i++) {
		const struct layer_parameter *p = &use->block->parameter[i];
		struct layer_argument *arg = &use->arg[i];
		*arg = (struct layer_argument){ p->name, p->dflt, inner, value[i] };
		if (!value[i]) {
			note(r, layer_substitute(r->arena, inner, p->dflt, NULL, &arg->value));
			continue;
		}
		arg->written = given->kind == Y_MAP ? ytree_find(given, p->name) : given;
		arg->scope = s;
	}
}

static int read_block(struct reader *r, const struct layer_scope *s, const struct entry *e,
                      int *last)
{
	int i = e->variant - r->first_block, before = r->mistakes, mark = err_count();
	const struct layer_block *b = &r->block[i];
	*last = e->in[0];
	r->block_used[i] = true;
	for (const struct layer_use *o = s->use; o; o = o->outer)
		if (o->block == b)
			return ERR(E_CONFIG, &e->loc, "block '%s' contains itself", b->name);
	if (r->block_bad[i])
		return 0;
	struct layer_use *use = ARENA_NEW(r->arena, struct layer_use);
	struct layer_scope inner = inner_scope(r, s, use, e->path, e->in[0]);
	*use = (struct layer_use){ b, e->loc, s->use,
		                       ARENA_ARRAY(r->arena, struct layer_argument, b->nparameter + 1) };
	read_arguments(r, e, &inner, use);
	int rc = r->mistakes == before ? read_list(r, &inner, b->layers) : 0;
	if (rc < 0 || r->mistakes != before) {
		r->block_bad[i] = is_bad(b, mark);
		err_context_since(mark, "in block '%s' (line %d), used in line %d", b->name, b->loc.line,
		                  e->loc.line);
	}
	*last = inner.previous;
	return rc;
}

static int read_layer(struct reader *r, const struct layer_scope *s, const struct entry *e,
                      int *last)
{
	const struct layer_kind *kind = e->value.v ? layer_kind_find(e->value.v->name) : NULL;
	if (kind && kind->check)
		note(r, kind->check(r->arena, e->value.v->name, e->map, &e->loc, e->value.data));
	return add_layer(r, s, e, last);
}

static int read_list(struct reader *r, struct layer_scope *s, const struct ynode *list)
{
	if (list->kind != Y_SEQ || list->n == 0)
		return ERR(E_CONFIG, &list->loc, "expected a list of layers%s",
		           list->kind == Y_SEQ ? ", but it is empty" : "");
	for (int i = 0; i < list->n; i++) {
		struct entry e;
		int last = s->previous;
		read_entry(r, s, list->item[i], &e);
		e.path = path_of(r, s, e.variant, e.common.name, &e.name_loc);
		note(r, resolve_inputs(r, s, &e));
		if (e.value.v && e.variant >= r->first_block)
			TRY(read_block(r, s, &e, &last));
		else if (e.value.v && e.value.v->fields == repeat_fields)
			TRY(read_repeat(r, s, &e, &last));
		else
			TRY(read_layer(r, s, &e, &last));
		named_add(r, e.path, last);
		s->previous = last;
	}
	return 0;
}

/* --- the whole --- */

static int check_blocks(const struct reader *r)
{
	int rc = 0;
	for (int i = 0; i < r->nblock; i++) {
		const struct layer_block *b = &r->block[i];
		int one = check_name(b->name, &b->loc);
		for (int k = 0; one == 0 && k < r->first_block; k++)
			if (strcmp(r->variant[k].name, b->name) == 0)
				one = ERR(E_CONFIG, &b->loc, "block '%s' has the name of a layer", b->name);
		rc = rc ? rc : one;
	}
	return rc;
}

const struct variant *layer_entries(struct arena *a)
{
	int n;
	struct variant *v = layer_variants(a, 1, &n);
	v[n] = repeat_variant;
	return v;
}

static int reader_init(struct reader *r, struct arena *a, const struct layers *c)
{
	int n;
	*r = (struct reader){ .arena = a };
	TRY(layer_blocks_read(a, c->blocks, &r->block, &r->nblock));
	r->variant = layer_variants(a, 1 + r->nblock, &n);
	r->variant[n++] = repeat_variant;
	r->first_block = n;
	for (int i = 0; i < r->nblock; i++)
		r->variant[n++] = (struct variant){ r->block[i].name, "a block of this model",
			                                r->block[i].fields,
			                                sizeof(struct ynode *) *
			                                    (size_t)(r->block[i].nparameter + 1) };
	r->nvariant = n;
	r->block_used = ARENA_ARRAY(a, bool, r->nblock + 1);
	r->block_bad = ARENA_ARRAY(a, bool, r->nblock + 1);
	return check_blocks(r);
}

static int unused(struct reader *r, int last)
{
	int rc = 0;
	for (int i = 0; i < r->n; i++)
		if (i != last && !r->used[i])
			rc = ERR(E_CONFIG, &r->layer[i].loc,
			         "no layer takes the output of '%s', and only the last layer is the model's",
			         r->layer[i].path);
	for (int i = 0; i < r->nblock; i++)
		if (!r->block_used[i])
			rc = ERR(E_CONFIG, &r->block[i].loc, "block '%s' is not used", r->block[i].name);
	return rc;
}

int layer_list_read(struct arena *a, const struct layers *c, const struct loc *loc,
                    struct layer_list *out)
{
	struct reader r;
	TRY(reader_init(&r, a, c));
	if (!c->layers)
		return ERR(E_CONFIG, loc, "missing key 'layers'");
	struct layer_scope top = { .prefix = "",
		                 .input = LAYER_INPUT,
		                 .previous = LAYER_INPUT,
		                 .count = ARENA_ARRAY(a, int, r.nvariant) };
	note(&r, read_list(&r, &top, c->layers));
	if (r.rc == 0)
		r.rc = unused(&r, top.previous);
	*out = (struct layer_list){ r.layer, r.n };
	return r.rc;
}
