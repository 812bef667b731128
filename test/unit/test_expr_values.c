/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Expressions as graphs, on the reference device and on the CPU, against an oracle in float64. */
#include "op_graph.h"

#include "base/rng.h"
#include "expr_oracle.h"
#include "graph/verify.h"
#include "model/expr.h"
#include "model/nn.h"
#include "op/lib/emit.h"
#include "op/taylor.h"
#include "pass/pass.h"

/* The CPU computes in float32. */
static const struct { const char *name; double tolerance; } devices[] = {
	{ "reference", 1e-10 }, { "cpu", 1e-3 }
}, *device = devices;

/* Derivatives by streams (expr_foresee), or by reverse passes. */
static bool forward;

enum { U, V, K, G, D, NETWORKS };
static struct network networks[NETWORKS] = {
	[U] = { .name = "u", .inputs = 2, .outputs = 1 },
	[V] = { .name = "v", .inputs = 2, .outputs = 2 },
	[K] = { .name = "k", .inputs = 1, .outputs = 1 },
	[G] = { .name = "g", .inputs = 4, .outputs = 1 },
	[D] = { .name = "d", .inputs = 13, .outputs = 1 },
};

/* --- the scope: coordinates x and t, which are a and b of the oracle --- */

#define POINTS 5
#define REALIZATIONS 3
#define NOISE 3

enum { INSIDE, WALLS, MANY, FEW, TIME, SETS };
static const struct expr_axis xt[] = { { "x", true }, { "t", true } };
static const char *const obs[] = { "obs" };
static const struct expr_set sets[SETS] = {
	[INSIDE] = { "inside", POINTS, 1, xt, 2, NULL, 0, false },
	[WALLS] = { "walls", POINTS, 1, xt, 2, NULL, 0, true },
	[MANY] = { "many", POINTS, REALIZATIONS, xt, 1, NULL, 0, false },
	[FEW] = { "few", 4, REALIZATIONS, xt, 2, obs, 1, false },
	[TIME] = { "time", POINTS, 1, xt + 1, 1, NULL, 0, false },
};
static const struct expr_input of_xt[] = { { "x", 1 }, { "t", 1 } };
static const struct expr_input of_noise[] = { { "x", 1 }, { "xi", NOISE } };
static const struct expr_input of_any[] = { { "s", 0 } };
static struct expr_name names[] = {
	{ .name = "x", .what = EXPR_COORDINATE }, { .name = "t", .what = EXPR_COORDINATE },
	{ .name = "nu", .what = EXPR_VARIABLE },
	{ .name = "obs", .what = EXPR_ARRAY, .components = 2 },
	{ .name = "xi", .what = EXPR_NOISE, .components = NOISE },
	{ .name = "u", .what = EXPR_NETWORK, .components = 1, .input = of_xt, .ninput = 2 },
	{ .name = "v", .what = EXPR_NETWORK, .components = 2, .input = of_xt, .ninput = 2 },
	{ .name = "k", .what = EXPR_NETWORK, .components = 1, .input = of_xt, .ninput = 1 },
	{ .name = "g", .what = EXPR_NETWORK, .components = 1, .input = of_noise, .ninput = 2 },
	{ .name = "d", .what = EXPR_NETWORK, .components = 1, .input = of_any, .ninput = 1 },
	{ .name = "hard", .what = EXPR_NETWORK, .components = 1, .input = of_xt, .ninput = 2 },
	{ .name = "speed", .what = EXPR_LET }, { .name = "burgers", .what = EXPR_LET },
	{ .name = "real", .what = EXPR_LET },  { .name = "fake", .what = EXPR_LET },
	{ .name = "unused", .what = EXPR_LET },
};
static const char *const lets[] = {
	"speed", "0.01 / pi", "burgers", "d(u, t) + u * d(u, x) - speed * d(u, x, x)",
	"real", "join(few.obs, g @ many)", "fake", "join(g @ few, v[0] @ few, k @ many)",
	"unused", "speed * 2", NULL
};

struct test {
	struct arena *a;
	struct graph *g;
	struct expr_scope s;
	struct expr_host host;
	struct expr_emission *m;
	int calls;                   /* of the host, for coordinates and networks */
};

static uint64_t hash_of(const char *name)
{
	uint64_t h = 7;
	for (; *name; name++)
		h = h * 31 + (unsigned char)*name;
	return h;
}

