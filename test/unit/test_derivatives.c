/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derivatives of networks and expressions by their coordinates, to the fourth order and mixed, and
 * the gradients of losses made of them, on the reference device. The values come from Taylor series
 * in two variables that this file computes in float64: series of the activations by the recurrences
 * of their differential equations, put through the layers as polynomials of degree four. */
#include "op_graph.h"

#include "base/rng.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"
#include "pass/pass.h"

#define POINTS 5
#define WIDTH 16
#define DEGREE 4

/* --- the network --- */

static const char *const activations[] = {
	"tanh", "sin", "silu", "gelu", "gelu_tanh", "sigmoid", "softplus", NULL
};

/* Weights and biases of 2 - WIDTH - WIDTH - 1, one after another: w1, b1, w2, ... */
static const int layer_in[] = { 2, WIDTH, WIDTH }, layer_out[] = { WIDTH, WIDTH, 1 };
#define LAYERS 3
#define WEIGHTS (3 * WIDTH + WIDTH * WIDTH + WIDTH + WIDTH + 1)

static double weight[WEIGHTS], point[2][POINTS];

static void draw(void)
{
	for (int i = 0; i < WEIGHTS; i++)
		weight[i] = 0.4 * rng_normal(1, 1, 0, (uint64_t)i);
	for (int i = 0; i < 2 * POINTS; i++)
		point[i / POINTS][i % POINTS] = 2 * rng_uniform(1, 2, 0, (uint64_t)i) - 1;
}

/* --- the oracle: series in (a, b), the distances from the point --- */

struct series {
	double c[DEGREE + 1][DEGREE + 1];        /* of a^i b^j, i + j <= DEGREE */
};

static struct series product(const struct series *p, const struct series *q)
{
	struct series r = { 0 };
	for (int i = 0; i <= DEGREE; i++)
		for (int j = 0; i + j <= DEGREE; j++)
			for (int k = 0; i + j + k <= DEGREE; k++)
				for (int l = 0; i + j + k + l <= DEGREE; l++)
					r.c[i + k][j + l] += p->c[i][j] * q->c[k][l];
	return r;
}

/* s(z + h) of the logistic function: s' = s - s^2. */
static void sigmoid_series(double z, double *s)
{
	s[0] = 1 / (1 + exp(-z));
	for (int k = 0; k < DEGREE; k++) {
		double sum = s[k];
		for (int i = 0; i <= k; i++)
			sum -= s[i] * s[k - i];
		s[k + 1] = sum / (k + 1);
	}
}

/* tanh of a series u: t' = (1 - t^2) u'. */
static void tanh_series(const double *u, double *t)
{
	double rest[DEGREE + 1];
	t[0] = tanh(u[0]);
	for (int k = 0; k < DEGREE; k++) {
		double sum = 0;
		rest[k] = k == 0;
		for (int i = 0; i <= k; i++)
			rest[k] -= t[i] * t[k - i];
		for (int i = 0; i <= k; i++)
			sum += (i + 1) * u[i + 1] * rest[k - i];
		t[k + 1] = sum / (k + 1);
	}
}

/* (z + h) times a series, in place. */
static void times_argument(double z, double *t)
{
	for (int k = DEGREE; k >= 0; k--)
		t[k] = z * t[k] + (k ? t[k - 1] : 0);
}

/* The integral of a series from its own value on, in place. */
static void integrate(double value, double *t)
{
	for (int k = DEGREE; k > 0; k--)
		t[k] = t[k - 1] / k;
	t[0] = value;
}

