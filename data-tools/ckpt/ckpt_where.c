/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses the expression by recursive descent into a tree of nodes in an arena. */
#include "data-tools/ckpt/ckpt_where.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/shown.h"
#include "ckpt/version_id.h"

#define DEEPEST 100

/* --- tokens --- */

enum token_kind { T_END, T_WORD, T_TEXT, T_SIGN };

struct token {
	enum token_kind kind;
	const char *text;                  /* of T_TEXT: without quotes */
	int col, len;
};

struct reader {
	struct arena *a;
	const char *all, *p;
	struct token now;
	int depth;
};

static struct loc place(const struct token *t)
{
	return (struct loc){ str_intern(WHERE_FILE), 1, t->col, t->len > 0 ? t->len : 1 };
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.[]+-:", c));
}

static bool starts_word(const char *p)
{
	return isalnum((unsigned char)*p) || *p == '_' ||
	       (strchr("+-.", *p) && *p && (isdigit((unsigned char)p[1]) || p[1] == '.'));
}

static size_t sign_length(const char *p)
{
	static const char *const signs[] = { "<=", ">=", "==", "!=", "&&", "||", "<", ">", "=", "!",
		"(", ")" };
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (strncmp(p, signs[i], strlen(signs[i])) == 0)
			return strlen(signs[i]);
	return 0;
}

static int read_text(struct reader *r, struct token *t)
{
	const char *end = strchr(r->p + 1, *r->p);
	if (!end) {
		struct loc at = place(t);
		return ERR(E_USAGE, &at, "a text without its closing %c", *r->p);
	}
	t->kind = T_TEXT;
	t->text = arena_printf(r->a, "%.*s", (int)(end - r->p - 1), r->p + 1);
	t->len = (int)(end + 1 - r->p);
	return 0;
}

static int next(struct reader *r)
{
	struct token t = { T_END, "", 0, 0 };
	r->p += strspn(r->p, " \t\n");
	t.col = (int)(r->p - r->all) + 1;
	if (*r->p == '\'' || *r->p == '"') {
		TRY(read_text(r, &t));
	} else if (starts_word(r->p)) {
		t.kind = T_WORD;
		while (is_word(r->p[t.len]))
			t.len++;
	} else if (*r->p) {
		t.kind = T_SIGN;
		t.len = (int)sign_length(r->p);
	}
	if (t.kind == T_SIGN && t.len == 0) {
		struct loc at = place(&t);
		return ERR(E_USAGE, &at, "'%s' is neither a name nor a number, nor one of < <= > >= = != "
		           "( )", shown(arena_printf(r->a, "%.1s", r->p)));
	}
	if (t.kind == T_WORD || t.kind == T_SIGN)
		t.text = arena_printf(r->a, "%.*s", t.len, r->p);
	r->p += t.len;
	r->now = t;
	return 0;
}

static bool is(const struct reader *r, const char *word, const char *sign)
{
	return (r->now.kind == T_WORD && strcmp(r->now.text, word) == 0) ||
	       (r->now.kind == T_SIGN && strcmp(r->now.text, sign) == 0);
}

static int expected(const struct reader *r, const char *what)
{
	struct loc at = place(&r->now);
	if (r->now.kind == T_END)
		return ERR(E_USAGE, &at, "the expression ends; expected %s", what);
	return ERR(E_USAGE, &at, "'%s': expected %s", shown(r->now.text), what);
}

/* --- the tree --- */

enum node_kind { N_OR, N_AND, N_NOT, N_FLAG, N_COMPARE };
enum flag { FLAG_FORK, FLAG_PINNED, FLAG_TAGGED };
enum operand_kind { O_NUMBER, O_TEXT, O_STEP, O_EPOCH, O_TIME, O_RANKS, O_METRIC, O_RUN, O_ID };
enum compare { C_LESS, C_LESS_EQUAL, C_GREATER, C_GREATER_EQUAL, C_EQUAL, C_DIFFERENT };

struct operand {
	enum operand_kind kind;
	double number;                     /* O_NUMBER */
	const char *text;                  /* O_TEXT; O_METRIC: its name */
	struct token token;
};

struct where {
	enum node_kind kind;
	struct where *left, *right;        /* N_NOT: left alone */
	enum flag flag;
	enum compare compare;
	struct operand a, b;
};