/* The values of an input are random numbers of its name. */
static double input_value(const char *name, int64_t i)
{
	return 2 * rng_uniform(3, hash_of(name) & 0xFFFF, 0, (uint64_t)i) - 1;
}

static int input(struct graph *g, const char *name, int64_t rows, int64_t columns, tid *out)
{
	const struct shape s = { 2, { rows, columns } };
	return graph_input(g, name, DTYPE_F32, &s, out);
}

static int64_t rows_of(int set)
{
	return sets[set].points * sets[set].realizations;
}
static int host_coordinate(void *user, struct graph *g, int set, const char *name, tid *out)
{
	struct test *t = user;
	t->calls++;
	return input(g, arena_printf(t->a, "%s.%s", sets[set].name, name), rows_of(set), 1, out);
}

static int host_array(void *user, struct graph *g, int set, const char *name, tid *out)
{
	struct test *t = user;
	return input(g, arena_printf(t->a, "%s.%s", sets[set].name, name), rows_of(set), 2, out);
}

static int host_normal(void *user, struct graph *g, int set, tid *out)
{
	return host_array(user, g, set, "n", out);
}

static int host_noise(void *user, struct graph *g, int like, const char *name, tid *out)
{
	const int r = (int)sets[like].realizations;
	return input(g, r == 1 ? "noise" : name, r, NOISE, out);
}

static int host_variable(void *user, struct graph *g, const char *name, tid *out)
{
	return input(g, name, 1, 1, out);
}

static int host_uniform(void *user, struct graph *g, int64_t rows, tid *out)
{
	return input(g, "alpha", rows, 1, out);
}

struct layers {
	struct test *t;
	struct network *n;
};

static int layer_weights(void *user, struct graph *g, int l, int64_t columns, tid *weight,
                         tid *bias)
{
	const struct layers *of = user;
	struct model_build b = { .g = g, .arena = of->t->a, .training = true };
	const struct nn_dense d = { .units = layer_out(of->n, l), .init = WI_GLOROT_NORMAL };
	TRY(nn_dense_params(&b, arena_printf(of->t->a, "%s.%d", of->n->name, l), &d, columns, weight,
	                    bias));
	of->n->weight_tid[l] = *weight;
	of->n->bias_tid[l] = *bias;
	graph_t(g, *bias)->init = (struct init){ INIT_NORMAL, 0.3 };
	return 0;
}

static int plain_layers(void *user, struct graph *g, tid x, tid *y)
{
	for (int l = 0; l < LAYERS; l++) {
		tid in[3] = { x };
		TRY(layer_weights(user, g, l, graph_t(g, x)->shape.d[1], &in[1], &in[2]));
		TRY(graph_emit1(g, "dense", NULL, 3, in, &x));
		if (l < LAYERS - 1)
			TRY(emit_unary(g, "tanh", x, &x));
	}
	*y = x;
	return 0;
}

static int build(struct test *t, struct expr_emission *m, struct network *n, tid x, tid *y)
{
	struct layers of = { t, n };
	const struct expr_layers l = { n->name, LAYERS, TAYLOR_TANH, n->outputs, &of, layer_weights,
		                           plain_layers };
	return expr_emit_layers(m, &l, x, y);
}

/* (1 - x^2) t net + d(net, x), net being u: that it is u shows that names are bound. */
static int build_hard(struct test *t, struct expr_emission *m, const tid *in, tid net, tid *out)
{
	struct ynode text = { .kind = Y_SCALAR, .text = "(1 - x^2) * t * net + d(net, x) + k + nu" };
	const struct expr_bound bound[] = { { "x", 1, true, NULL, in[0] },
		                                { "t", 1, true, NULL, in[1] },
		                                { "net", 1, false, NULL, net } };
	const struct expr *e;
	struct expr_type type;
	TRY(expr_parse(t->a, &text, &e));
	TRY(expr_check_bound(&t->s, e, 3, bound, &type));
	return expr_emit_bound(m, e, 3, bound, out);
}

static int host_network(void *user, struct expr_emission *m, const struct expr_name *network,
                        const tid *in, tid *out)
{
	struct test *t = user;
	tid x;
	t->calls++;
	TRY(nn_concat(&(struct model_build){ .g = t->g, .arena = t->a }, network->name, network->ninput,
	              in, &x));
	for (int i = 0; i < NETWORKS; i++)
		if (!strcmp(networks[i].name, network->name))
			return build(t, m, &networks[i], x, out);
	TRY(build(t, m, &networks[U], x, out));
	return build_hard(t, m, in, *out, out);
}