static void activation_series(const char *name, double z, double *t)
{
	const double pi = acos(-1), c = sqrt(2 / pi), k = 0.044715;
	if (!strcmp(name, "tanh")) {
		tanh_series((double[]){ z, 1, 0, 0, 0 }, t);
	} else if (!strcmp(name, "sin")) {
		const double all[] = { sin(z), cos(z), -sin(z) / 2, -cos(z) / 6, sin(z) / 24 };
		memcpy(t, all, sizeof all);
	} else if (!strncmp(name, "s", 1)) {
		sigmoid_series(z, t);
		if (!strcmp(name, "softplus"))
			integrate(log1p(exp(z)), t);
		if (!strcmp(name, "silu"))
			times_argument(z, t);
	} else if (!strcmp(name, "gelu_tanh")) {
		const double u[] = { c * (z + k * z * z * z), c * (1 + 3 * k * z * z), c * 3 * k * z, c * k,
			0 };
		tanh_series(u, t);
		t[0] += 1;
		for (int i = 0; i <= DEGREE; i++)
			t[i] *= 0.5;
		times_argument(z, t);
	} else {
		t[0] = exp(-z * z / 2) / sqrt(2 * pi);       /* the density: p' = -x p */
		for (int i = 0; i < DEGREE; i++)
			t[i + 1] = -(z * t[i] + (i ? t[i - 1] : 0)) / (i + 1);
		integrate(erfc(-z / sqrt(2)) / 2, t);
		times_argument(z, t);
	}
}

/* The sum of t[k] (x - x0)^k. */
static struct series compose(const double *t, const struct series *x)
{
	struct series h = *x, power = { { { 1 } } }, y = { 0 };
	h.c[0][0] = 0;
	for (int k = 0; k <= DEGREE; k++) {
		for (int i = 0; i <= DEGREE; i++)
			for (int j = 0; j <= DEGREE; j++)
				y.c[i][j] += t[k] * power.c[i][j];
		power = product(&power, &h);
	}
	return y;
}

static struct series activate(const char *name, const struct series *x)
{
	double t[DEGREE + 1];
	activation_series(name, x->c[0][0], t);
	return compose(t, x);
}

static struct series network_at(const char *name, int at)
{
	struct series x[WIDTH] = { { { { point[0][at] }, { 1 } } }, { { { point[1][at], 1 } } } };
	const double *w = weight;
	for (int l = 0; l < LAYERS; l++) {
		struct series y[WIDTH] = { 0 };
		const double *bias = w + layer_in[l] * layer_out[l];
		for (int o = 0; o < layer_out[l]; o++) {
			double *to = &y[o].c[0][0];
			for (int i = 0; i < layer_in[l]; i++)
				for (int k = 0; k < (DEGREE + 1) * (DEGREE + 1); k++)
					to[k] += w[o * layer_in[l] + i] * (&x[i].c[0][0])[k];
			to[0] += bias[o];
		}
		for (int o = 0; o < layer_out[l]; o++)
			y[o] = l + 1 < LAYERS ? activate(name, &y[o]) : y[o];
		memcpy(x, y, sizeof x);
		w = bias + layer_out[l];
	}
	return x[0];
}

/* --- the graph --- */

#define MOST_LAYERS 5

struct net {
	struct graph *g;
	tid xy[2], w[2 * MOST_LAYERS], u;
	int weights;                 /* in w */
};

static tid input(struct graph *g, const char *name, int64_t rows, int64_t columns)
{
	const struct shape s = shape_of(columns ? 2 : 1, (int64_t[]){ rows, columns });
	tid t;
	assert_int_equal(graph_input(g, name, DTYPE_F32, &s, &t), 0);
	return t;
}

static tid emit_activation(struct graph *g, const char *name, tid x)
{
	const bool by_tanh = !strcmp(name, "gelu_tanh");
	tid y;
	assert_int_equal(graph_emit1(g, by_tanh ? "gelu" : name, by_tanh ? &(int){ 1 } : NULL, 1, &x,
	                             &y), 0);
	return y;
}

static void net_begin(struct net *n)
{
	*n = (struct net){ .g = graph_new() };
	n->xy[0] = input(n->g, "x", POINTS, 1);
	n->xy[1] = input(n->g, "y", POINTS, 1);
}

