/* SPDX-License-Identifier: BSD-3-Clause
 *
 * $NAME and expressions such as 2*$filters replaced by what the use of a block gives. A value that
 * replaces a whole scalar keeps its node and with it its place: a mistake in it is reported where
 * it is written. Expressions are exact: integers of 64 bits, no overflow, no remainder.
 *
 *   sum: product {(+|-) product}   product: atom {(*|/) atom}   atom: INTEGER, $NAME, (sum) */
#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "model/layer_scope.h"

#define MAX_DEPTH 32 /* of parentheses */

/* --- names --- */

/* Whether the whole text is one "$name" of n letters. */
static int whole_name(const struct ynode *node)
{
	int n = node->kind == Y_SCALAR ? layer_parameter_at(node->text) : 0;
	return n && !node->text[1 + n] ? n : 0;
}

/* The argument that "$name", at text, stands for. loc: of the scalar it is in. */
static int find(const struct layer_use *use, const char *text, int n,
                const struct loc *loc, const struct layer_argument **out)
{
	if (!use)
		return ERR(E_CONFIG, loc, "'%.*s' stands in no block; only the layers of a block have "
		           "parameters", n + 1, text);
	int i = layer_parameter_find(use->block, text + 1, n);
	BUG_IF(i < 0, "'%s' is no parameter of '%s'", text, use->block->name);
	*out = &use->arg[i];
	return 0;
}

void layer_written(const struct layer_scope **s, const struct ynode **n)
{
	for (int length; (length = whole_name(*n)) > 0 && (*s)->use;) {
		int i = layer_parameter_find((*s)->use->block, (*n)->text + 1, length);
		if (i < 0)
			return;
		const struct layer_argument *arg = &(*s)->use->arg[i];
		*n = arg->written;
		*s = arg->scope;
	}
}

/* --- expressions --- */

struct expression {
	const struct layer_use *use;
	const struct ynode *node;
	const char *p;
	struct loc loc; /* of the first argument */
	int depth;
};

static int sum(struct expression *e, int64_t *v);

static void blank(struct expression *e)
{
	while (*e->p == ' ')
		e->p++;
}

static int malformed(const struct expression *e)
{
	return ERR(E_CONFIG, &e->node->loc, "'%s' is no expression: expected integers and $NAMEs "
	           "between +, -, * and /", e->node->text);
}

static int argument(struct expression *e, int n, int64_t *v)
{
	const struct layer_argument *arg;
	TRY(find(e->use, e->p, n, &e->node->loc, &arg));
	if (!e->loc.file)
		e->loc = arg->value->loc;
	if (arg->value->kind != Y_SCALAR || !y_int(arg->value, v))
		return ERR(E_CONFIG, &arg->value->loc,
		           "'%s' must be an integer for '%s' (line %d) of block '%s'", arg->name,
		           e->node->text, e->node->loc.line, e->use->block->name);
	e->p += 1 + n;
	return 0;
}

static int atom(struct expression *e, int64_t *v)
{
	blank(e);
	int n = layer_parameter_at(e->p);
	if (n)
		return argument(e, n, v);
	if (*e->p == '(' && e->depth < MAX_DEPTH) {
		e->p++;
		e->depth++;
		TRY(sum(e, v));
		e->depth--;
		blank(e);
		return *e->p++ == ')' ? 0 : malformed(e);
	}
	if (!isdigit((unsigned char)*e->p))
		return malformed(e);
	for (*v = 0; isdigit((unsigned char)*e->p); e->p++)
		if (__builtin_mul_overflow(*v, 10, v) || __builtin_add_overflow(*v, *e->p - '0', v))
			return malformed(e);
	return 0;
}

static int apply(const struct expression *e, char op, int64_t b, int64_t *v)
{
	int64_t a = *v;
	bool over = op == '+' ? __builtin_add_overflow(a, b, v) :
	            op == '-' ? __builtin_sub_overflow(a, b, v) :
	            op == '*' ? __builtin_mul_overflow(a, b, v) : b == 0 || (b == -1 && a < -INT64_MAX);
	const struct loc *loc = e->loc.file ? &e->loc : &e->node->loc;
	if (over)
		return ERR(E_CONFIG, loc, "'%s' (line %d) has no value: %lld %c %lld", e->node->text,
		           e->node->loc.line, (long long)a, op, (long long)b);
	if (op == '/' && a % b)
		return ERR(E_CONFIG, loc, "'%s' (line %d) is no integer: %lld / %lld", e->node->text,
		           e->node->loc.line, (long long)a, (long long)b);
	if (op == '/')
		*v = a / b;
	return 0;
}

/* operands joined by the two operators, from left to right. */
static int chain(struct expression *e, const char *operators,
                 int (*operand)(struct expression *, int64_t *), int64_t *v)
{
	int64_t b;
	TRY(operand(e, v));
	for (blank(e); *e->p && strchr(operators, *e->p); blank(e)) {
		char op = *e->p++;
		TRY(operand(e, &b));
		TRY(apply(e, op, b, v));
	}
	return 0;
}

static int product(struct expression *e, int64_t *v)
{
	return chain(e, "*/", atom, v);
}

static int sum(struct expression *e, int64_t *v)
{
	return chain(e, "+-", product, v);
}

/* --- nodes --- */

static int scalar(struct arena *a, const struct layer_use *use, struct ynode *in,
                  struct ynode **out)
{
	int n = whole_name(in);
	struct expression e = { .use = use, .node = in, .p = in->text };
	const struct layer_argument *arg;
	int64_t v;
	*out = in;
	if (!strchr(in->text, '$'))
		return 0;
	if (n) {
		TRY(find(use, in->text, n, &in->loc, &arg));
		*out = arg->value;
		return 0;
	}
	TRY(sum(&e, &v));
	if (*e.p)
		return malformed(&e);
	*out = arena_copy(a, in, sizeof *in);
	(*out)->text = arena_printf(a, "%lld", (long long)v);
	(*out)->quoted = false;
	(*out)->loc = e.loc;
	return 0;
}

static bool has_parameters(const struct ynode *n)
{
	bool has = n->kind == Y_SCALAR && strchr(n->text, '$') != NULL;
	for (int i = 0; n->kind == Y_SEQ && i < n->n && !has; i++)
		has = has_parameters(n->item[i]);
	for (int i = 0; n->kind == Y_MAP && i < n->n && !has; i++)
		has = has_parameters(n->pair[i].value);
	return has;
}

int layer_substitute(struct arena *a, const struct layer_scope *s, struct ynode *in,
                     const struct ynode *except, struct ynode **out)
{
	int rc = 0;
	*out = in;
	if (in == except || !has_parameters(in))
		return 0;
	if (in->kind == Y_SCALAR)
		return scalar(a, s->use, in, out);
	*out = arena_copy(a, in, sizeof *in);
	if (in->kind == Y_SEQ)
		(*out)->item = arena_copy(a, in->item, sizeof *in->item * (size_t)in->n);
	else
		(*out)->pair = arena_copy(a, in->pair, sizeof *in->pair * (size_t)in->n);
	for (int i = 0; i < in->n; i++) {
		struct ynode **at = in->kind == Y_SEQ ? &(*out)->item[i] : &(*out)->pair[i].value;
		int one = layer_substitute(a, s, *at, except, at);
		rc = rc ? rc : one;
	}
	return rc;
}
