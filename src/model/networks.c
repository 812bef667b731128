/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading named networks, and building those of dense layers where they are evaluated. */
#include "model/networks.h"

#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/suggest.h"
#include "model/nn.h"
#include "op/lib/emit.h"
#include "op/taylor.h"
#include "yaml/schema_value.h"

#define PI 3.14159265358979323846

static const char *const activations[] = { "tanh", "sin", "silu", "gelu", "sigmoid", "softplus",
                                           "relu", NULL };

static const struct field fourier_fields[] = {
	FIELD_INT(struct network_fourier, features, "0", 0, 1 << 16,
	          "sines, and as many cosines, of random sums of the inputs; 0: none"),
	FIELD_FLOAT(struct network_fourier, scale, "1", 1e-6, 1e6,
	            "standard deviation of their frequencies, in periods over a length of 1"),
	FIELD_END
};

static const struct field network_init_fields[] = {
	FIELD_AT("file", FT_PATH, offsetof(struct network_init_from, from.file),
	         .flags = FIELD_SHORTHAND, .doc = "safetensors file, of a run's --export for instance"),
	FIELD_AT("network", FT_STRING, offsetof(struct network_init_from, network),
	         .flags = FIELD_NULLABLE, .doc = "its name in the file, if that is another one"),
	FIELD_AT("strict", FT_BOOL, offsetof(struct network_init_from, from.strict), .dflt = "true",
	         .doc = "as model.init_from.strict"),
	FIELD_END
};

static const struct field network_fields[] = {
	FIELD_STRINGS(struct network_config, inputs, "",
	              "coordinates, noise, other networks and arrays, in this order"),
	FIELD_INTS(struct network_config, dense, NULL, 1, 1 << 20, "units of the hidden layers"),
	FIELD_ENUM(struct network_config, activation, "tanh", activations, "after each hidden layer"),
	FIELD_INT(struct network_config, outputs, "1", 1, 1 << 16, "components"),
	FIELD_NODE(struct network_config, input, NULL,
	           "an expression of the inputs, or a list of them, that the first layer reads instead "
	           "of the inputs"),
	FIELD_NODE(struct network_config, output, NULL,
	           "an expression of the inputs and of the last layer's output, 'net', that is the "
	           "network's output: conditions that hold exactly"),
	FIELD_SECTION(struct network_config, fourier, fourier_fields,
	              "periodic features that the first layer reads"),
	FIELD_ENUM(struct network_config, init, "glorot_normal", weight_init_names,
	           "first weights; biases are 0 at first"),
	FIELD_LIST_OF(struct network_config, layers, NULL, layer_entries,
	              "in place of dense: a list of layers, as model.layers of 'family: layers'"),
	FIELD_NODE(struct network_config, blocks, NULL, "blocks of these layers, as there"),
	FIELD_INTS(struct network_config, shape, NULL, 1, 1 << 24,
	           "shape of the sample that the first of the layers takes; default: that of the "
	           "inputs, one after the other as channels"),
	FIELD_SECTION(struct network_config, init_from, network_init_fields,
	              "weights of this network to begin with: a file, or these keys"),
	FIELD(struct network_config, same_as, FT_STRING, .flags = FIELD_NULLABLE,
	      .doc = "in place of dense or layers: the network whose layers it has, and their "
	             "parameters, with inputs and expressions of its own"),
	FIELD_END
};

static const char *const laws[] = { "normal", "uniform", NULL };
static const struct field noise_fields[] = {
	FIELD(struct noise_name, components, FT_INT, .dflt = "", .min = 1, .max = 1 << 16,
	      .flags = FIELD_SHORTHAND, .doc = "of the vector that each realization has"),
	FIELD_ENUM(struct noise_name, law, "normal", laws,
	           "normal: of mean 0 and variance 1; uniform: from 0 to 1"),
	FIELD_END
};

const struct field networks_fields[] = {
	FIELD_NAMED(struct networks, networks, "", network_fields, "the networks; see dlx-physics(7)"),
	FIELD_NODE(struct networks, let, NULL,
	           "a map of names to expressions for which they stand in all objectives"),
	FIELD_NAMED(struct networks, noise, NULL, noise_fields,
	            "random numbers that networks take, a vector for each realization"),
	FIELD_SECTION(struct networks, init_from, init_from_fields,
	              "initial weights: a safetensors file, or these keys"),
	FIELD_END
};

int networks_check(struct arena *a, const void *config, const struct loc *loc)
{
	return 0;        /* with the objectives: plan/physics/physics.h */
}

int networks_build(struct model_build *b, tid *out)
{
	return ERR(E_CONFIG, &b->loc, "networks of 'family: networks' are trained by 'objective', not "
	           "by 'loss' on 'data.train'");
}

