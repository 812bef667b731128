/* SPDX-License-Identifier: BSD-3-Clause
 *
 * model/expr.h without a graph: how expressions are read, which types they have, and what is said
 * of mistakes, at which place. */
#include "arena_fixture.h"
#include "base/err.h"
#include "model/expr.h"

/* The value of key `v` in this YAML. */
static const struct ynode *scalar(const char *yaml)
{
	struct ynode *root;
	assert_int_equal(ytree_parse(a, "t.yaml", yaml, &root), 0);
	return ytree_find(root, "v");
}

/* An expression on line 1 of which column 1 is that of its text. */
static const struct ynode *quoted(const char *text)
{
	return scalar(arena_printf(a, "v: \"%s\"", text));
}
#define QUOTED_AT 4

static const struct expr *parse(const char *text)
{
	const struct expr *e = NULL;
	if (expr_parse(a, quoted(text), &e) < 0)
		fail_msg("'%s': column %d: %s", text, err_get(0)->loc.col - QUOTED_AT, err_get(0)->text);
	return e;
}

/* --- reading --- */

static void trees(void **state)
{
	static const struct { const char *text, *tree; } cases[] = {
		{ "-x^2", "(-(x ^ 2))" },
		{ "x ^ y ^ t", "(x ^ (y ^ t))" },
		{ "2^-1", "0.5" },
		{ "x^-y", "(x ^ (-y))" },
		{ "-x * y", "((-x) * y)" },
		{ "- -x", "(-(-x))" },
		{ "+x", "x" },
		{ "x - y - t", "((x - y) - t)" },
		{ "x / y * t", "((x / y) * t)" },
		{ "x + y * t ^ 2", "(x + (y * (t ^ 2)))" },
		{ "(x + y) * t", "((x + y) * t)" },
		{ "0.01 / pi", "0.003183098861837907" },
		{ "sin(pi / 2) + .5 + 1e-3 + 2.", "3.501" },
		{ "min(3, 1, 2) + max(1, 2) + pow(2, 3) + select(-1, 5, 7) + select(0, 1, 2)", "19" },
		{ "u + v @ walls", "((u + v) @ walls)" },
		{ "mean(residual^2 @ inside)", "mean(((residual ^ 2) @ inside))" },
		{ "(u @ left) - u(at.right)", "((u @ left) - (u @ right))" },
		{ "u( at.right )[1]", "((u @ right)[1])" },
		{ "grad(u)[0][2]^2", "(((grad(u)[0])[2]) ^ 2)" },
		{ "d(u, x, t) + d(u)", "(d(u, x, t) + d(u))" },
		{ "div(k * grad(u, x, y), x, y)", "div((k * grad(u, x, y)), x, y)" },
		{ "sensors.u - u(0.5, t)", "(sensors.u - u(0.5, t))" },
		{ "penalty(d, real, fake)", "penalty(d, real, fake)" },
		{ "join(u @ a, k @ b)", "join((u @ a), (k @ b))" },
		{ "\xCE\xBD*u_x1", "(\xCE\xBD * u_x1)" },
		{ "tanh(1) - tanh(1)", "0" }, { "sigmoid(0)", "0.5" }, { "softplus(1000)", "1000" },
		{ "softplus(-1000)", "0" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf b = BUF_INIT;
		expr_print(&b, parse(cases[i].text));
		if (strcmp(b.data, cases[i].tree) != 0)
			fail_msg("'%s' reads as %s, not %s", cases[i].text, b.data, cases[i].tree);
		buf_release(&b);
	}
	assert_true(expr_is_function("penalty") && !expr_is_function("d") && !expr_is_function("u"));
}

struct mistake {
	const char *text;
	int col, len;
	const char *message;
};

/* The newest error is this one. */
static void assert_mistake(const struct mistake *m, int rc)
{
	if (rc != E_CONFIG)
		fail_msg("'%s': no mistake is reported, code %d", m->text, rc);
	const struct err_entry *e = err_get(0);
	if (strcmp(e->text, m->message) != 0 || e->loc.line != 1 ||
	    e->loc.col != m->col + QUOTED_AT || e->loc.len != m->len)
		fail_msg("'%s': at %d, %d long: %s", m->text, e->loc.col - QUOTED_AT, e->loc.len, e->text);
	if (err_count() > 1)
		fail_msg("'%s': one more: %s", m->text, err_get(1)->text);
	err_clear();
}

static void bad_texts(void **state)
{
	static const struct mistake cases[] = {
		{ " ", -0, 3, "the expression is empty" },
		{ "(u + k", 1, 1, "'(' is not closed" },
		{ "mean(u + (k * 2)", 5, 1, "'(' is not closed" },
		{ "u + k)", 6, 1, "')' closes nothing" },
		{ "u k", 3, 1, "'k' where an operator is expected" },
		{ "u +", 4, 1, "the expression ends where a value is expected" },
		{ "u + * k", 5, 1, "'*' where a value is expected" },
		{ "u ** 2", 4, 1, "there is no operator '**'; a power is 'a^b'" },
		{ "d(u, t) = nu", 9, 1,
		  "an expression has no '='; for an equation write left side - right side" },
		{ "2x + 1", 1, 2, "'2x' is no number; a product is written '2 * x'" },
		{ "1.2.3", 1, 5, "'1.2.3' is no number" },
		{ "u + .", 5, 1, "'.' is no number" },
		{ "u + 1e-x", 5, 2, "'1e' is no number; a product is written '1 * e'" },
		{ "1e999", 1, 5, "'1e999' is too large for a number" },
		{ "1e-999", 1, 6, "'1e-999' is too small for a number" },
		{ "u + 1 / 0", 7, 1, "'1 / 0' is no finite number" },
		{ "sqrt(-1)", 1, 4, "'sqrt(-1)' is no finite number" },
		{ "d(u, x,)", 8, 1, "')' where a value is expected" },
		{ "d(u, x^2)", 7, 1, "'d' derives by coordinates: expected the name of one, not 'x^2'" },
		{ "dot(u)", 1, 3, "'dot' takes 2 arguments, but is given 1" },
		{ "min(u)", 1, 3, "'min' takes at least 2 arguments, but is given 1" },
		{ "u * sin", 5, 3, "'sin' is a function: 'sin(...)'" },
		{ "u @", 4, 1, "the expression ends where the name of a set of points is expected" },
		{ "u @ a @ b", 7, 1, "a second '@': the value is at the points of 'a' already" },
		{ "u[x]", 3, 1, "'x' where the number of a component, from 0, is expected" },
		{ "u[0", 2, 1, "'[' is not closed" },
		{ "mean(at.k)", 6, 2, "'at.' is for the one argument of a name: u(at.k)" },
		{ "penalty(2 * d, a, b)", 11, 1,
		  "'penalty' takes the name of a network first, not '2 * d'" },
		{ "u; k", 2, 1, "';' where an operator is expected" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct expr *e;
		assert_mistake(&cases[i], expr_parse(a, quoted(cases[i].text), &e));
	}
}

static void assert_refused(const struct ynode *n, int line, int col, const char *part)
{
	const struct expr *e;
	assert_int_equal(expr_parse(a, n, &e), E_CONFIG);
	if (!strstr(err_get(0)->text, part) || err_get(0)->loc.line != line ||
	    err_get(0)->loc.col != col)
		fail_msg("%d:%d: %s", err_get(0)->loc.line, err_get(0)->loc.col, err_get(0)->text);
	err_clear();
}

static void other_scalars(void **state)
{
	char *deep = arena_alloc(a, 300), *wide = arena_alloc(a, 6000);
	memset(deep, '-', 200);
	memset(wide, '+', 5000);
	deep[200] = wide[5000] = 'x';
	assert_refused(scalar("v:"), 1, 3, "empty");
	assert_refused(scalar("v: [u]"), 1, 4, "not a list");
	assert_refused(scalar("v: {u: 1}"), 1, 4, "not a map");
	assert_refused(scalar("v: >-\n  u +\n  (k + \n   * 2)\n"), 4, 4, "'*' where");
	assert_refused(scalar("{v: d(u, x)}"), 1, 6, "stands in quotes");
	assert_refused(scalar("v: 'u''\t '"), 1, 6, "'''");
	assert_refused(quoted(deep), 1, QUOTED_AT + 100, "more than 100 levels");
	assert_refused(quoted(wide), 1, QUOTED_AT, "more than 4000 bytes");
	/* as deep and as long as can be */
	memset(wide, '+', 3996);
	for (int i = 0; i < 3998; i += 2)
		wide[i] = 'x';
	wide[3997] = '\0';
	parse(wide);
	parse(deep + 102);
}

/* --- types --- */

static const struct expr_axis xt[] = { { "x", true }, { "t", false } };
static const struct expr_axis xy[] = { { "x", true }, { "y", true } };
static const char *const obs[] = { "obs", "pair" };
static const struct expr_set sets[] = {
	{ "inside", 10, 1, xt, 2, NULL, 0, false }, { "walls", 10, 1, xt, 2, NULL, 0, true },
	{ "line", 4, 1, xt, 1, NULL, 0, false },    { "plane", 5, 1, xy, 2, NULL, 0, false },
	{ "sensors", 7, 1, xt, 2, obs, 2, false },  { "many", 4, 3, xt, 1, obs, 1, false },
	{ "few", 6, 3, xt, 1, NULL, 0, false },     { "pairs", 4, 2, xt, 1, NULL, 0, false },
	{ "ends", 2, 1, xt + 1, 1, NULL, 0, false }
};
static const struct expr_input of_xt[] = { { "x", 1 }, { "t", 1 } };
static const struct expr_input of_xy[] = { { "x", 1 }, { "y", 1 } };
static const struct expr_input of_noise[] = { { "x", 1 }, { "xi", 4 } };
static const struct expr_input of_any[] = { { "snapshot", 0 } };
static const struct expr_input of_g[] = { { "b", 1 } }, of_b[] = { { "g", 1 } };
static struct expr_name names[] = {
	{ .name = "x", .what = EXPR_COORDINATE }, { .name = "y", .what = EXPR_COORDINATE },
	{ .name = "t", .what = EXPR_COORDINATE }, { .name = "nu", .what = EXPR_VARIABLE },
	{ .name = "obs", .what = EXPR_ARRAY, .components = 1 },
	{ .name = "pair", .what = EXPR_ARRAY, .components = 2 },
	{ .name = "xi", .what = EXPR_NOISE, .components = 4 },
	{ .name = "u", .what = EXPR_NETWORK, .components = 1, .input = of_xt, .ninput = 2 },
	{ .name = "k", .what = EXPR_NETWORK, .components = 1, .input = of_xt, .ninput = 1 },
	{ .name = "v2", .what = EXPR_NETWORK, .components = 2, .input = of_xy, .ninput = 2 },
	{ .name = "k3", .what = EXPR_NETWORK, .components = 3, .input = of_xy, .ninput = 2 },
	{ .name = "r", .what = EXPR_NETWORK, .components = 1, .input = of_xt, .ninput = 2,
	  .kinked = "relu" },
	{ .name = "f", .what = EXPR_NETWORK, .components = 1, .input = of_noise, .ninput = 2 },
	{ .name = "d", .what = EXPR_NETWORK, .components = 1, .input = of_any, .ninput = 1 },
	{ .name = "g", .what = EXPR_NETWORK, .components = 1, .input = of_g, .ninput = 1 },
	{ .name = "b", .what = EXPR_NETWORK, .components = 1, .input = of_b, .ninput = 1 },
	{ .name = "speed", .what = EXPR_LET }, { .name = "residual", .what = EXPR_LET },
	{ .name = "bad", .what = EXPR_LET },   { .name = "one", .what = EXPR_LET },
	{ .name = "two", .what = EXPR_LET },   { .name = "real", .what = EXPR_LET },
	{ .name = "fake", .what = EXPR_LET },  { .name = "worse", .what = EXPR_LET },
};
static const char *const lets[] = {
	"speed", "0.01 / pi", "residual", "d(u, t) + u * d(u, x) - speed * d(u, x, x)",
	"bad", "u * missing", "one", "1 + two", "two", "2 * one", "real", "join(many.obs, f @ few)",
	"fake", "join(f @ many, f @ few)", "worse", "bad + 1", NULL
};

static struct expr_scope *scope(void)
{
	struct expr_scope *s = ARENA_NEW(a, struct expr_scope);
	*s = (struct expr_scope){ a, names, (int)(sizeof names / sizeof *names), sets,
		                      (int)(sizeof sets / sizeof *sets), NULL };
	for (int l = 0; lets[l]; l += 2)
		for (int i = 0; i < s->nname; i++)
			if (!strcmp(names[i].name, lets[l]))
				names[i].let = parse(lets[l + 1]);
	return s;
}

static void types(void **state)
{
	static const struct {
		const char *text, *set;
		enum expr_extent extent;
		int components;
	} cases[] = {
		{ "speed * 3", NULL, EXPR_OF_NUMBER, 1 },
		{ "nu * speed", NULL, EXPR_OF_SCALAR, 1 },
		{ "residual", "inside", EXPR_OF_POINTS, 1 },
		{ "residual", "sensors", EXPR_OF_POINTS, 1 },
		{ "mean(residual^2 @ inside) + 3 * sum(u @ walls)", NULL, EXPR_OF_SCALAR, 1 },
		{ "mean(residual^2)", "inside", EXPR_OF_SCALAR, 1 },
		{ "grad(u)", "inside", EXPR_OF_POINTS, 1 },              /* not by t */
		{ "grad(u, x, t)", "inside", EXPR_OF_POINTS, 2 },
		{ "k * grad(v2[0])", "plane", EXPR_OF_POINTS, 2 },
		{ "div(v2) + laplacian(k)", "plane", EXPR_OF_POINTS, 1 },
		{ "laplacian(v2)", "plane", EXPR_OF_POINTS, 2 },
		{ "d(k3, x, y)", "plane", EXPR_OF_POINTS, 3 },
		{ "dot(v2, grad(v2[1])) + norm(k3)", "plane", EXPR_OF_POINTS, 1 },
		{ "join(v2, k3, 1, nu)", "plane", EXPR_OF_POINTS, 7 },
		{ "dn(u) + dn(k)", "walls", EXPR_OF_POINTS, 1 },
		{ "(u @ inside) - u(at.walls)", NULL, EXPR_OF_POINTS, 1 },
		{ "real", NULL, EXPR_OF_SNAPSHOTS, 10 },
		{ "d(fake) + d(real)", NULL, EXPR_OF_SNAPSHOTS, 1 },
		{ "penalty(d, real, fake)", NULL, EXPR_OF_SCALAR, 1 },
		{ "mean(u(0, 0.5)^2)", NULL, EXPR_OF_SCALAR, 1 },
		{ "u(x^2, 0)", "line", EXPR_OF_POINTS, 1 },
		{ "pair - obs", "sensors", EXPR_OF_POINTS, 2 },
		{ "d(r, x)", "inside", EXPR_OF_POINTS, 1 },
		{ "d(r * x^2, t)", "inside", EXPR_OF_POINTS, 1 },
		{ "select(x, k3, 0) ^ x", "plane", EXPR_OF_POINTS, 3 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct expr_scope *s = scope();
		struct expr_type t;
		int set = EXPR_NOWHERE;
		for (int k = 0; cases[i].set && k < s->nset; k++)
			if (!strcmp(sets[k].name, cases[i].set))
				set = k;
		if (expr_check(s, parse(cases[i].text), set, &t) < 0)
			fail_msg("'%s': column %d: %s", cases[i].text, err_get(0)->loc.col - QUOTED_AT,
			         err_get(0)->text);
		if (t.extent != cases[i].extent || t.components != cases[i].components)
			fail_msg("'%s': kind %d of %d components", cases[i].text, t.extent, t.components);
	}
}

static void bad_terms(void **state)
{
	static const struct mistake cases[] = {
		{ "mean(nuu @ inside)", 6, 3, "unknown name 'nuu'; did you mean 'nu'?" },
		{ "mean(residua @ inside)", 6, 7, "unknown name 'residua'; did you mean 'residual'?" },
		{ "mean(3 * inside)", 10, 6,
		  "'inside' is a set of points; values there are written 'e @ inside'" },
		{ "mean(sine(x) @ inside)", 6, 4, "unknown function 'sine'; did you mean 'sin'?" },
		{ "mean(nu(u) @ inside)", 6, 2,
		  "'nu' is neither a function nor a network; a product is written 'nu * (...)'" },
		{ "mean(u @ insde)", 10, 5, "unknown set of points 'insde'; did you mean 'inside'?" },
		{ "mean(v2 + k3 @ plane)", 9, 1, "'v2' has 2 components, 'k3' has 3" },
		{ "mean(dot(v2, k) @ plane)", 6, 3, "'v2' has 2 components, 'k' has 1" },
		{ "mean(min(v2, k, k3) @ plane)", 6, 3, "'v2' has 2 components, 'k3' has 3" },
		{ "mean(v2[2] @ plane)", 9, 1, "'v2' has 2 components, the last of which is [1]" },
		{ "mean(nu[0] @ plane)", 6, 2, "'nu' has no points, and so no components" },
		{ "mean(d(k, t) @ inside)", 11, 1, "'k' does not depend on 't'; its inputs are x" },
		{ "mean(d(u * k, y) @ plane)", 8, 1,
		  "the set 'plane' has no coordinate 't', which 'u' takes; it has x, y" },
		{ "mean(d(k * x^2, y) @ plane)", 17, 1, "'k * x^2' does not depend on 'y'" },
		{ "mean(d(obs, x) @ sensors)", 13, 1, "'obs' does not depend on 'x'" },
		{ "mean(d(u, nu) @ inside)", 11, 2, "'nu' is no coordinate: nothing can be derived by it" },
		{ "mean(d(u, z) @ inside)", 11, 1, "unknown name 'z'" },
		{ "mean(d(u, y) @ inside)", 11, 1, "the set 'inside' has no coordinate 'y'; it has x, t" },
		{ "mean(laplacian(f * 0 + t) @ ends)", 6, 9, "the set 'ends' has no coordinate in space" },
		{ "mean(laplacian(t + 1) @ inside)", 18, 1, "'t + 1' does not depend on x" },
		{ "mean(d(r, x, t) @ inside)", 8, 1,
		  "the second derivatives of 'r' are zero, since its activation is relu; use tanh, silu "
		  "or another smooth one" },
		{ "mean(laplacian(r) @ inside)", 16, 1,
		  "the second derivatives of 'r' are zero, since its activation is relu; use tanh, silu "
		  "or another smooth one" },
		{ "mean(obs - u @ inside)", 6, 3, "the set 'inside' has no array 'obs'" },
		{ "mean((sensors.ob - u) @ sensors)", 15, 2,
		  "the set 'sensors' has no array 'ob'; did you mean 'obs'?" },
		{ "mean((sensor.obs - u) @ sensors)", 7, 6,
		  "unknown set of points 'sensor'; did you mean 'sensors'?" },
		{ "mean(u @ line)", 6, 1,
		  "the set 'line' has no coordinate 't', which 'u' takes; it has x" },
		{ "mean(dn(u) @ inside)", 6, 2,
		  "the set 'inside' has no normals; 'dn' is for points of a boundary" },
		{ "mean(u^2 + x)", 6, 1,
		  "'u' is a value at points, and nothing says at which: write 'e @ SET'; there are inside, "
		  "walls, line, plane, sensors, many, few, pairs, ends" },
		{ "mean(residual^2)", 6, 8,
		  "'residual' is a value at points, and nothing says at which: write 'e @ SET'; there are "
		  "inside, walls, line, plane, sensors, many, few, pairs, ends" },
		{ "mean(nu)", 6, 2, "'nu' has no points to take the mean over" },
		{ "mean(sum(u) @ inside)", 6, 3, "'sum(u)' has no points to take the mean over" },
		{ "mean(d(nu, x) @ inside)", 8, 2, "'nu' has no points; only what has can be derived" },
		{ "mean(d(u @ inside, x) @ inside)", 12, 6,
		  "'@' cannot stand inside of a derivative; write it after it: d(...) @ inside" },
		{ "u^2 @ inside", 2, 1,
		  "a term is one number, but 'u^2 @ inside' has a value for each point; write mean(...) or "
		  "sum(...)" },
		{ "d(fake)", 1, 1,
		  "a term is one number, but 'd(fake)' has a value for each realization; write mean(...) "
		  "or sum(...)" },
		{ "3", 1, 1, "the number '3' is no term: nothing can be minimised" },
		{ "mean(one @ inside)", 5, 3, "'one' is defined by itself: one -> two -> one" },
		{ "mean(g @ inside)", 6, 1, "'g' is defined by itself: g -> b -> g" },
		{ "mean(bad @ inside)", 5, 7, "unknown name 'missing'" },
		{ "mean(worse * bad @ inside) + mean(bad)", 5, 7, "unknown name 'missing'" },
		{ "mean(u(x) @ inside)", 6, 1, "'u' takes 2 inputs, x, t, but is given 1" },
		{ "mean(u(x, v2) @ plane)", 11, 2, "'u' takes 1 component as 't', but 'v2' has 2" },
		{ "mean(d @ inside)", 6, 1,
		  "'d' needs its input: write 'd(...)', for there is nothing named 'snapshot'" },
		{ "mean((u @ inside) - u(at.sensors))", 19, 1,
		  "'u @ inside' has 10 points, 'u(at.sensors)' has 7" },
		{ "mean(fake - (f @ many))", 11, 1, "'f @ many' is at points, 'fake' is a snapshot" },
		{ "mean(join(f @ many, f @ pairs))", 21, 1,
		  "'f @ pairs' has 2 realizations, 'f @ many' has 3" },
		{ "mean(join(f @ many, k) @ few)", 21, 1,
		  "other arguments of 'join' say where they are, 'k' does not: write 'e @ SET'" },
		{ "mean(grad(v2) @ plane)", 11, 2,
		  "'grad' takes one component, but 'v2' has 2; choose one by e[k]" },
		{ "mean(div(k3) @ plane)", 10, 2,
		  "'div' takes a component for each of 2 coordinates, x, y, but 'k3' has 3" },
		{ "mean(div(k * grad(u), x, t) @ inside)", 12, 1,
		  "'div' takes a component for each of 2 coordinates, but 'k * grad(u)' has 1" },
		{ "mean(d(real)) + mean(d(k @ line))", 24, 1,
		  "'d' takes 10 components elsewhere as 'snapshot', but 'k @ line' has 1" },
		{ "mean(d(k) @ line) + penalty(d, real, fake)", 32, 4,
		  "'d' takes 1 component elsewhere as 'snapshot', but 'real' has 10" },
		{ "penalty(nu, real, fake)", 9, 2, "'nu' is no network" },
		{ "penalty(u, real, fake)", 9, 1, "'u' takes 2 inputs, x, t, but is given 1" },
		{ "penalty(d, real, f @ many)", 1, 7, "'f @ many' is at points, 'real' is a snapshot" },
		{ "penalty(d, real, nu)", 18, 2, "'nu' has no points" },
		{ "mean(slope(d, nu))", 15, 2, "'nu' has no points" },
		{ "slope(d, real)", 1, 5, "a term is one number, but 'slope(d, real)' has a value for each "
		  "realization; write mean(...) or sum(...)" },
		{ "mean(slope(d, real) - (f @ many))", 21, 1,
		  "'f @ many' is at points, 'slope(d, real)' is a snapshot" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_mistake(&cases[i], expr_check_term(scope(), parse(cases[i].text)));
}

/* Several mistakes are found in one go; where the mistake of a `let` shows is said with it. */
static void reports(void **state)
{
	struct expr_scope *s = scope();
	struct expr_type t;
	assert_int_equal(expr_check_term(s, parse("mean(uu + sine(kk) @ inside)")), E_CONFIG);
	assert_int_equal(err_count(), 2);
	err_clear();
	assert_int_equal(expr_check_term(s, parse("mean(residual @ line)")), E_CONFIG);
	assert_string_equal(err_get(0)->text,
	                    "the set 'line' has no coordinate 't'; it has x");
	assert_int_equal(err_get(0)->loc.col, QUOTED_AT + 6);
	assert_string_equal(err_get(0)->context[0], "in 'residual', used at the set 'line'");
	int n = err_count();
	assert_int_equal(expr_check_term(s, parse("mean(residual @ line)")), E_CONFIG);
	assert_int_equal(err_count(), n);        /* not again */
	assert_int_equal(expr_check_term(s, parse("mean(residual)")), E_CONFIG);
	assert_int_equal(err_count(), n + 1);
	assert_int_equal(expr_check_term(s, parse("sum(residual)")), E_CONFIG);
	assert_int_equal(err_count(), n + 2);    /* this mistake is the term's */
	err_clear();
	/* a let for itself */
	assert_int_equal(expr_check(s, parse("d(u, x) + laplacian(v2[0]) + obs"), EXPR_ANYWHERE, &t),
	                 0);
	assert_int_equal(expr_check(s, parse("d(u, y)"), EXPR_ANYWHERE, &t), E_CONFIG);
	err_clear();
}

static void bound_names(void **state)
{
	static const struct expr_bound bound[] = {
		{ "x", 1, true, NULL, NONE },
		{ "t", 1, true, NULL, NONE },
		{ "net", 2, false, "relu", NONE },
	};
	struct expr_type t;
	struct expr_scope *s = scope();
	assert_int_equal(expr_check_bound(s, parse("(1 - x^2) * t * net + k * nu - d(net, x)"), 3,
	                                  bound, &t), 0);
	assert_int_equal(t.components, 2);
	assert_int_equal(expr_check_bound(s, parse("net * y"), 3, bound, &t), E_CONFIG);
	assert_string_equal(err_get(0)->text, "'y' is none of the inputs here");
	err_clear();
	assert_int_equal(expr_check_bound(s, parse("net * v2"), 3, bound, &t), E_CONFIG);
	assert_string_equal(err_get(0)->text, "'y' is none of the inputs here, which 'v2' takes");
	err_clear();
	assert_int_equal(expr_check_bound(s, parse("d(net, x, t)"), 3, bound, &t), E_CONFIG);
	assert_int_equal(err_get(0)->loc.col, QUOTED_AT + 3);
	err_clear();
	assert_int_equal(expr_check_bound(s, parse("d(x, net)"), 3, bound, &t), E_CONFIG);
	err_clear();
	assert_int_equal(expr_check_bound(s, parse("laplacian(net)"), 3, bound, &t), E_CONFIG);
	assert_string_equal(err_get(0)->text, "name the coordinates here: laplacian(net, ...)");
	err_clear();
	assert_int_equal(expr_check_bound(s, parse("u @ line"), 3, bound, &t), E_CONFIG);
	assert_int_equal(err_get(0)->loc.col, QUOTED_AT + 5);
	err_clear();
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = { T(trees),     T(bad_texts), T(other_scalars), T(types),
		                                T(bad_terms), T(reports),   T(bound_names) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