static const struct expr *parse(struct test *t, const char *text)
{
	struct ynode *n = ARENA_NEW(t->a, struct ynode);
	const struct expr *e = NULL;
	*n = (struct ynode){ .kind = Y_SCALAR, .text = text };
	if (expr_parse(t->a, n, &e) < 0)
		fail_msg("'%s': %s", text, err_get(0)->text);
	return e;
}

static void test_new(struct test *t)
{
	*t = (struct test){ .a = arena_new(), .g = graph_new() };
	t->s = (struct expr_scope){ t->a, names, sizeof names / sizeof *names, sets, SETS, NULL };
	t->host = (struct expr_host){ t, host_coordinate, host_normal, host_array, host_noise,
		                          host_variable, host_uniform, host_network };
	for (int l = 0; lets[l]; l += 2)
		for (int i = 0; i < t->s.nname; i++)
			if (!strcmp(names[i].name, lets[l]))
				names[i].let = parse(t, lets[l + 1]);
	t->g->cur_name = "test";
	t->m = expr_emission_new(t->g, &t->s, &t->host);
}

static void assert_type(const struct test *t, const struct expr_type *type, tid out)
{
	const struct shape *s = &graph_t(t->g, out)->shape;
	const bool rows = type->extent == EXPR_OF_POINTS || type->extent == EXPR_OF_SNAPSHOTS;
	assert_int_equal(s->nd, rows ? 2 : 0);
	if (rows)
		assert_int_equal(s->d[1], type->components);
	if (rows && type->set >= 0)
		assert_int_equal(s->d[0], type->extent == EXPR_OF_POINTS ? rows_of(type->set)
		                                                         : sets[type->set].realizations);
}

/* Forward, each expression is emitted by itself. */
static int begin(struct test *t, const struct expr *e, int set)
{
	if (!forward)
		return 0;
	t->m = expr_emission_new(t->g, &t->s, &t->host);
	return expr_foresee(t->m, 1, &e, &set);
}

static tid emit(struct test *t, const char *text, int set)
{
	const struct expr *e = parse(t, text);
	struct expr_type type;
	tid out = NONE;
	if (expr_check(&t->s, e, set, &type) < 0 || begin(t, e, set) < 0 ||
	    expr_emit(t->m, e, set, &out) < 0)
		fail_msg("'%s': %s", text, err_get(0)->text);
	assert_type(t, &type, out);
	return out;
}

/* --- running --- */