/* --- reading --- */

static int read_features(struct arena *a, const struct ynode *n, struct network *out)
{
	const int count = n->kind == Y_SEQ ? n->n : 1;
	int rc = 0;
	out->feature = ARENA_ARRAY(a, const struct expr *, count);
	for (int i = 0; i < count; i++)
		rc = first_code(rc, expr_parse(a, n->kind == Y_SEQ ? n->item[i] : n, &out->feature[i]));
	out->nfeature = count;
	return rc;
}

/* The keys that go with one kind of network alone. */
static const struct {
	const char *kind;
	const char *const keys[8];
} kinds[] = {
	{ "dense", { "activation", "outputs", "fourier", "init" } },
	{ "layers", { "blocks", "shape" } },
	{ "same_as", { NULL } },
};
#define NKINDS ((int)(sizeof kinds / sizeof *kinds))

static int check_keys(const struct ypair *p)
{
	const char *kind = NULL;
	int rc = 0;
	for (int i = 0; i < NKINDS; i++) {
		const struct ypair *q = ytree_pair(p->value, kinds[i].kind);
		if (q && kind)
			return ERR(E_CONFIG, &q->key_loc, "'%s' does not go with '%s': network '%s' has one of "
			           "them", q->key, kind, p->key);
		kind = q ? kinds[i].kind : kind;
	}
	if (!kind)
		return ERR(E_CONFIG, &p->key_loc, "network '%s' has no layers: expected 'dense', 'layers' "
		           "or 'same_as'", p->key);
	for (int i = 0; i < NKINDS; i++)
		for (int k = 0; strcmp(kinds[i].kind, kind) != 0 && kinds[i].keys[k]; k++) {
			const struct ypair *q = ytree_pair(p->value, kinds[i].keys[k]);
			if (q)
				rc = ERR(E_CONFIG, &q->key_loc, "'%s' goes with '%s' alone, and network '%s' has "
				         "'%s'", q->key, kinds[i].kind, p->key, kind);
		}
	const struct ypair *own = ytree_pair(p->value, "init_from");
	if (own && strcmp(kind, "same_as") == 0)
		rc = ERR(E_CONFIG, &own->key_loc, "'%s' has the parameters of another network, where "
		         "'init_from' belongs", p->key);
	return rc;
}

static int check_inputs(const struct strings *in)
{
	for (int i = 0; i < in->n; i++) {
		if (strchr(in->v[i], ','))
			return ERR(E_CONFIG, &in->loc[i], "'%s' is no name of an input; several are a list, "
			           "'inputs: [%s]'", in->v[i], in->v[i]);
		for (int k = 0; k < i; k++)
			if (strcmp(in->v[k], in->v[i]) == 0)
				return ERR(E_CONFIG, &in->loc[i], "'%s' is an input twice: leave one of them out",
				           in->v[i]);
	}
	return 0;
}

static int read_network(struct arena *a, const struct ypair *p, struct network *out)
{
	struct network_config *c = &out->c;
	out->name = p->key;
	out->loc = p->key_loc;
	out->owner = out;
	int rc = schema_read(a, p->value, network_fields, arena_printf(a, "network '%s'", p->key),
	                     &p->key_loc, c);
	if (rc == 0 && c->inputs.n == 0)
		rc = ERR(E_CONFIG, &p->key_loc, "network '%s' has no inputs", p->key);
	if (rc == 0)
		rc = check_inputs(&c->inputs);
	if (rc == 0)
		rc = check_keys(p);
	if (c->input)
		rc = first_code(rc, read_features(a, c->input, out));
	if (c->output)
		rc = first_code(rc, expr_parse(a, c->output, &out->output));
	out->layered = c->layers != NULL;
	return rc < 0 || !out->layered ? rc : network_read_layers(a, out);
}

/* A network that shares parameters has the layers of their owner. */
static int share(const struct networks_read *all, struct network *n, const struct loc *loc)
{
	struct suggest near = { .word = n->c.same_as };
	const struct network *of = NULL;
	for (int i = 0; i < all->n; i++) {
		if (strcmp(all->v[i].name, n->c.same_as) == 0)
			of = &all->v[i];
		if (!all->v[i].c.same_as)
			suggest_offer(&near, all->v[i].name);
	}
	if (!of)
		return ERR(E_CONFIG, loc, "'same_as' of '%s' names no network '%s'%s%s%s", n->name,
		           n->c.same_as, near.best ? "; did you mean '" : "", near.best ? near.best : "",
		           near.best ? "'?" : "");
	if (of->c.same_as)
		return ERR(E_CONFIG, loc, "'%s' has no parameters of its own: write 'same_as: %s'",
		           of->name, of == n ? "OTHER" : of->c.same_as);
	const struct network_config own = n->c;
	n->c = of->c;
	n->c.inputs = own.inputs;
	n->c.input = own.input;
	n->c.output = own.output;
	n->c.same_as = own.same_as;
	n->c.init_from = own.init_from;
	n->owner = of;
	n->layered = of->layered;
	n->list = of->list;
	return 0;
}

