/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--set KEY=VALUE": walks the path from the root and replaces what is at its end. Its words have
 * dots between them; an item of a list is an index in brackets or a word, "layers[2]" or
 * "layers.2". In an item that is a map of one key, its type, other keys are those of the type. The
 * assignments of a process are the lines of one text known as "--set", so that a mistake in any of
 * them, found now or by a schema later, is shown with a caret. Nodes on the path are copied before
 * they change: an alias shares them, and only the path that was named may change. */
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "yaml/ytree_parse.h"

#define TEXT_MAX (64 << 10)   /* then it starts anew: only tests make this many assignments */

static struct buf said = BUF_INIT;
static int lines;

/* Adds the assignment to the text; returns the place of its first character. */
static struct loc say(const char *assignment)
{
	struct loc loc = { str_intern("--set"), 0, 1, 1 };
	if (said.len > TEXT_MAX) {
		buf_clear(&said);
		lines = 0;
	}
	loc.line = ++lines;
	buf_printf(&said, "%s\n", assignment);
	for (const char *p = assignment; *p; p++)
		lines += *p == '\n';
	err_source_add(loc.file, said.data);
	return loc;
}

/* A copy of n with members of its own, the same values. */
static struct ynode *shallow(struct arena *a, const struct ynode *n)
{
	struct ynode *c = arena_copy(a, n, sizeof *n);
	if (n->kind == Y_MAP)
		c->pair = arena_copy(a, n->pair, (size_t)n->n * sizeof *n->pair);
	if (n->kind == Y_SEQ)
		c->item = arena_copy(a, n->item, (size_t)n->n * sizeof *n->item);
	return c;
}

/* A path, of which a part has been walked. */
struct walk {
	struct arena *a;
	struct ynode *n;           /* the node reached so far */
	struct loc loc;            /* of the word */
	const char *word;
	char *above;               /* the path down to n, for messages; "" at the root */
	const char *near;          /* where the config lacks that: a key that may be meant, or NULL */
	bool bracket, last, item;  /* the word is an index in brackets, the path's end; n is an item */
};

/* The path of a key of n. */
static char *below(const struct walk *w, const char *key)
{
	return arena_printf(w->a, "%s%s%s", w->above, *w->above ? "." : "", key);
}

/* The sequence's item that the word names, or NULL with *rc set. */
static struct ynode **item_slot(const struct walk *w, int *rc)
{
	struct ynode index = { .kind = Y_SCALAR, .text = w->word };
	const int n = w->n->n;
	int64_t i;
	if (!y_int(&index, &i) || strspn(w->word, "0123456789") != strlen(w->word))
		*rc = ERR(E_CONFIG, &w->loc, "'%s' must be an index: '%s' is a list, whose first item is "
		          "'%s[0]'", w->word, w->above, w->above);
	else if (n == 0)
		*rc = ERR(E_CONFIG, &w->loc, "index %s is past the end: '%s' is an empty list", w->word,
		          w->above);
	else if (i >= n)
		*rc = ERR(E_CONFIG, &w->loc,
		          "index %s is past the end: '%s' has %d item%s, %s[0] to %s[%d]", w->word,
		          w->above, n, n == 1 ? "" : "s", w->above, w->above, n - 1);
	else
		return &w->n->item[i];
	return NULL;
}

/* An index where there is no list. */
static int no_list(const struct walk *w)
{
	if (w->n->kind == Y_NULL && w->near)
		return ERR(E_CONFIG, &w->loc, "'%s' is not in the config; did you mean '%s'?", w->above,
		           w->near);
	if (w->n->kind == Y_NULL)
		return ERR(E_CONFIG, &w->loc, "'%s' is not in the config, so it has no item %s; set the "
		           "whole list: --set '%s=[...]'", w->above, w->word, w->above);
	return ERR(E_CONFIG, &w->loc, "'%s' is %s, no list: it has no item %s%s%s%s", w->above,
	           w->n->kind == Y_MAP ? "a map" : "a value", w->word,
	           w->n->kind == Y_MAP ? "; its keys follow a dot: --set " : "",
	           w->n->kind == Y_MAP ? w->above : "", w->n->kind == Y_MAP ? ".KEY=VALUE" : "");
}

static int no_keys(const struct walk *w)
{
	return ERR(E_CONFIG, &w->loc, "there is no key '%s' here: its parent is the value '%.60s'; set "
	           "'%s' as a whole: --set '%s={...}'", w->word, w->n->text, w->above, w->above);
}