static void net_init(struct net *n, const char *name, int width, int layers)
{
	tid h;
	net_begin(n);
	n->weights = 2 * layers;
	assert_int_equal(emit_concat(n->g, 1, 2, n->xy, &h), 0);
	for (int l = 0; l < layers; l++) {
		const int in = l ? width : 2, out = l + 1 < layers ? width : 1;
		char text[16];
		snprintf(text, sizeof text, "w%d", l);
		n->w[2 * l] = input(n->g, text, out, in);
		snprintf(text, sizeof text, "b%d", l);
		n->w[2 * l + 1] = input(n->g, text, out, 0);
		assert_int_equal(graph_emit1(n->g, "dense", NULL, 3,
			(tid[]){ h, n->w[2 * l], n->w[2 * l + 1] }, &h), 0);
		if (l + 1 < layers)
			h = emit_activation(n->g, name, h);
	}
	n->u = h;
}

/* The derivative of u by coordinates in this order, such as "xxy". */
static tid derive(struct net *n, tid u, const char *by)
{
	for (; *by; by++) {
		tid d;
		assert_int_equal(autodiff(n->g, 1, &u, NULL, 1, &n->xy[*by == 'y'], &d), 0);
		u = d;
	}
	return u;
}

/* A graph on the reference device, whose tensors are float64. */
struct run {
	struct device *dev;
	struct exec *exec;
	struct store *store;
	void *arena;
};

static void run_init(struct run *r, const char *device, const struct net *n, int outputs,
                     const tid *out)
{
	static const struct pass passes[] = {
		{ "fold", "", pass_fold, STAGE_BUILT },
		{ "cse", "", pass_cse, STAGE_BUILT },
		{ "dce", "", pass_dce, STAGE_BUILT },
		{ "precision", "", pass_precision, STAGE_BUILT },
		{ "layout", "", pass_layout, STAGE_LAID_OUT },
		{ "sched", "", pass_sched, STAGE_LAID_OUT },
	};
	const double *w = weight;
	for (int i = 0; i < outputs; i++)
		if (out[i] != NONE)
			graph_t(n->g, out[i])->output = true;
	assert_int_equal(device_open(&r->dev, device), 0);
	op_passes(n->g, r->dev, passes, 6, NULL);
	assert_int_equal(exec_new(&r->exec, n->g, r->dev, &plan_env_default), 0);
	r->store = store_new(r->dev, 1);
	r->arena = mem_map(exec_arena_bytes(r->exec) + EXEC_ARENA_SLACK);
	assert_int_equal(exec_bind(r->exec, r->store, r->arena, NULL), 0);
	for (int i = 0; i < 2; i++)
		exec_write(r->exec, n->xy[i], DTYPE_F64, point[i]);
	for (int i = 0; i < n->weights; i++) {
		exec_write(r->exec, n->w[i], DTYPE_F64, w);
		w += shape_count(&graph_t(n->g, n->w[i])->shape);
	}
	assert_int_equal(exec_run(r->exec, ~0u), 0);
}

static void run_release(struct run *r)
{
	mem_unmap(r->arena, exec_arena_bytes(r->exec) + EXEC_ARENA_SLACK);
	exec_free(r->exec);
	store_free(r->store);
	device_close(r->dev);
}

/* --- tests --- */

static const char *const by[] = { "", "x", "y", "xx", "xy", "yx", "xxx", "xxxx", "xxyy", "xyxy" };
#define ORDERS ((int)(sizeof by / sizeof *by))

/* What a graph computes against a series at each point. */
static void check_derivatives(struct net *n, const char *name, const char *device, double tolerance,
                              struct series (*series)(const char *name, int at))
{
	static const double factorial[] = { 1, 1, 2, 6, 24 };
	struct run r;
	tid d[ORDERS];
	for (int k = 0; k < ORDERS; k++)
		d[k] = derive(n, n->u, by[k]);
	run_init(&r, device, n, ORDERS, d);
	for (int k = 0; k < ORDERS; k++) {
		double got[POINTS];
		int i = 0, j = 0;
		for (const char *c = by[k]; *c; c++)
			*c == 'x' ? i++ : j++;
		exec_read(r.exec, d[k], DTYPE_F64, got);
		for (int p = 0; p < POINTS; p++) {
			const double want = series(name, p).c[i][j] * factorial[i] * factorial[j];
			if (!(fabs(got[p] - want) <= tolerance * fmax(1, fabs(want))))
				fail_msg("%s on %s, u_%s at point %d: %.17g, the series says %.17g", name, device,
				         by[k], p, got[p], want);
		}
	}
	run_release(&r);
	graph_free(n->g);
}