static int read_noise(struct arena *a, const struct ypair *p, struct noise_name *out)
{
	const char *what = arena_printf(a, "noise '%s'", p->key);
	int rc = schema_read(a, p->value, noise_fields, what, &p->key_loc, out);
	out->name = p->key;
	out->loc = p->key_loc;
	return rc;
}

static int read_map(const struct ynode *n, const char *what, int *count)
{
	*count = 0;
	if (!n || y_is_null(n))
		return 0;
	if (n->kind != Y_MAP)
		return ERR(E_CONFIG, &n->loc, "'%s' must be a map of names", what);
	*count = n->n;
	return 0;
}

int networks_read(struct arena *a, const struct networks *c, struct networks_read *out)
{
	int rc = read_map(c->networks, "networks", &out->n);
	rc = first_code(rc, read_map(c->let, "let", &out->nlet));
	rc = first_code(rc, read_map(c->noise, "noise", &out->nnoise));
	out->v = ARENA_ARRAY(a, struct network, out->n + 1);
	out->let = ARENA_ARRAY(a, struct let, out->nlet + 1);
	out->noise = ARENA_ARRAY(a, struct noise_name, out->nnoise + 1);
	if (rc == 0 && out->n == 0)
		rc = ERR(E_CONFIG, &c->networks->loc, "'networks' names no network");
	for (int i = 0; i < out->n; i++)
		rc = first_code(rc, read_network(a, &c->networks->pair[i], &out->v[i]));
	for (int i = 0; rc == 0 && i < out->n; i++)
		if (out->v[i].c.same_as)
			rc = share(out, &out->v[i],
			           &ytree_find(c->networks->pair[i].value, "same_as")->loc);
	for (int i = 0; i < out->nnoise; i++)
		rc = first_code(rc, read_noise(a, &c->noise->pair[i], &out->noise[i]));
	for (int i = 0; i < out->nlet; i++) {
		out->let[i].name = c->let->pair[i].key;
		rc = first_code(rc, expr_parse(a, c->let->pair[i].value, &out->let[i].e));
	}
	return rc;
}

const char *network_activation(const struct network *n)
{
	return activations[n->c.activation];
}

const char *network_kinked(const struct network *n)
{
	if (n->layered)
		return n->kinked;
	return strcmp(network_activation(n), "relu") == 0 ? "relu" : NULL;
}

/* --- building --- */

#define NET "net"

/* The inputs, and where `net` is given that too. Returns how many. */
static int bind(const struct network *n, const int *components, const tid *in, tid net,
                struct expr_bound *bound)
{
	int k = 0;
	for (; k < n->c.inputs.n; k++)
		bound[k] = (struct expr_bound){ n->c.inputs.v[k], components[k], components[k] == 1, NULL,
			in ? in[k] : NONE };
	bound[k] = (struct expr_bound){ NET, (int)n->c.outputs, false, network_kinked(n), net };
	bound[k].mixes = n->mixes;
	return k;
}

/* The number of components that the first layer reads; 0: not known. */
static int width(const struct network *n, const int *components, const struct expr_type *feature)
{
	int64_t sum = 0;
	const int parts = n->nfeature ? n->nfeature : n->c.inputs.n;
	for (int i = 0; i < parts; i++) {
		const int one = n->nfeature ? feature[i].components : components[i];
		if (one == 0)
			return 0;
		sum += one;
	}
	return sum > INT32_MAX ? 0 : (int)sum;
}

int network_check(struct expr_scope *s, struct network *n, const int *components)
{
	struct expr_bound *bound = ARENA_ARRAY(s->arena, struct expr_bound, n->c.inputs.n + 1);
	const int k = bind(n, components, NULL, NONE, bound);
	struct expr_type type, *feature = ARENA_ARRAY(s->arena, struct expr_type, n->nfeature + 1);
	int rc = 0;
	for (int i = 0; i < n->nfeature; i++)
		rc = first_code(rc, expr_check_bound(s, n->feature[i], k, bound, &feature[i]));
	n->width = width(n, components, feature);
	if (!n->output || n->c.outputs == 0)
		return rc;
	TRY(first_code(rc, expr_check_bound(s, n->output, k + 1, bound, &type)));
	if (type.components != n->c.outputs && type.extent >= EXPR_OF_POINTS)
		return ERR(E_CONFIG, expr_loc(n->output), n->layered ? "'output' of network '%s' has %d "
		           "components, and its layers make %d" : "'output' of network '%s' has %d "
		           "components, and 'outputs' says %d", n->name, type.components,
		           (int)n->c.outputs);
	return 0;
}

