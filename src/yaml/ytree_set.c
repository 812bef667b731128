/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--set KEY=VALUE": walks the dotted path from the root and replaces what is at its end. The
 * assignments of a process are the lines of one text known as "--set", so that a mistake in any of
 * them, found now or by a schema later, is shown with a caret. Nodes on the path are copied before
 * they change: an alias shares them, and only the path that was named may change. */
#include <string.h>

#include "base/err.h"
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

/* The sequence's item that word names, or NULL with *rc set. */
static struct ynode **item_slot(struct ynode *seq, const char *word, const struct loc *loc, int *rc)
{
	struct ynode index = { .kind = Y_SCALAR, .text = word };
	int64_t i;
	if (!y_int(&index, &i) || strspn(word, "0123456789") != strlen(word))
		*rc = ERR(E_CONFIG, loc, "'%s' must be an index: a list is here", word);
	else if (i >= seq->n)
		*rc = ERR(E_CONFIG, loc,
		          "index %s is past the end: the list has %d item%s, counted from 0", word,
		          seq->n, seq->n == 1 ? "" : "s");
	else
		return &seq->item[i];
	return NULL;
}

/* The value's place under word in n, made if a map lacks it. */
static struct ynode **slot(struct arena *a, struct ynode *n, const char *word, bool last,
                           const struct loc *loc, int *rc)
{
	struct ypair *p;
	if (n->kind == Y_NULL) {
		n->kind = Y_MAP;
		n->text = "";
		n->loc = *loc;
	}
	if (n->kind == Y_SEQ)
		return item_slot(n, word, loc, rc);
	if (n->kind == Y_SCALAR) {
		*rc = ERR(E_CONFIG, loc, "there is no key '%s' here: its parent is the value '%.60s'", word,
		          n->text);
		return NULL;
	}
	p = ytree_pair(n, word);
	if (!p) {
		ynode_add_pair(a, n, word, ynode_new(a, Y_NULL));
		p = &n->pair[n->n - 1];
		p->value->loc = *loc;
		p->key_loc = *loc;
	}
	if (last)
		p->key_loc = *loc;
	return &p->value;
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

/* Follows path from root; *out is where the value goes. */
static int walk(struct arena *a, struct ynode *root, char *path, const struct loc *start,
                struct ynode ***out)
{
	struct ynode *n = root, **s = NULL;
	struct loc loc = *start;
	for (char *word = path, *dot; word; word = dot) {
		int rc = 0;
		dot = strchr(word, '.');
		if (dot)
			*dot++ = '\0';
		loc.col = start->col + (int)(word - path);
		loc.len = *word ? (int)strlen(word) : 1;
		if (!*word)
			return ERR(E_CONFIG, &loc, "empty word in the key of '--set'");
		s = slot(a, n, word, !dot, &loc, &rc);
		if (rc < 0)
			return rc;
		if (dot) {
			*s = shallow(a, *s);
			n = *s;
		}
	}
	*out = s;
	return 0;
}

int ytree_set(struct arena *a, struct ynode *root, const char *assignment)
{
	struct loc loc = say(assignment), value_loc = loc;
	const char *eq = strchr(assignment, '=');
	struct ynode *value, *copy, **place = NULL;
	char *path;
	if (!eq || eq == assignment) {
		loc.len = (int)strlen(assignment);
		return ERR(E_CONFIG, &loc, "'--set' takes KEY=VALUE, not '%s'", assignment);
	}
	path = arena_strdup(a, assignment);
	path[eq - assignment] = '\0';
	value_loc.col = (int)(eq - assignment) + 2;
	TRY(ytree_parse_at(a, &value_loc, false, eq + 1, &value));
	/* the members are copied, so that a failure half-way leaves the tree as it was */
	copy = shallow(a, root);
	TRY(walk(a, copy, path, &loc, &place));
	*place = value;
	*root = *copy;
	return 0;
}