static void test_values(void **unused)
{
	draw();
	for (int a = 0; activations[a]; a++)
		for (int cpu = 0; cpu < 2; cpu++) {
			struct net n;
			net_init(&n, activations[a], WIDTH, LAYERS);
			check_derivatives(&n, activations[a], cpu ? "cpu" : "reference", cpu ? 2e-5 : 1e-10,
			                  network_at);
		}
}

/* --- an expression --- */

enum { EXP, LOG, COS, POWER };

/* The series of a function around z; e: the exponent. */
static void function_series(int which, double e, double z, double *t)
{
	const double turn[] = { cos(z), -sin(z), -cos(z), sin(z), cos(z) };
	double factorial = 1;
	t[0] = which == EXP ? exp(z) : which == LOG ? log(z) : which == COS ? cos(z) : pow(z, e);
	for (int k = 1; k <= DEGREE; k++) {
		factorial *= k;
		t[k] = which == EXP ? t[0] / factorial : which == COS ? turn[k] / factorial :
		       which == LOG ? -pow(-1 / z, k) / k : t[k - 1] * (e - k + 1) / (k * z);
	}
}

static struct series function(int which, double e, struct series x)
{
	double t[DEGREE + 1];
	function_series(which, e, x.c[0][0], t);
	return compose(t, &x);
}

static struct series sum(struct series p, struct series q)
{
	for (int i = 0; i <= DEGREE; i++)
		for (int j = 0; j <= DEGREE; j++)
			p.c[i][j] += q.c[i][j];
	return p;
}

static struct series shifted(struct series p, double by_number)
{
	p.c[0][0] += by_number;
	return p;
}

/* exp(x y) / sqrt(1 + x^2) + log(2 + cos(x y)) + (2 + y)^1.5 + 3 x^3 + mean of (y, y, y) */
static struct series expression_at(const char *name, int at)
{
	const struct series x = { { { point[0][at] }, { 1 } } }, y = { { { point[1][at], 1 } } };
	const struct series xy = product(&x, &y), xx = product(&x, &x);
	const struct series top = function(EXP, 0, xy),
	                    root = function(POWER, -0.5, shifted(xx, 1));
	struct series all = product(&top, &root), cube = product(&xx, &x);
	all = sum(all, function(LOG, 0, shifted(function(COS, 0, xy), 2)));
	all = sum(sum(all, function(POWER, 1.5, shifted(y, 2))), sum(sum(cube, cube), cube));
	return sum(all, y);
}

static tid scaled(struct net *n, tid x, double factor, double shift)
{
	const struct scale_attr at = { factor, shift };
	return op_emit(n->g, "scale", &at, 1, &x);
}

static tid power(struct net *n, tid x, double exponent)
{
	return op_emit(n->g, "pow", &(struct pow_attr){ exponent }, 1, &x);
}

/* The mean over a second axis of y, repeated along that. */
static tid repeated(struct net *n, tid y)
{
	const struct shape flat = { 1, { POINTS } }, column = { 2, { POINTS, 1 } },
	                   wide = { 2, { POINTS, 3 } };
	const struct reduce_attr last = { { 1, (int64_t[]){ 1 } }, true };
	assert_int_equal(emit_reshape(n->g, y, &flat, &y), 0);
	assert_int_equal(emit_reshape(n->g, y, &column, &y), 0);
	assert_int_equal(emit_broadcast(n->g, y, &wide, &y), 0);
	return op_emit(n->g, "mean", &last, 1, &y);
}

static void test_expression(void **unused)
{
	struct net n;
	tid xy, f;
	draw();
	net_begin(&n);
	const tid x = n.xy[0], y = n.xy[1];
	xy = EMIT(&n, "multiply", x, y);
	f = EMIT(&n, "sqrt", scaled(&n, EMIT(&n, "square", x), 1, 1));
	f = EMIT(&n, "divide", EMIT(&n, "exp", xy), f);
	f = EMIT(&n, "add", f, EMIT(&n, "log", scaled(&n, EMIT(&n, "cos", xy), 1, 2)));
	f = EMIT(&n, "add", f, power(&n, scaled(&n, y, 1, 2), 1.5));
	f = EMIT(&n, "add", f, scaled(&n, power(&n, x, 3), 3, 0));
	n.u = EMIT(&n, "add", f, repeated(&n, y));
	check_derivatives(&n, "the expression", "reference", 1e-10, expression_at);
}