/* Goes into the only key of an item, its type, unless the word names it. */
static void enter_type(struct walk *w)
{
	struct ypair *type = w->n->pair;
	if (!w->item || w->n->n != 1 || strcmp(type->key, w->word) == 0 ||
	    (type->value->kind != Y_MAP && type->value->kind != Y_NULL))
		return;
	w->above = arena_printf(w->a, "%s.%s", w->above, type->key);
	w->n = type->value = shallow(w->a, type->value);
	w->item = false;
}

/* The slot of the value that the word names; made if a map lacks the key. */
static struct ynode **slot(struct walk *w, int *rc)
{
	struct ypair *p;
	if (w->n->kind == Y_MAP && !w->bracket)
		enter_type(w);
	if (w->n->kind == Y_SEQ)
		return item_slot(w, rc);
	if (w->bracket || w->n->kind == Y_SCALAR) {
		*rc = w->bracket ? no_list(w) : no_keys(w);
		return NULL;
	}
	if (w->n->kind == Y_NULL)
		*w->n = (struct ynode){ .kind = Y_MAP, .text = "", .loc = w->loc };
	p = ytree_pair(w->n, w->word);
	w->near = NULL;
	if (!p) {
		struct suggest near = { .word = w->word };
		for (int i = 0; i < w->n->n; i++)
			suggest_offer(&near, w->n->pair[i].key);
		w->near = near.best ? below(w, near.best) : NULL;
		ynode_add_pair(w->a, w->n, w->word, ynode_new(w->a, Y_NULL));
		p = &w->n->pair[w->n->n - 1];
		p->value->loc = w->loc;
		p->key_loc = w->loc;
	}
	if (w->last)
		p->key_loc = w->loc;
	return &p->value;
}

/* Cuts the next word off path; *rest: what follows it, NULL at the end. */
static int next_word(struct walk *w, char *path, char **rest)
{
	char *end = path + strcspn(path, w->bracket ? "]" : ".[");
	w->word = path;
	w->loc.len = end > path ? (int)(end - path) : 1;
	if (w->bracket && !*end)
		return ERR(E_CONFIG, &w->loc, "'[' without a ']' in the key of '--set'");
	if (end == path)
		return ERR(E_CONFIG, &w->loc, "empty word in the key of '--set'");
	char mark = *end;
	*end = '\0';
	*rest = mark ? end + 1 : NULL;
	if (mark == ']' && !**rest)
		*rest = NULL;
	else if (mark == ']' && (**rest == '.' || **rest == '['))
		mark = *(*rest)++;
	else if (mark == ']') {
		w->loc.col += w->loc.len + 1;
		return ERR(E_CONFIG, &w->loc, "'.' or '=' expected after ']' in the key of '--set'");
	}
	w->last = !*rest;
	w->loc.len = (int)strlen(w->word);
	return mark == '[';
}

/* Follows path from root; *out is where the value goes. */
static int walk(struct arena *a, struct ynode *root, char *path, const struct loc *start,
                struct ynode ***out)
{
	struct walk w = { .a = a, .n = root, .loc = *start, .above = arena_strdup(a, "") };
	struct ynode **s = NULL;
	for (char *word = path, *rest = NULL; word; word = rest) {
		int rc = 0, bracket;
		w.loc.col = start->col + (int)(word - path);
		bracket = next_word(&w, word, &rest);
		TRY(bracket);
		const bool list = w.n->kind == Y_SEQ;
		s = slot(&w, &rc);
		if (rc < 0)
			return rc;
		w.above = list ? arena_printf(a, "%s[%s]", w.above, w.word) : below(&w, w.word);
		w.bracket = bracket;
		w.item = list;
		if (rest)
			w.n = *s = shallow(a, *s);
	}
	*out = s;
	return 0;
}

int ytree_put(struct arena *a, struct ynode *root, const char *key, const struct loc *loc,
              struct ynode *value)
{
	/* the members are copied, so that a failure half-way leaves the tree as it was */
	struct ynode *copy = shallow(a, root), **place = NULL;
	TRY(walk(a, copy, arena_strdup(a, key), loc, &place));
	*place = value;
	*root = *copy;
	return 0;
}

int ytree_set(struct arena *a, struct ynode *root, const char *assignment)
{
	struct loc loc = say(assignment), value_loc = loc;
	const char *eq = strchr(assignment, '=');
	struct ynode *value;
	char *path;
	if (!eq || eq == assignment) {
		loc.len = (int)strlen(assignment);
		return ERR(E_CONFIG, &loc, "'--set' takes KEY=VALUE, not '%s'", assignment);
	}
	path = arena_strdup(a, assignment);
	path[eq - assignment] = '\0';
	value_loc.col = (int)(eq - assignment) + 2;
	TRY(ytree_parse_at(a, &value_loc, false, eq + 1, &value));
	return ytree_put(a, root, path, &loc, value);
}