static const struct {
	const char *name;
	enum operand_kind kind;
} words[] = { { "step", O_STEP }, { "epoch", O_EPOCH }, { "time", O_TIME }, { "ranks", O_RANKS },
	{ "run", O_RUN }, { "id", O_ID } };
static const char *const flags[] = { [FLAG_FORK] = "fork", [FLAG_PINNED] = "pinned",
	[FLAG_TAGGED] = "tagged" };
static const struct {
	const char *sign;
	enum compare compare;
} signs[] = { { "<", C_LESS }, { "<=", C_LESS_EQUAL }, { ">", C_GREATER },
	{ ">=", C_GREATER_EQUAL }, { "=", C_EQUAL }, { "==", C_EQUAL }, { "!=", C_DIFFERENT } };
#define COUNT(list) ((int)(sizeof list / sizeof *list))

static bool is_number(const char *text, double *v)
{
	char *end;
	*v = strtod(text, &end);
	return end != text && !*end && isfinite(*v) && !strpbrk(text, "xX");
}

/* 2026-11-20, with a time of day after a T or a space or without, in local time. */
static bool is_date(const char *text, double *v)
{
	struct tm t = { .tm_isdst = -1 }, back;
	int used = 0, year, month, day;
	char sep = 0;
	if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) < 3 || used < 8)
		return false;
	text += used;
	used = 0;
	if (*text && (sscanf(text, "%c%2d:%2d%n", &sep, &t.tm_hour, &t.tm_min, &used) < 3 ||
	              !used || !strchr("T ", sep)))
		return false;
	text += used;
	used = 0;
	if (*text && (sscanf(text, ":%2d%n", &t.tm_sec, &used) < 1 || !used || text[used]))
		return false;
	t.tm_year = year - 1900;
	t.tm_mon = month - 1;
	t.tm_mday = day;
	back = t;
	*v = (double)mktime(&t);
	return t.tm_mon == back.tm_mon && t.tm_mday == back.tm_mday && t.tm_min == back.tm_min &&
	       t.tm_sec == back.tm_sec && back.tm_hour < 24;
}

static enum operand_kind kind_of_word(const char *text)
{
	for (int i = 0; i < COUNT(words); i++)
		if (strcmp(text, words[i].name) == 0)
			return words[i].kind;
	return O_METRIC;
}

/* A word that begins with a digit is a number, a date, or digits of a run or an id. */
static int read_operand(struct reader *r, struct operand *o)
{
	*o = (struct operand){ O_TEXT, 0, r->now.text, r->now };
	if (r->now.kind != T_WORD && r->now.kind != T_TEXT)
		return expected(r, "step, epoch, time, ranks, run, id, a metric, a number or a date");
	if (r->now.kind == T_WORD && (is_number(r->now.text, &o->number) ||
	                              is_date(r->now.text, &o->number)))
		o->kind = O_NUMBER;
	else if (r->now.kind == T_TEXT && is_date(r->now.text, &o->number))
		o->kind = O_NUMBER;
	else if (r->now.kind == T_WORD && (isalpha((unsigned char)*r->now.text) ||
	                                   *r->now.text == '_'))
		o->kind = kind_of_word(r->now.text);
	if (o->kind == O_METRIC && strncmp(o->text, "metrics.", 8) == 0)
		o->text += 8;
	return next(r);
}

static bool is_name(const struct operand *o)
{
	return o->kind == O_RUN || o->kind == O_ID;
}

static bool is_literal(const struct operand *o)
{
	return o->kind == O_NUMBER || o->kind == O_TEXT;
}

/* Runs and ids are words of digits: besides these anything that is no name is one. */
static void take_as_text(struct operand *o)
{
	if (o->kind != O_NUMBER && o->kind != O_METRIC)
		return;
	o->kind = O_TEXT;
	o->text = o->token.text;
}