static const struct pass passes[] = {
	{ "fold", "", pass_fold, STAGE_BUILT },
	{ "dce", "", pass_dce, STAGE_BUILT },
	{ "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};

static void write_inputs(const struct graph *g, struct exec *e)
{
	for (int i = 0; i < g->ntensor; i++) {
		const struct tensor *x = g->tensor[i];
		double v[200];
		if (x->role != ROLE_INPUT)
			continue;
		for (int k = 0; k < shape_count(&x->shape); k++)
			v[k] = input_value(x->name, k);
		assert_int_equal(exec_write(e, i, DTYPE_F64, v), 0);
	}
}

static void read_weights(const struct graph *g, struct exec *e)
{
	double v[MAX_IN * WIDTH];
	for (struct network *n = networks; n < networks + NETWORKS; n++)
		for (int l = 0; l < LAYERS && graph_find(g, arena_printf(g->arena, "%s.%d.bias", n->name,
		                                                          l)) != NONE; l++) {
			assert_int_equal(exec_read(e, n->weight_tid[l], DTYPE_F64, v), 0);
			for (int i = 0; i < layer_in(n, l) * layer_out(n, l); i++)
				n->weight[l][i] = v[i];
			assert_int_equal(exec_read(e, n->bias_tid[l], DTYPE_F64, v), 0);
			for (int i = 0; i < layer_out(n, l); i++)
				n->bias[l][i] = v[i];
		}
}

/* Runs the graph once; out[i] gets the values of t[i]. The weights become the oracle's. */
static void run(struct test *t, int n, const tid *of, double **out)
{
	struct device *dev;
	struct exec *e;
	for (int i = 0; i < n; i++)
		graph_t(t->g, of[i])->output = true;
	assert_int_equal(graph_verify(t->g, STAGE_BUILT), 0);
	assert_int_equal(device_open(&dev, device->name), 0);
	op_passes(t->g, dev, passes, sizeof passes / sizeof *passes, NULL);
	struct store *store = store_new(dev, 11);
	assert_int_equal(exec_new(&e, t->g, dev, &plan_env_default), 0);
	const size_t bytes = exec_arena_bytes(e) + EXEC_ARENA_SLACK;
	void *memory = mem_map(bytes);
	memset(memory, 0xFF, bytes);
	assert_int_equal(exec_bind(e, store, memory, NULL), 0);
	write_inputs(t->g, e);
	assert_int_equal(exec_run(e, ~0u), 0);
	for (int i = 0; i < n; i++) {
		out[i] = ARENA_ARRAY(t->a, double, shape_count(&graph_t(t->g, of[i])->shape));
		assert_int_equal(exec_read(e, of[i], DTYPE_F64, out[i]), 0);
	}
	read_weights(t->g, e);
	exec_free(e);
	store_free(store);
	mem_unmap(memory, bytes);
	device_close(dev);
}

static void test_release(struct test *t)
{
	graph_free(t->g);
	arena_free(t->a);
	err_clear();
}

static void assert_near(const char *what, int i, double have, double want)
{
	if (!(fabs(have - want) <= device->tolerance * (1 + fabs(want))))
		fail_msg("%s: '%s', value %d: %.15g, expected %.15g (%g)", device->name, what, i, have,
		         want, have - want);
}

/* --- the oracle at the points of a set --- */

static struct series coordinate(int set, const char *name, int row)
{
	char key[40];
	snprintf(key, sizeof key, "%s.%s", sets[set].name, name);
	struct series s = constant(input_value(key, row));
	s.c[*name == 'x'][*name == 't'] = 1;
	return s;
}

static struct series field(const struct network *n, int set, int row, int component)
{
	struct series in[2] = { coordinate(set, "x", row), coordinate(set, "t", row) }, out[2];
	evaluate(n, in, out);
	return out[component];
}

static number variable(void)
{
	return input_value("nu", 0);
}

/* --- values of derivatives --- */

static number u_at(int row, int i, int j)
{
	return derived(field(&networks[U], INSIDE, row, 0), i, j);
}

static number burgers(int set, int row)
{
	struct series u = field(&networks[U], set, row, 0);
	return derived(u, 0, 1) + derived(u, 0, 0) * derived(u, 1, 0) -
	       0.01 / acos(-1) * derived(u, 2, 0);
}

/* Expression number `which` of the table below, component k, at a point of `inside`. */
static number expected(int which, int row, int k)
{
	const struct series u = field(&networks[U], INSIDE, row, 0), x = coordinate(INSIDE, "x", row);
	const struct series v[2] = { field(&networks[V], INSIDE, row, 0),
		                         field(&networks[V], INSIDE, row, 1) };
	const struct series kappa = field(&networks[K], INSIDE, row, 0);
	const struct series t = coordinate(INSIDE, "t", row);
	const number nu = variable();
	switch (which) {
	case 0: return u_at(row, 0, 0);
	case 1: return u_at(row, 1, 0);
	case 2: return u_at(row, 2, 0);
	case 3: return u_at(row, 3, 0);
	case 4: return u_at(row, 4, 0);
	case 5: case 6: return u_at(row, 1, 1);
	case 7: return u_at(row, 2, 2);
	case 8: return u_at(row, 2, 0) + u_at(row, 0, 2);
	case 9: return derived(sum(slope(times(kappa, slope(u, 0)), 0),
		                       slope(times(kappa, slope(u, 1)), 1), 1), 0, 0);
	case 10: return burgers(INSIDE, row);
	case 11: return derived(v[k], 2, 0) + derived(v[k], 0, 2);
	case 12: return derived(v[0], 1, 0) + derived(v[1], 0, 1);
	case 13: return derived(v[0], 0, 0) * derived(u, 1, 0) + derived(v[1], 0, 0) * derived(u, 0, 1);
	case 14: return csqrt(squared(derived(u, 1, 0)) + squared(derived(u, 0, 1)) + EXPR_EPSILON);
	case 15: return 3 * nu - derived(v[k], 0, 0) / 2 + (k ? nu : derived(u, 0, 0));
	case 16: return derived(times(times(x, x), times(x, u)), 2, 1);
	case 17: return derived(kappa, 1, 0) * 6 * derived(t, 0, 0);
	case 18: return 0;
	case 19: {
		struct series in[2] = { times(x, x), constant(0.25) }, out;
		evaluate(&networks[U], in, &out);
		return derived(out, 1, 0);
	}
	case 23:
		return 4 * u_at(row, 1, 0) + derived(x, 0, 0) * (2 * u_at(row, 2, 0) + u_at(row, 0, 2));
	case 22: return u_at(row, 2, 0) - derived(v[k], 0, 0) + u_at(row, 0, 2);
	case 20: return k == 2 ? 7 : k ? derived(x, 0, 0) : derived(u, 0, 1);
	default: return (1 - squared(derived(x, 0, 0))) * derived(t, 0, 0) * derived(u, 0, 0) +
		            derived(u, 1, 0) + derived(kappa, 0, 0) + nu;
	}
}

static bool has_op(const struct graph *g, const char *op)
{
	for (int i = 0; i < g->nnode; i++)
		if (!strcmp(g->node[i]->op->name, op))
			return true;
	return false;
}

/* have, which travelled forward, and want, by reverse passes. */
static void assert_same(const char *what, int64_t n, const double *have, const double *want,
                        double tolerance)
{
	for (int64_t i = 0; i < n; i++)
		if (isfinite(want[i]) && fabs(want[i]) < 1e6 &&
		    !(fabs(have[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
			fail_msg("'%.200s': %.15g forward, %.15g by reverse passes", what, have[i], want[i]);
}

static void check_derivatives(void)
{
	static const char *const text[] = {
		"u", "d(u, x)", "d(u, x, x)", "d(u, x, x, x)", "d(d(u, x, x), x, x)", "d(u, x, t)",
		"d(u, t, x)", "d(u, x, t, t, x)", "laplacian(u)", "div(k * grad(u))", "burgers",
		"laplacian(v)", "div(v)", "dot(v, grad(u))", "norm(grad(u, x, t))",
		"3 * nu - v / 2 + join(u, nu)", "d(x^3 * u, x, x, t)", "d(k, x) * d(t^3, t, t)",
		"d(x^2, x, x, x)", "d(u(x^2, 0.25), x)", "join(d(u, t), x, 7)", "hard",
		"d(u, x, x) - v + d(u, t, t)", "laplacian(x * u, x, t) + d(x * u, x, x)"
	};
	enum { N = sizeof text / sizeof *text };
	struct test t;
	tid of[2 * N];
	double *have[2 * N];
	test_new(&t);
	for (int i = 0; i < N; i++)
		of[i] = emit(&t, text[i], INSIDE);
	assert_true(forward || of[5] == of[6]);
	for (int i = 0; i < t.g->nnode; i++)
		assert_int_equal(t.g->node[i]->phase, PHASE_FORWARD);
	assert_true(has_op(t.g, "taylor") == forward);
	const bool both = !forward && device == devices;
	forward |= both;
	for (int i = 0; i < N && both; i++)
		of[N + i] = emit(&t, text[i], INSIDE);
	forward &= !both;
	run(&t, both ? 2 * N : N, of, have);
	for (int i = 0; i < N && both; i++)
		assert_same(text[i], shape_count(&graph_t(t.g, of[i])->shape), have[N + i], have[i], 1e-12);
	for (int i = 0; i < N; i++) {
		const int components = (int)graph_t(t.g, of[i])->shape.d[1];
		for (int row = 0; row < POINTS; row++)
			for (int k = 0; k < components; k++)
				assert_near(text[i], row, have[i][row * components + k],
				            creal(expected(i, row, k)));
	}
	test_release(&t);
}

/* Functions and operators of values, by their real values at each point. */
static double plain(int which, double u, double v, double nu)
{
	switch (which) {
	case 0: return sin(u) * cos(v) - tan(u * nu);
	case 1: return exp(u) + log(v * v + 1) + sqrt(v * v + 2) + tanh(v) + sinh(u) - cosh(v) -
	               1 / (1 + exp(-u)) * log(1 + exp(v));
	case 2: return fabs(u) + fmin(u, v) + fmax(fmax(u, 0.1), v);
	case 3: return u >= 0 ? v : nu;
	case 4: return pow(u, 3) - pow(v, 2) + pow(2, u) + pow(v * v + 1, u) + pow(v * v + 1, -1.5);
	case 5: return 1 - u + (u - 2) + 3 / (v * v + 1) - (2 - v / 4) + u / (v - 9);
	default: return -u * 1 + pow(u * u + 1, 0.5) - (u * u + 1) / 1;
	}
}

static void check_functions(void)
{
	static const char *const text[] = {
		"sin(u) * cos(v[1]) - tan(u * nu)",
		"exp(u) + log(v[1]^2 + 1) + sqrt(v[1]^2 + 2) + tanh(v[1]) + sinh(u) - cosh(v[1])"
		" - sigmoid(u) * softplus(v[1])",
		"abs(u) + min(u, v[1]) + max(u, 0.1, v[1])", "select(u, v[1], nu)",
		"u^3 - pow(v[1], 2) + 2^u + (v[1]^2 + 1)^u + (v[1]^2 + 1)^-1.5",
		"1 - u + (u - 2) + 3 / (v[1]^2 + 1) - (2 - v[1] / 4) + u / (v[1] - 9)",
		"-u^1 + (u^2 + 1)^0.5 - (u^2 + 1) / nu^0"
	};
	enum { N = sizeof text / sizeof *text };
	struct test t;
	tid of[N];
	double *have[N];
	test_new(&t);
	for (int i = 0; i < N; i++)
		of[i] = emit(&t, text[i], INSIDE);
	run(&t, N, of, have);
	for (int i = 0; i < N; i++)
		for (int row = 0; row < POINTS; row++)
			assert_near(text[i], row, have[i][row],
			            plain(i, creal(u_at(row, 0, 0)),
			                  creal(derived(field(&networks[V], INSIDE, row, 1), 0, 0)),
			                  creal(variable())));
	test_release(&t);
}

static void values(void **state)
{
	for (int i = 0; i < 4; i++) {
		device = devices + i / 2;
		forward = i & 1;
		check_derivatives();
		check_functions();
	}
	device = devices;
	forward = false;
}

/* --- losses and their gradients by weights --- */

static number generator(int set, int row)
{
	struct series in[1 + NOISE] = { coordinate(set, "x", row) }, out;
	for (int i = 0; i < NOISE; i++)
		in[1 + i] = constant(input_value("xi", row / sets[set].points * NOISE + i));
	evaluate(&networks[G], in, &out);
	return derived(out, 0, 0);
}

/* Value `at` of snapshot r: of `real`, of `fake`. */
static number snapshot(bool fake, int r, int at)
{
	const int few = (int)sets[FEW].points;
	if (!fake && at < 2 * few)
		return input_value("few.obs", r * few * 2 + at);
	if (!fake)
		return generator(MANY, r * POINTS + at - 2 * few);
	if (at < few)
		return generator(FEW, r * few + at);
	if (at < 2 * few)
		return derived(field(&networks[V], FEW, r * few + at - few, 0), 0, 0);
	return derived(field(&networks[K], MANY, r * POINTS + at - 2 * few, 0), 0, 0);
}

/* d's value at a point between, and its derivative by value `by` of it (-1: none). */
static struct series critic(int r, double alpha, int by)
{
	struct series in[13], out;
	for (int i = 0; i < 13; i++) {
		in[i] = constant(snapshot(true, r, i));
		in[i] = sum(in[i], constant(snapshot(false, r, i) - snapshot(true, r, i)), alpha);
		in[i].c[1][0] = i == by;
	}
	evaluate(&networks[D], in, &out);
	return out;
}

/* Of the critic's gradient by what it reads, squared. */
static number critic_slope(int r, double alpha)
{
	number y = EXPR_EPSILON;
	for (int i = 0; i < 13; i++)
		y += squared(derived(critic(r, alpha, i), 1, 0));
	return y;
}

static number loss(int which)
{
	number y = 0, part;
	switch (which) {
	case 0:
		for (int row = 0; row < POINTS; row++)
			y += squared(burgers(INSIDE, row)) / POINTS;
		return y;
	case 1:
		for (int row = 0; row < POINTS; row++)
			for (int k = 0; k < 2; k++) {
				struct series u = field(&networks[V], WALLS, row, k);
				part = derived(u, 1, 0) * input_value("walls.n", 2 * row) +
				       derived(u, 0, 1) * input_value("walls.n", 2 * row + 1);
				y += part * part;
			}
		return variable() * y;
	case 2:
		for (int r = 0; r < REALIZATIONS; r++)
			y += squared(csqrt(critic_slope(r, input_value("alpha", r))) - 1) / REALIZATIONS;
		return y;
	case 3:
		for (int r = 0; r < REALIZATIONS; r++)
			y += (derived(critic(r, 0, -1), 0, 0) - derived(critic(r, 1, -1), 0, 0)) / REALIZATIONS;
		return y;
	case 4:
		for (int row = 0; row < POINTS; row++)
			y += squared(derived(field(&networks[U], INSIDE, row, 0), 0, 0) -
			          derived(field(&networks[U], WALLS, row, 0), 0, 0)) / POINTS;
		return y;
	case 6:
		for (int r = 0; r < REALIZATIONS; r++)
			y += critic_slope(r, 1) / REALIZATIONS;
		return y;
	case 7:
		for (int r = 0; r < REALIZATIONS; r++) {
			const number real = derived(critic(r, 1, -1), 0, 0);
			part = clog(1 + cexp(-derived(critic(r, 0, -1), 0, 0))) + clog(1 + cexp(-real));
			y += (part + (creal(real) < 0.1 ? 0.1 - real : 0)) / REALIZATIONS;
		}
		return y;
	case 8:
		for (int row = 0; row < POINTS; row++)
			for (int k = 0; k < 2; k++) {
				struct series u = field(&networks[V], INSIDE, row, k);
				y += squared(derived(u, 2, 0) + derived(u, 0, 2)) / POINTS / 2;
			}
		return y;
	default: {
		struct series in[2] = { constant(0.5), constant(-1) }, out;
		evaluate(&networks[U], in, &out);
		return squared(derived(out, 0, 0));
	}
	}
}

/* The weights that are compared, of each network: every eleventh. */
static void check_gradients(const char *text, int which, const struct network *n, double **have)
{
	struct network *own = &networks[n - networks];
	for (int l = 0; l < LAYERS; l++) {
		for (int i = 0; i < layer_in(n, l) * layer_out(n, l); i += 11) {
			own->weight[l][i] += I * STEP;
			assert_near(text, i, have[2 * l][i], cimag(loss(which)) / STEP);
			own->weight[l][i] -= I * STEP;
		}
		for (int i = 0; i < layer_out(n, l) && have[2 * l + 1]; i += 11) {
			own->bias[l][i] += I * STEP;
			assert_near(text, i, have[2 * l + 1][i], cimag(loss(which)) / STEP);
			own->bias[l][i] -= I * STEP;
		}
	}
}

static void check_loss(const char *text, int which, const int *by, int nby)
{
	struct test t;
	tid of[1 + 2 * LAYERS * 2], dx[2 * LAYERS * 2], wrt[2 * LAYERS * 2];
	double *have[1 + 2 * LAYERS * 2], *gradient[2 * LAYERS * 2];
	int n = 0, nout = 1;
	test_new(&t);
	of[0] = emit(&t, text, EXPR_NOWHERE);
	assert_int_equal(expr_check_term(&t.s, parse(&t, text)), 0);
	for (int i = 0; i < nby; i++)
		for (int l = 0; l < LAYERS; l++) {
			wrt[n++] = networks[by[i]].weight_tid[l];
			wrt[n++] = networks[by[i]].bias_tid[l];
		}
	assert_int_equal(autodiff(t.g, 1, of, NULL, n, wrt, dx), 0);
	for (int i = 0; i < n; i++)
		if (dx[i] != NONE)
			of[nout++] = dx[i];
	run(&t, nout, of, have);
	for (int i = 0, k = 1; i < n; i++)
		gradient[i] = dx[i] == NONE ? NULL : have[k++];
	assert_near(text, 0, have[0][0], creal(loss(which)));
	for (int i = 0; i < nby; i++)
		check_gradients(text, which, &networks[by[i]], gradient + 2 * LAYERS * i);
	test_release(&t);
}

static void check_losses(void)
{
	check_loss("mean(burgers^2 @ inside)", 0, (int[]){ U }, 1);
	check_loss("nu * sum(dn(v)^2 @ walls)", 1, (int[]){ V }, 1);
	check_loss("penalty(d, real, fake)", 2, (int[]){ D }, 1);
	check_loss("mean(d(fake)) - mean(d(real))", 3, (int[]){ D, G }, 2);
	check_loss("mean(slope(d, real)^2)", 6, (int[]){ D }, 1);
	check_loss("mean(max(0, 0.1 - d(real)) - log(sigmoid(d(real))) + softplus(-d(fake)))", 7,
	           (int[]){ D, G }, 2);
	check_loss("mean((u(at.inside) - (u @ walls))^2)", 4, (int[]){ U }, 1);
	check_loss("mean(u(0.5, -1)^2)", 5, (int[]){ U }, 1);
	check_loss("mean(laplacian(v)^2 @ inside)", 8, (int[]){ V }, 1);
}

static void losses(void **state)
{
	check_losses();
	forward = true;
	check_losses();
	forward = false;
}

/* What is requested twice is emitted once. */
static void sharing(void **state)
{
	struct test t;
	test_new(&t);
	emit(&t, "mean(burgers^2 @ inside)", EXPR_NOWHERE);
	int nodes = t.g->nnode, calls = t.calls;
	emit(&t, "sum(burgers @ inside) * mean(d(u, x, t) @ inside) + mean(u(x, t) @ inside)",
	     EXPR_NOWHERE);
	assert_true(t.g->nnode - nodes < 25);            /* d(u, x) is there; by t, and five more */
	assert_int_equal(t.calls, calls);
	emit(&t, "mean(u @ walls)", EXPR_NOWHERE);
	assert_int_equal(t.calls, calls + 3);
	assert_string_equal(graph_t(t.g, emit(&t, "unused", INSIDE))->name, "test:reshape");
	test_release(&t);
}

/* What a `let` that is a number makes of others is found on emission. */
static void numbers(void **state)
{
	struct test t;
	struct expr_type type;
	const struct expr *e;
	tid out;
	test_new(&t);
	e = parse(&t, "mean(u / (speed * 0) @ inside)");
	assert_int_equal(expr_check(&t.s, e, EXPR_NOWHERE, &type), 0);
	assert_int_equal(expr_emit(t.m, e, EXPR_NOWHERE, &out), E_CONFIG);
	assert_string_equal(err_get(0)->text, "division by zero");
	test_release(&t);
}

static const char *text_of(struct test *t, const struct expr *e)
{
	struct buf b = BUF_INIT;
	expr_print(&b, e);
	const char *text = arena_strdup(t->a, b.data);
	buf_release(&b);
	return text;
}

static int check_forward(struct test *t, const struct expr *e, int set, tid out)
{
	tid of[2] = { out };
	double *v[2];
	forward = true;
	int rc = begin(t, e, set);
	if (rc == 0)
		rc = expr_emit(t->m, e, set, &of[1]);
	forward = false;
	TRY(rc);
	run(t, 2, of, v);
	assert_same(text_of(t, e), shape_count(&graph_t(t->g, out)->shape), v[1], v[0], 1e-8);
	return 0;
}

/* Emission can do what the check accepts, and gives the type that it says. */
static void agreement(void **state)
{
	uint64_t at = 0;
	int accepted = 0;
	for (int i = 0; i < 4000; i++) {
		struct buf b = BUF_INIT;
		struct test t;
		struct expr_type type;
		tid out;
		test_new(&t);
		grow(&b, &at, 1 + i % 5);
		const struct expr *e = parse(&t, arena_strdup(t.a, b.data));
		const int set = i % (SETS + 1) - 1, rc = expr_check(&t.s, e, set, &type);
		if (rc == 0 && (expr_emit(t.m, e, set, &out) < 0 ||
		                (i % 10 == 0 && check_forward(&t, e, set, out) < 0)))
			fail_msg("'%s': %s", b.data, err_get(0)->text);
		if (rc == 0)
			assert_type(&t, &type, out);
		assert_true(rc == 0 || err_count() > 0);
		accepted += rc == 0;
		buf_release(&b);
		test_release(&t);
	}
	assert_true(accepted > 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(values), cmocka_unit_test(losses),
		                                cmocka_unit_test(sharing),
		                                cmocka_unit_test(numbers), cmocka_unit_test(agreement) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
