/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses expressions by recursive descent over the characters, with a function for each level of
 * the grammar (expr.h). Names are not resolved here; only functions are known, from their table. */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "model/expr_tree.h"

#define MAX_TEXT 4000    /* bytes; finding a location takes time proportional to the text before
                          * it */
#define MAX_DEPTH 100    /* nesting depth of parentheses, signs and exponents */

/* --- functions --- */

struct function {
	const char *name;
	int least, most;             /* arguments */
	bool coordinates;            /* arguments but the first are names of coordinates */
	double (*value)(double);     /* of a number; or NULL */
};

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double softplus(double x)
{
	return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static const struct function functions[] = {
	[CALL_SIN] = { "sin", 1, 1, .value = sin },
	[CALL_COS] = { "cos", 1, 1, .value = cos },
	[CALL_TAN] = { "tan", 1, 1, .value = tan },
	[CALL_EXP] = { "exp", 1, 1, .value = exp },
	[CALL_LOG] = { "log", 1, 1, .value = log },
	[CALL_SQRT] = { "sqrt", 1, 1, .value = sqrt },
	[CALL_ABS] = { "abs", 1, 1, .value = fabs },
	[CALL_TANH] = { "tanh", 1, 1, .value = tanh },
	[CALL_SINH] = { "sinh", 1, 1, .value = sinh },
	[CALL_COSH] = { "cosh", 1, 1, .value = cosh },
	[CALL_SIGMOID] = { "sigmoid", 1, 1, .value = sigmoid },
	[CALL_SOFTPLUS] = { "softplus", 1, 1, .value = softplus },
	[CALL_MIN] = { "min", 2, EXPR_ARGUMENTS },
	[CALL_MAX] = { "max", 2, EXPR_ARGUMENTS },
	[CALL_POW] = { "pow", 2, 2 },
	[CALL_SELECT] = { "select", 3, 3 },
	[CALL_DERIVE] = { "d", 2, EXPR_ARGUMENTS, .coordinates = true },
	[CALL_GRAD] = { "grad", 1, EXPR_ARGUMENTS, .coordinates = true },
	[CALL_DIV] = { "div", 1, EXPR_ARGUMENTS, .coordinates = true },
	[CALL_LAPLACIAN] = { "laplacian", 1, EXPR_ARGUMENTS, .coordinates = true },
	[CALL_NORMAL] = { "dn", 1, 1 },
	[CALL_DOT] = { "dot", 2, 2 },
	[CALL_NORM] = { "norm", 1, 1 },
	[CALL_MEAN] = { "mean", 1, 1 },
	[CALL_SUM] = { "sum", 1, 1 },
	[CALL_JOIN] = { "join", 1, EXPR_ARGUMENTS },
	[CALL_SLOPE] = { "slope", 2, 2 },
	[CALL_PENALTY] = { "penalty", 3, 3 },
};
#define NFUNCTION ((int)(sizeof functions / sizeof *functions))

static int function_find(const char *name)
{
	for (int i = 0; i < NFUNCTION; i++)
		if (!strcmp(functions[i].name, name))
			return i;
	return NONE;
}

bool expr_is_function(const char *name)
{
	int i = function_find(name);
	return i != NONE && i != CALL_DERIVE;
}

void expr_offer_functions(struct suggest *near)
{
	for (int i = 0; i < NFUNCTION; i++)
		suggest_offer(near, functions[i].name);
}

/* --- characters --- */

struct reader {
	struct arena *a;
	const struct ynode *node;
	const char *p;               /* in node->text */
	int depth;
};

static bool name_begins(const char *p)
{
	return isalpha((unsigned char)*p) || *p == '_' || (unsigned char)*p >= 0x80;
}

static size_t name_length(const char *p)
{
	size_t n = 0;
	while (name_begins(p + n) || (n && isdigit((unsigned char)p[n])))
		n++;
	return n;
}

static void skip_white(struct reader *r)
{
	r->p += strspn(r->p, " \t\r\n");
}

/* The next character that is not white, '\0' at the end. */
static char peek(struct reader *r)
{
	skip_white(r);
	return *r->p;
}

static bool take(struct reader *r, char c)
{
	if (peek(r) != c)
		return false;
	r->p++;
	return true;
}

static struct loc place(const struct reader *r, const char *from, size_t bytes)
{
	return ynode_place(r->node, (size_t)(from - r->node->text), bytes);
}

/* Bytes of the word or sign at p. */
static size_t word(const char *p)
{
	size_t n = strspn(p, "0123456789.");
	n += name_length(p + n);
	if (n)
		return n;
	n = (size_t)utf8_length(p);
	return n ? n : *p != '\0';
}

static int unexpected(struct reader *r, const char *expected)
{
	char c = peek(r);
	size_t n = word(r->p);
	struct loc loc = place(r, r->p, n);
	if (!c)
		return ERR(E_CONFIG, &loc, "the expression ends where %s is expected", expected);
	if (c == '=')
		return ERR(E_CONFIG, &loc,
		           "an expression has no '='; for an equation write left side - right side");
	if (c == '*' && r->p > r->node->text && r->p[-1] == '*')
		return ERR(E_CONFIG, &loc, "there is no operator '**'; a power is 'a^b'");
	return ERR(E_CONFIG, &loc, "'%.*s' where %s is expected", (int)n, r->p, expected);
}

/* --- the tree --- */

static struct expr *expr_new(struct reader *r, enum expr_op op, const char *at, size_t bytes, int n,
                             const struct expr *const *arg)
{
	struct expr *e = ARENA_NEW(r->a, struct expr);
	*e = (struct expr){ .op = op, .loc = place(r, at, bytes), .text = at, .length = (int)bytes,
		                .n = n };
	if (n)
		e->arg = arena_copy(r->a, arg, (size_t)n * sizeof *arg);
	return e;
}

/* The value of a sign between numbers. */
static double compute(enum expr_op op, double a, double b)
{
	switch (op) {
	case EXPR_NEGATE: return -a;
	case EXPR_ADD: return a + b;
	case EXPR_SUBTRACT: return a - b;
	case EXPR_MULTIPLY: return a * b;
	case EXPR_DIVIDE: return a / b;
	default: return pow(a, b);
	}
}

/* The same of a function. */
static double call(enum expr_call f, int n, const double *v)
{
	double y = v[0];
	if (functions[f].value)
		return functions[f].value(y);
	for (int i = 1; i < n && (f == CALL_MIN || f == CALL_MAX); i++)
		y = f == CALL_MIN ? fmin(y, v[i]) : fmax(y, v[i]);
	return f == CALL_POW ? pow(y, v[1]) : f == CALL_SELECT ? (y >= 0 ? v[1] : v[2]) : y;
}

int expr_compute(const struct expr *e, const double *v, double *out)
{
	*out = e->op == EXPR_CALL ? call(e->function, e->n, v) : compute(e->op, v[0], v[e->n - 1]);
	if (isfinite(*out))
		return 0;
	return ERR(E_CONFIG, &e->loc, "'%.*s' is no finite number", EXPR_TEXT(e));
}

/* Constant folding: a subtree of numbers becomes a number. */
static int fold(struct expr *e)
{
	double v[EXPR_ARGUMENTS];
	bool arithmetic = e->op >= EXPR_NEGATE && e->op <= EXPR_POWER;
	if (!arithmetic && !(e->op == EXPR_CALL && e->function <= CALL_SELECT))
		return 0;
	for (int i = 0; i < e->n; i++) {
		if (e->arg[i]->op != EXPR_NUMBER)
			return 0;
		v[i] = e->arg[i]->number;
	}
	TRY(expr_compute(e, v, &e->number));
	e->op = EXPR_NUMBER;
	return 0;
}

/* Ends e, which was read from `from` to r->p, less the white space at the end. */
static int finish(struct reader *r, const char *from, struct expr *e, const struct expr **out)
{
	e->text = from;
	e->length = (int)(r->p - from);
	while (e->length > 0 && isspace((unsigned char)from[e->length - 1]))
		e->length--;
	*out = e;
	return fold(e);
}

/* --- the levels of the grammar, from the innermost --- */

static int read_located(struct reader *r, const struct expr **out);

static int read_number(struct reader *r, const struct expr **out)
{
	const char *from = r->p, *p = from + strspn(from, "0123456789");
	struct expr *e;
	if (*p == '.')
		p += 1 + strspn(p + 1, "0123456789");
	size_t mantissa = (size_t)(p - from);
	if (*p == 'e' || *p == 'E') {
		const char *digits = p + 1 + (p[1] == '-' || p[1] == '+');
		if (isdigit((unsigned char)*digits))
			p = digits + strspn(digits, "0123456789");
	}
	e = expr_new(r, EXPR_NUMBER, from, (size_t)(p - from), 0, NULL);
	if (*p == '.' || name_begins(p) || (mantissa == 1 && *from == '.')) {
		size_t all = (size_t)(p - from) + word(p);
		e->loc = place(r, from, all);
		if (isalpha((unsigned char)*p) && mantissa == (size_t)(p - from) && *from != '.')
			return ERR(E_CONFIG, &e->loc, "'%.*s' is no number; a product is written '%.*s * %.*s'",
			           (int)all, from, (int)mantissa, from, (int)(all - mantissa), p);
		return ERR(E_CONFIG, &e->loc, "'%.*s' is no number", (int)all, from);
	}
	e->number = strtod(from, NULL);
	if (!isfinite(e->number) || (fabs(e->number) < DBL_MIN &&
	                             strcspn(from, "123456789") < mantissa))
		return ERR(E_CONFIG, &e->loc, "'%.*s' is too %s for a number", (int)(p - from), from,
		           isfinite(e->number) ? "small" : "large");
	r->p = p;
	*out = e;
	return 0;
}

/* "at.SET" and the closing parenthesis are next. */
static bool at_set(struct reader *r)
{
	const char *p = r->p + strspn(r->p, " \t\r\n");
	if (strncmp(p, "at.", 3) != 0 || !name_begins(p + 3))
		return false;
	p += 3 + name_length(p + 3);
	return p[strspn(p, " \t\r\n")] == ')';
}

static const char *take_name(struct reader *r)
{
	size_t n = name_length(r->p);
	char *name = arena_printf(r->a, "%.*s", (int)n, r->p);
	r->p += n;
	return name;
}

/* NAME(at.SET) from after the parenthesis on. */
static int read_at_set(struct reader *r, const char *from, const char *name,
                       const struct expr **out)
{
	struct expr *e = expr_new(r, EXPR_NAME, from, strlen(name), 0, NULL), *at;
	e->name = name;
	skip_white(r);
	r->p += 3;
	at = expr_new(r, EXPR_AT, r->p, name_length(r->p), 1, (const struct expr *[]){ e });
	at->set_loc = at->loc;
	at->loc = e->loc;
	at->set = take_name(r);
	take(r, ')');
	return finish(r, from, at, out);
}

/* A parenthesis that the text does not close: YAML may have ended the text at a comma. */
static int unclosed(struct reader *r, const char *open)
{
	struct loc loc = place(r, open, 1);
	return ERR(E_CONFIG, &loc, "'(' is not closed%s", r->node->quoted ? "" :
	           "; between '{' and '}' an expression that has a comma stands in quotes");
}

static int check_call(const struct expr *e)
{
	const struct function *f = &functions[e->function];
	if (e->n < f->least || e->n > f->most)
		return ERR(E_CONFIG, &e->loc, "'%s' takes %s%d argument%s, but is given %d", f->name,
		           f->most == EXPR_ARGUMENTS ? "at least " : "", f->least,
		           f->least == 1 ? "" : "s", e->n);
	for (int i = 1; i < e->n && f->coordinates; i++)
		if (e->arg[i]->op != EXPR_NAME)
			return ERR(E_CONFIG, &e->arg[i]->loc,
			           "'%s' derives by coordinates: expected the name of one, not '%.*s'", f->name,
			           EXPR_TEXT(e->arg[i]));
	if (e->function >= CALL_SLOPE && e->arg[0]->op != EXPR_NAME)
		return ERR(E_CONFIG, &e->arg[0]->loc, "'%s' takes the name of a network first, not '%.*s'",
		           f->name, EXPR_TEXT(e->arg[0]));
	return 0;
}

/* f(a, ...) from after the parenthesis on. */
static int read_call(struct reader *r, const char *from, const char *name, const char *open,
                     const struct expr **out)
{
	const struct expr *arg[EXPR_ARGUMENTS];
	int n = 0, f = function_find(name);
	do {
		if (n == EXPR_ARGUMENTS)
			return unexpected(r, "an end of the arguments");
		TRY(read_located(r, &arg[n++]));
	} while (take(r, ','));
	if (peek(r) && *r->p != ')')
		return unexpected(r, "an operator, ',' or ')'");
	if (!take(r, ')'))
		return unclosed(r, open);
	bool network = f == NONE || (f == CALL_DERIVE && n == 1);
	struct expr *e = expr_new(r, network ? EXPR_APPLY : EXPR_CALL, from, strlen(name), n, arg);
	e->name = name;
	if (!network) {
		e->function = (enum expr_call)f;
		TRY(check_call(e));
	}
	return finish(r, from, e, out);
}

static int read_name(struct reader *r, const struct expr **out)
{
	const char *from = r->p, *name = take_name(r), *open;
	struct expr *e = expr_new(r, EXPR_NAME, from, strlen(name), 0, NULL);
	if (*r->p == '.' && name_begins(r->p + 1)) {
		if (!strcmp(name, "at"))
			return ERR(E_CONFIG, &e->loc, "'at.' is for the one argument of a name: u(at.%.*s)",
			           (int)name_length(r->p + 1), r->p + 1);
		r->p++;
		e = expr_new(r, EXPR_MEMBER, r->p, name_length(r->p), 0, NULL);
		e->set_loc = place(r, from, strlen(name));
		e->set = name;
		e->name = take_name(r);
		return finish(r, from, e, out);
	}
	e->name = name;
	*out = e;
	if (!strcmp(name, "pi")) {
		e->op = EXPR_NUMBER;
		e->number = acos(-1);
		return 0;
	}
	open = r->p + strspn(r->p, " \t\r\n");
	if (!take(r, '('))
		return function_find(name) == NONE || function_find(name) == CALL_DERIVE ? 0 :
		       ERR(E_CONFIG, &e->loc, "'%s' is a function: '%s(...)'", name, name);
	if (!expr_is_function(name) && at_set(r))
		return read_at_set(r, from, name, out);
	return read_call(r, from, name, open, out);
}

static int read_primary(struct reader *r, const struct expr **out)
{
	char c = peek(r);
	const char *open = r->p;
	if (isdigit((unsigned char)c) || c == '.')
		return read_number(r, out);
	if (name_begins(r->p))
		return read_name(r, out);
	if (!take(r, '('))
		return unexpected(r, "a value");
	TRY(read_located(r, out));
	if (peek(r) && *r->p != ')')
		return unexpected(r, "an operator or ')'");
	return take(r, ')') ? 0 : unclosed(r, open);
}

/* e[k]... */
static int read_component(struct reader *r, const struct expr **out)
{
	skip_white(r);
	const char *from = r->p;
	TRY(read_primary(r, out));
	while (peek(r) == '[') {
		const char *open = r->p++;
		struct loc loc = place(r, open, 1);
		skip_white(r);
		size_t n = strspn(r->p, "0123456789");
		if (n == 0 || n > 6)
			return unexpected(r, "the number of a component, from 0,");
		struct expr *e = expr_new(r, EXPR_COMPONENT, r->p, n, 1, out);
		e->index = atoi(r->p);
		r->p += n;
		if (!take(r, ']'))
			return peek(r) ? unexpected(r, "']'") : ERR(E_CONFIG, &loc, "'[' is not closed");
		TRY(finish(r, from, e, out));
	}
	return 0;
}

static int read_signed(struct reader *r, const struct expr **out);

static int deeper(struct reader *r)
{
	struct loc loc = place(r, r->p, word(r->p));
	if (r->depth++ < MAX_DEPTH)
		return 0;
	return ERR(E_CONFIG, &loc, "more than %d levels of an expression in each other; give parts of "
	           "it names in 'let'", MAX_DEPTH);
}

static int read_power(struct reader *r, const struct expr **out)
{
	const struct expr *arg[2];
	skip_white(r);
	const char *from = r->p;
	TRY(read_component(r, out));
	if (peek(r) != '^')
		return 0;
	const char *sign = r->p++;
	arg[0] = *out;
	TRY(read_signed(r, &arg[1]));
	return finish(r, from, expr_new(r, EXPR_POWER, sign, 1, 2, arg), out);
}

static int read_signed(struct reader *r, const struct expr **out)
{
	char c = peek(r);
	const char *sign = r->p;
	int rc;
	TRY(deeper(r));
	if (c != '-' && c != '+') {
		rc = read_power(r, out);
	} else {
		r->p++;
		rc = read_signed(r, out);
		if (rc == 0 && c == '-')
			rc = finish(r, sign, expr_new(r, EXPR_NEGATE, sign, 1, 1, out), out);
	}
	r->depth--;
	return rc;
}

/* Operands of the level below, with one of two signs between them. */
static int read_row(struct reader *r, const char *signs, enum expr_op first,
                    int (*below)(struct reader *, const struct expr **), const struct expr **out)
{
	skip_white(r);
	const char *from = r->p;
	TRY(below(r, out));
	while (peek(r) == signs[0] || *r->p == signs[1]) {
		const char *sign = r->p++;
		const struct expr *arg[2] = { *out };
		TRY(below(r, &arg[1]));
		enum expr_op op = *sign == signs[0] ? first : first + 1;
		TRY(finish(r, from, expr_new(r, op, sign, 1, 2, arg), out));
	}
	return 0;
}

static int read_product(struct reader *r, const struct expr **out)
{
	return read_row(r, "*/", EXPR_MULTIPLY, read_signed, out);
}

static int read_located(struct reader *r, const struct expr **out)
{
	skip_white(r);
	const char *from = r->p;
	TRY(deeper(r));
	TRY(read_row(r, "+-", EXPR_ADD, read_product, out));
	r->depth--;
	if (!take(r, '@'))
		return 0;
	skip_white(r);
	if (!name_begins(r->p))
		return unexpected(r, "the name of a set of points");
	struct expr *e = expr_new(r, EXPR_AT, r->p, name_length(r->p), 1, out);
	e->set_loc = e->loc;
	e->loc = e->arg[0]->loc;
	e->set = take_name(r);
	if (peek(r) == '@') {
		struct loc loc = place(r, r->p, 1);
		return ERR(E_CONFIG, &loc, "a second '@': the value is at the points of '%s' already",
		           e->set);
	}
	return finish(r, from, e, out);
}

int expr_parse(struct arena *a, const struct ynode *n, const struct expr **out)
{
	struct reader r = { .a = a, .node = n, .p = n->text };
	if (n->kind == Y_SEQ || n->kind == Y_MAP)
		return ERR(E_CONFIG, &n->loc, "expected an expression, not a %s",
		           n->kind == Y_SEQ ? "list" : "map");
	if (!peek(&r))
		return ERR(E_CONFIG, &n->loc, "the expression is empty");
	if (strlen(n->text) > MAX_TEXT)
		return ERR(E_CONFIG, &n->loc, "an expression of more than %d bytes; give parts of it names "
		           "in 'let'", MAX_TEXT);
	TRY(read_located(&r, out));
	if (peek(&r) == ')' || *r.p == ']') {
		struct loc loc = place(&r, r.p, 1);
		return ERR(E_CONFIG, &loc, "'%c' closes nothing", *r.p);
	}
	return *r.p ? unexpected(&r, "an operator") : 0;
}

const struct loc *expr_loc(const struct expr *e)
{
	return &e->loc;
}

bool expr_names(const struct expr *e, const char *name)
{
	bool any = (e->op == EXPR_NAME || e->op == EXPR_MEMBER) && strcmp(e->name, name) == 0;
	for (int i = 0; i < e->n; i++)
		any |= expr_names(e->arg[i], name);
	return any;
}

/* --- printing --- */

static void print_arguments(struct buf *out, const struct expr *e)
{
	buf_printf(out, "%s(", e->name);
	for (int i = 0; i < e->n; i++) {
		buf_puts(out, i ? ", " : "");
		expr_print(out, e->arg[i]);
	}
	buf_putc(out, ')');
}

void expr_print(struct buf *out, const struct expr *e)
{
	static const char *const sign[] = {
		[EXPR_NEGATE] = "-", [EXPR_ADD] = "+", [EXPR_SUBTRACT] = "-", [EXPR_MULTIPLY] = "*",
		[EXPR_DIVIDE] = "/", [EXPR_POWER] = "^"
	};
	if (e->op == EXPR_NUMBER)
		buf_json_double(out, e->number);
	else if (e->op == EXPR_NAME)
		buf_puts(out, e->name);
	else if (e->op == EXPR_MEMBER)
		buf_printf(out, "%s.%s", e->set, e->name);
	else if (e->op == EXPR_APPLY || e->op == EXPR_CALL)
		print_arguments(out, e);
	else {
		buf_puts(out, e->op == EXPR_NEGATE ? "(-" : "(");
		expr_print(out, e->arg[0]);
		if (e->op == EXPR_COMPONENT)
			buf_printf(out, "[%d]", e->index);
		else if (e->op == EXPR_AT)
			buf_printf(out, " @ %s", e->set);
		else if (e->n > 1) {
			buf_printf(out, " %s ", sign[e->op]);
			expr_print(out, e->arg[1]);
		}
		buf_putc(out, ')');
	}
}