static int check_operands(struct where *w)
{
	struct loc a = place(&w->a.token), b = place(&w->b.token);
	if (is_name(&w->a))
		take_as_text(&w->b);
	else if (is_name(&w->b))
		take_as_text(&w->a);
	if (is_literal(&w->a) && is_literal(&w->b))
		return ERR(E_USAGE, &a, "'%s' and '%s' are both given; expected the name of what to "
		           "compare, such as step", shown(w->a.token.text), shown(w->b.token.text));
	if ((is_name(&w->a) || is_name(&w->b)) && w->compare != C_EQUAL && w->compare != C_DIFFERENT)
		return ERR(E_USAGE, is_name(&w->a) ? &a : &b, "'%s' has no order; expected = or !=",
		           is_name(&w->a) ? w->a.token.text : w->b.token.text);
	if (is_name(&w->a) && w->b.kind != O_TEXT)
		return ERR(E_USAGE, &b, "'%s': expected the beginning of one", w->b.token.text);
	if (is_name(&w->b) && w->a.kind != O_TEXT)
		return ERR(E_USAGE, &a, "'%s': expected the beginning of one", w->a.token.text);
	if (!is_name(&w->a) && !is_name(&w->b) && (w->a.kind == O_TEXT || w->b.kind == O_TEXT))
		return ERR(E_USAGE, w->a.kind == O_TEXT ? &a : &b, "'%s': expected a number or a date such "
		           "as 2026-11-20 or 2026-11-20T13:05",
		           shown(w->a.kind == O_TEXT ? w->a.text : w->b.text));
	return 0;
}

static int find_sign(const struct reader *r)
{
	for (int i = 0; r->now.kind == T_SIGN && i < COUNT(signs); i++)
		if (strcmp(r->now.text, signs[i].sign) == 0)
			return i;
	return -1;
}

static int read_comparison(struct reader *r, struct where **out)
{
	struct where *w = ARENA_NEW(r->a, struct where);
	int sign;
	*out = w;
	w->kind = N_FLAG;
	for (int i = 0; r->now.kind == T_WORD && i < COUNT(flags); i++)
		if (strcmp(r->now.text, flags[i]) == 0) {
			w->flag = (enum flag)i;
			return next(r);
		}
	w->kind = N_COMPARE;
	TRY(read_operand(r, &w->a));
	sign = find_sign(r);
	if (sign < 0)
		return expected(r, "one of < <= > >= = != behind it");
	w->compare = signs[sign].compare;
	TRY(next(r));
	TRY(read_operand(r, &w->b));
	TRY(check_operands(w));
	return find_sign(r) < 0 ? 0 :
	       expected(r, "'and' or 'or': a comparison has two sides, as in 10 < step and step < 20");
}

static int read_any(struct reader *r, struct where **out);

static int read_inner(struct reader *r, struct where **out)
{
	if (r->depth++ > DEEPEST)
		return expected(r, "fewer of these within one another");
	if (is(r, "not", "!")) {
		*out = ARENA_NEW(r->a, struct where);
		(*out)->kind = N_NOT;
		TRY(next(r));
		return read_inner(r, &(*out)->left);
	}
	if (!is(r, "(", "("))
		return read_comparison(r, out);
	TRY(next(r));
	TRY(read_any(r, out));
	return is(r, ")", ")") ? next(r) : expected(r, "')', 'and' or 'or'");
}

static int read_one(struct reader *r, struct where **out)
{
	const int depth = r->depth;
	int rc = read_inner(r, out);
	r->depth = depth;
	return rc;
}

static struct where *join(struct reader *r, enum node_kind kind, struct where *left)
{
	struct where *w = ARENA_NEW(r->a, struct where);
	w->kind = kind;
	w->left = left;
	return w;
}

static int read_all(struct reader *r, struct where **out)
{
	TRY(read_one(r, out));
	while (is(r, "and", "&&")) {
		*out = join(r, N_AND, *out);
		TRY(next(r));
		TRY(read_one(r, &(*out)->right));
	}
	return 0;
}

static int read_any(struct reader *r, struct where **out)
{
	TRY(read_all(r, out));
	while (is(r, "or", "||")) {
		*out = join(r, N_OR, *out);
		TRY(next(r));
		TRY(read_all(r, &(*out)->right));
	}
	return 0;
}

int where_parse(struct where **out, struct arena *a, const char *text)
{
	struct reader r = { .a = a, .all = text, .p = text };
	err_source_add(WHERE_FILE, text);
	TRY(next(&r));
	TRY(read_any(&r, out));
	return r.now.kind == T_END ? 0 : expected(&r, "'and', 'or' or the end");
}

/* --- what it says of a version --- */

static bool find_metric(const struct manifest *m, const char *name, double *v)
{
	for (int i = 0; i < m->nmetrics; i++)
		if (strcmp(m->metrics[i].name, name) == 0) {
			*v = m->metrics[i].value;
			return true;
		}
	return false;
}