static int join(struct graph *g, int n, const tid *in, tid *out)
{
	*out = in[0];
	return n > 1 ? emit_concat(g, 1, n, in, out) : 0;
}

/* Sines and cosines of 2 pi B x, with B normal numbers that the network's name decides. */
static int emit_fourier(struct graph *g, const struct network *n, tid x, tid *out)
{
	const struct network_fourier *f = &n->c.fourier;
	const int64_t wide = graph_t(g, x)->shape.d[1];
	struct shape s = { 2, { f->features, wide } };
	float *b = ARENA_ARRAY(g->arena, float, f->features * wide);
	for (int64_t i = 0; i < f->features * wide; i++)
		b[i] = (float)(2 * PI * f->scale * rng_normal(0, hash_name(n->owner->name), 0,
		                                              (uint64_t)i));
	tid in[2] = { x, graph_constant(g, DTYPE_F32, &s, b) }, both[2], sum;
	TRY(graph_emit1(g, "dense", NULL, 2, in, &sum));
	TRY(emit_unary(g, "sin", sum, &both[0]));
	TRY(emit_unary(g, "cos", sum, &both[1]));
	return emit_concat(g, 1, 2, both, out);
}

/* The arguments of an application's emission. */
struct applied_stack {
	struct model_build b;
	const struct network *n;
};

static struct nn_dense layer_of(const struct network *n, int i)
{
	const int64_t units = i == n->c.dense.n ? n->c.outputs : n->c.dense.v[i];
	return (struct nn_dense){ .units = units, .bias = true, .init = (enum weight_init)n->c.init };
}

static const char *path_of(const struct applied_stack *l, int i)
{
	return arena_printf(l->b.arena, "%s.dense_%d", l->n->owner->name, i);
}

static int emit_dense(void *user, struct graph *g, tid x, tid *out)
{
	struct applied_stack *l = user;
	for (int i = 0; i <= l->n->c.dense.n; i++) {
		const struct nn_dense d = layer_of(l->n, i);
		TRY(nn_dense_layer(&l->b, path_of(l, i), &d, x, &x));
		if (i < l->n->c.dense.n)
			TRY(emit_unary(g, network_activation(l->n), x, &x));
	}
	*out = x;
	return 0;
}

static int dense_weights(void *user, struct graph *g, int i, int64_t columns, tid *weight,
                         tid *bias)
{
	struct applied_stack *l = user;
	const struct nn_dense d = layer_of(l->n, i);
	return nn_dense_params(&l->b, path_of(l, i), &d, columns, weight, bias);
}

static int emit_layered(void *user, struct graph *g, tid x, tid *out)
{
	const struct applied_stack *l = user;
	return network_emit_layers(g, l->b.arena, l->n, l->b.training, l->b.place, x, out);
}

int network_emit(struct expr_emission *m, struct arena *a, const struct network *n, bool training,
                 int place, const tid *in, tid *out)
{
	struct graph *g = expr_graph(m);
	const int ninput = n->c.inputs.n;
	struct applied_stack *l = ARENA_NEW(a, struct applied_stack);
	struct expr_bound *bound = ARENA_ARRAY(a, struct expr_bound, ninput + 1);
	int *components = ARENA_ARRAY(a, int, ninput);
	tid *feature = ARENA_ARRAY(a, tid, n->nfeature + 1), x;
	for (int i = 0; i < ninput; i++)
		components[i] = (int)graph_t(g, in[i])->shape.d[1];
	bind(n, components, in, NONE, bound);
	for (int i = 0; i < n->nfeature; i++)
		TRY(expr_emit_bound(m, n->feature[i], ninput, bound, &feature[i]));
	TRY(n->nfeature ? join(g, n->nfeature, feature, &x) : join(g, ninput, in, &x));
	if (n->c.fourier.features)
		TRY(emit_fourier(g, n, x, &x));
	*l = (struct applied_stack){ { .g = g, .arena = a, .training = training, .loc = n->loc,
		                    .place = place }, n };
	const struct expr_layers dense = { n->name, n->c.dense.n + 1,
		taylor_find(network_activation(n)), (int)n->c.outputs, l, dense_weights, emit_dense };
	const struct expr_layers other = { n->name, 0, NONE, (int)n->c.outputs, l, NULL,
		emit_layered };
	TRY(expr_emit_layers(m, n->layered ? &other : &dense, x, out));
	bind(n, components, in, *out, bound);
	return n->output ? expr_emit_bound(m, n->output, ninput + 1, bound, out) : 0;
}