/* mean(u_xx^2), and the penalty mean((|grad u| - 1)^2) with epsilon under the root. */
#define EPSILON 1e-6

static double loss_of(const char *name, bool penalty)
{
	double sum = 0;
	for (int p = 0; p < POINTS; p++) {
		const struct series s = network_at(name, p);
		const double xx = 2 * s.c[2][0], x = s.c[1][0], y = s.c[0][1];
		sum += pow(penalty ? sqrt(x * x + y * y + EPSILON) - 1 : xx, 2);
	}
	return sum / POINTS;
}

/* By one weight, to the fourth order in the step. */
static double slope_of(const char *name, bool penalty, int i)
{
	const double h = 2e-3, keep = weight[i];
	double at[5];
	for (int k = -2; k <= 2; k++) {
		weight[i] = keep + k * h;
		at[k + 2] = loss_of(name, penalty);
	}
	weight[i] = keep;
	return (8 * (at[3] - at[1]) - (at[4] - at[0])) / (12 * h);
}

static tid emit_loss(struct net *n, bool penalty)
{
	struct graph *g = n->g;
	tid t, x, y;
	if (penalty) {
		tid d[2];
		assert_int_equal(autodiff(g, 1, &n->u, NULL, 2, n->xy, d), 0);
		assert_int_equal(emit_unary(g, "square", d[0], &x), 0);
		assert_int_equal(emit_unary(g, "square", d[1], &y), 0);
		assert_int_equal(graph_emit1(g, "add", NULL, 2, (tid[]){ x, y }, &t), 0);
		assert_int_equal(emit_scale(g, t, 1, EPSILON, &t), 0);
		assert_int_equal(emit_unary(g, "sqrt", t, &t), 0);
		assert_int_equal(emit_scale(g, t, 1, -1, &t), 0);
	} else {
		t = derive(n, n->u, "xx");
	}
	assert_int_equal(emit_unary(g, "square", t, &t), 0);
	assert_int_equal(emit_unary(g, "mean", t, &t), 0);
	return t;
}

static void check_loss(const char *name, bool penalty)
{
	struct net n;
	struct run r;
	tid loss, d[2 * LAYERS];
	double got[WEIGHTS], value, most = 0;
	int at = 0;
	net_init(&n, name, WIDTH, LAYERS);
	loss = emit_loss(&n, penalty);
	assert_int_equal(autodiff(n.g, 1, &loss, NULL, 2 * LAYERS, n.w, d), 0);
	graph_t(n.g, loss)->output = true;
	run_init(&r, "reference", &n, 2 * LAYERS, d);
	exec_read(r.exec, loss, DTYPE_F64, &value);
	if (!(fabs(value - loss_of(name, penalty)) <= 1e-12))
		fail_msg("%s: the loss is %.17g, expected %.17g", name, value, loss_of(name, penalty));
	for (int i = 0; i < 2 * LAYERS; i++) {
		const int count = (int)shape_count(&graph_t(n.g, n.w[i])->shape);
		if (d[i] == NONE)                    /* the last bias */
			got[at] = 0;
		else
			exec_read(r.exec, d[i], DTYPE_F64, got + at);
		at += count;
	}
	assert_int_equal(at, WEIGHTS);
	for (int i = 0; i < WEIGHTS; i++)
		most = fmax(most, fabs(got[i]));
	for (int i = 0; i < WEIGHTS; i += i < 3 * WIDTH ? 5 : 17)
		if (!(fabs(got[i] - slope_of(name, penalty, i)) <= 1e-9 * most))
			fail_msg("%s, gradient of the %s by weight %d: %.17g, differences say %.17g", name,
			         penalty ? "penalty" : "residual", i, got[i], slope_of(name, penalty, i));
	run_release(&r);
	graph_free(n.g);
}