static bool value_of(const struct operand *o, const struct manifest *m, double *v)
{
	const double is[] = { [O_NUMBER] = o->number, [O_STEP] = (double)m->step,
		[O_EPOCH] = (double)m->epoch, [O_TIME] = (double)m->time, [O_RANKS] = m->ranks };
	if (o->kind == O_METRIC)
		return find_metric(m, o->text, v);
	*v = is[o->kind];
	return true;
}

static bool compare(double a, enum compare c, double b)
{
	const bool holds[] = { [C_LESS] = a < b, [C_LESS_EQUAL] = a <= b, [C_GREATER] = a > b,
		[C_GREATER_EQUAL] = a >= b, [C_EQUAL] = a == b, [C_DIFFERENT] = a != b };
	return holds[c];
}

/* A run or an id is meant by its beginning, an id also without its leading zeros. */
static bool begins(const struct where *w, const struct history_version *v)
{
	const struct operand *name = is_name(&w->a) ? &w->a : &w->b;
	const char *text = name == &w->a ? w->b.text : w->a.text;
	const char *is = name->kind == O_RUN ? v->m.run : v->id;
	bool hit = strncmp(is, text, strlen(text)) == 0 ||
	           (name->kind == O_ID && strncmp(version_bare_id(is), text, strlen(text)) == 0);
	return hit == (w->compare == C_EQUAL);
}

static bool has_flag(enum flag flag, const struct history *h, const struct history_version *v)
{
	bool pinned = false, tagged = false;
	for (int i = 0; i < h->refs.n; i++)
		if (strcmp(h->refs.ref[i].id, v->id) == 0)
			*(h->refs.ref[i].name ? &tagged : &pinned) = true;
	return flag == FLAG_FORK ? v->m.fork : flag == FLAG_PINNED ? pinned : tagged;
}

static bool holds(const struct where *w, const struct history *h, const struct history_version *v)
{
	double a, b;
	if (w->kind == N_OR)
		return holds(w->left, h, v) || holds(w->right, h, v);
	if (w->kind == N_AND)
		return holds(w->left, h, v) && holds(w->right, h, v);
	if (w->kind == N_NOT)
		return !holds(w->left, h, v);
	if (w->kind == N_FLAG)
		return has_flag(w->flag, h, v);
	if (is_name(&w->a) || is_name(&w->b))
		return begins(w, v);
	return value_of(&w->a, &v->m, &a) && value_of(&w->b, &v->m, &b) && compare(a, w->compare, b);
}

bool where_holds(const struct where *w, const struct history *h, int i)
{
	return !h->v[i].damage && holds(w, h, &h->v[i]);
}

/* --- names --- */

static bool any_has(const struct history *h, const char *name)
{
	double v;
	for (int i = 0; i < h->n; i++)
		if (find_metric(&h->v[i].m, name, &v))
			return true;
	return false;
}

/* Each name once, in the order of the versions. */
static void list_metrics(const struct history *h, struct buf *out)
{
	for (int i = 0; i < h->n; i++)
		for (int k = 0; k < h->v[i].m.nmetrics; k++) {
			const char *name = h->v[i].m.metrics[k].name;
			double v;
			bool before = false;
			for (int j = 0; j < i && !before; j++)
				before = find_metric(&h->v[j].m, name, &v);
			if (!before)
				buf_printf(out, "%s%s", out->len ? ", " : "", shown(name));
		}
}

static int check_operand(const struct operand *o, const struct history *h)
{
	struct buf names = BUF_INIT;
	struct loc at = place(&o->token);
	int rc;
	if (o->kind != O_METRIC || any_has(h, o->text))
		return 0;
	list_metrics(h, &names);
	rc = ERR(E_USAGE, &at, "no version has the metric '%s'; there is: step, epoch, time, ranks, "
	         "run, id%s%s", shown(o->text), names.len ? ", " : "", names.data);
	buf_release(&names);
	return rc;
}

int where_check(const struct where *w, const struct history *h)
{
	if (w->left)
		TRY(where_check(w->left, h));
	if (w->right)
		TRY(where_check(w->right, h));
	if (w->kind != N_COMPARE)
		return 0;
	TRY(check_operand(&w->a, h));
	return check_operand(&w->b, h);
}