static void test_losses(void **unused)
{
	draw();
	for (int a = 0; activations[a]; a++)
		for (int penalty = 0; penalty < 2; penalty++)
			check_loss(activations[a], penalty);
}

/* Nodes of the sum of the derivatives of this order by x and by y of a network of four layers of
 * 128 neurons, and of the gradients of its mean square by the weights if wanted. */
static int count_nodes(const char *name, int order, bool gradient, bool merged)
{
	static const struct pass passes[] = {
		{ "fold", "", pass_fold, STAGE_BUILT },
		{ "cse", "", pass_cse, STAGE_BUILT },
		{ "dce", "", pass_dce, STAGE_BUILT },
	};
	struct net n;
	tid d[2], y, dw[2 * MOST_LAYERS];
	int count;
	net_init(&n, name, 128, MOST_LAYERS);
	for (int i = 0; i < 2; i++)
		d[i] = derive(&n, n.u, (i ? "yyyy" : "xxxx") + 4 - order);
	assert_int_equal(graph_emit1(n.g, "add", NULL, 2, d, &y), 0);
	graph_t(n.g, y)->output = true;
	if (gradient) {
		assert_int_equal(emit_unary(n.g, "square", y, &y), 0);
		assert_int_equal(emit_unary(n.g, "mean", y, &y), 0);
		assert_int_equal(autodiff(n.g, 1, &y, NULL, 2 * MOST_LAYERS, n.w, dw), 0);
		for (int i = 0; i < 2 * MOST_LAYERS; i++)
			if (dw[i] != NONE)
				graph_t(n.g, dw[i])->output = true;
	}
	op_passes(n.g, NULL, passes, 3, merged ? NULL : "cse");
	count = n.g->nnode;
	graph_free(n.g);
	return count;
}

/* With its gradients, a third order costs at most three times the nodes of the second. */
static void test_nodes(void **unused)
{
	for (int a = 0; activations[a]; a++)
		for (int gradient = 0; gradient < 2; gradient++) {
			int nodes[DEGREE + 1];
			for (int order = 1; order <= DEGREE; order++) {
				nodes[order] = count_nodes(activations[a], order, gradient, true);
				print_message("%s, order %d%s: %d nodes, %d before merging\n", activations[a],
				              order, gradient ? " and gradients" : "", nodes[order],
				              count_nodes(activations[a], order, gradient, false));
			}
			assert_true(!gradient || nodes[3] <= 3 * nodes[2]);
		}
}

/* ReLUs have a first derivative, and no second one that says anything; smooth functions have both.
 * What does not depend on x, or does not reach y, does not count. */
static void test_flat(void **unused)
{
	struct net n;
	const struct node *flat;
	tid ux, a, b;
	for (int relu = 0; relu < 2; relu++) {
		net_init(&n, relu ? "relu" : "tanh", WIDTH, LAYERS);
		assert_null(autodiff_flat(n.g, n.u, n.xy[0]));
		ux = derive(&n, n.u, "x");
		flat = autodiff_flat(n.g, ux, n.xy[0]);
		assert_int_equal(flat != NULL, relu);
		if (relu)
			assert_string_equal(flat->op->name, "relu_grad");
		assert_null(autodiff_flat(n.g, n.u, n.xy[0]));
		graph_free(n.g);
	}
	net_init(&n, "sin", WIDTH, LAYERS);
	assert_int_equal(emit_unary(n.g, "abs", n.xy[0], &a), 0);
	assert_null(autodiff_flat(n.g, a, n.xy[0]));
	assert_int_equal(autodiff(n.g, 1, &a, NULL, 1, &n.xy[0], &a), 0);
	assert_int_equal(emit_mul(n.g, a, n.xy[1], &b), 0);
	flat = autodiff_flat(n.g, b, n.xy[0]);
	assert_non_null(flat);
	assert_string_equal(flat->op->name, "sign");
	assert_null(autodiff_flat(n.g, b, n.xy[1]));
	graph_free(n.g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_expression),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_flat),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
