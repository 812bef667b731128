/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The trees are walked together: maps by key, lists of one length whose items are maps by index;
 * anything else is a value. A key that is null in one config and missing in another is the same
 * in both, since a newer dlx has more keys. */
#include "data-tools/report/config_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "yaml/ytree.h"

struct walk {
	struct arena *a;
	int n;                       /* configs */
	const bool *known;
	int nkey, key_cap;
	struct config_key *key;
	int npath, path_cap;         /* of all values, whether they differ or not */
	const char **path;
};

static bool present(const struct ynode *v)
{
	return v && v->kind != Y_NULL && !y_is_null(v);
}

static const char *value_text(struct arena *a, const struct ynode *v)
{
	struct buf b = BUF_INIT;
	const char *text;
	if (!present(v))
		return NULL;
	if (v->kind != Y_SCALAR)
		ytree_write_json(&b, v);
	text = arena_strdup(a, v->kind == Y_SCALAR ? v->text : b.data);
	buf_release(&b);
	return text;
}

static bool same(const struct ynode *x, const struct ynode *y, const char *s, const char *t)
{
	double v, w;
	if (!s || !t)
		return s == t;
	if (x->kind == Y_SCALAR && y->kind == Y_SCALAR && y_float(x, &v) && y_float(y, &w))
		return v == w;
	return strcmp(s, t) == 0;
}

static const char *const sections[] = { "model.", "loss", "optimizer.", "schedule.", "train.",
	"data.", "metrics", "precision", "parallel." };
#define SECTIONS ((int)(sizeof sections / sizeof *sections))

static int section_of(const char *path)
{
	int i = 0;
	while (i < SECTIONS && strncmp(path, sections[i], strlen(sections[i])) != 0)
		i++;
	return i;
}

/* Values that are there, each counted once. */
static int distinct(const char *const *value, int n)
{
	int count = 0;
	for (int i = 0; i < n; i++) {
		bool seen = !value[i];
		for (int k = 0; k < i && !seen; k++)
			seen = value[k] && strcmp(value[k], value[i]) == 0;
		count += !seen;
	}
	return count;
}

/* What is looked at rather than learned. */
static bool is_minor(const char *path)
{
	static const char *const minor[] = { "train.validate.", "train.target", "train.patience" };
	for (size_t i = 0; i < sizeof minor / sizeof *minor; i++)
		if (strncmp(path, minor[i], strlen(minor[i])) == 0)
			return true;
	return section_of(path) == SECTIONS;
}

/* The seed says least, and how a run is watched little. Else a key says the more the more values
 * it has, as the rate of a search over rates, and one that all configs have more than one that
 * comes with a choice. */
static int rank_of(const char *path, const char *const *value, int n, bool everywhere)
{
	const int seed = strcmp(path, "run.seed") == 0 ? 1 << 29 : 0;
	const int minor = is_minor(path) ? 1 << 28 : 0;
	return seed + minor + 32 * (n - distinct(value, n)) + (everywhere ? 0 : 16) + section_of(path);
}

static void add_path(struct walk *w, const char *path)
{
	if (w->npath == w->path_cap) {
		w->path_cap = w->path_cap ? 2 * w->path_cap : 256;
		w->path = mem_realloc(w->path, sizeof *w->path * (size_t)w->path_cap);
	}
	w->path[w->npath++] = path;
}

static void add_key(struct walk *w, const char *path, const char **value,
                    const struct ynode *const *node, bool everywhere)
{
	if (w->nkey == w->key_cap) {
		w->key_cap = w->key_cap ? 2 * w->key_cap : 32;
		w->key = mem_realloc(w->key, sizeof *w->key * (size_t)w->key_cap);
	}
	w->key[w->nkey++] = (struct config_key){ path, path, value,
		arena_copy(w->a, node, sizeof *node * (size_t)w->n),
		rank_of(path, value, w->n, everywhere) };
}

static void value_seen(struct walk *w, const char *path, const struct ynode *const *v)
{
	const char **text = ARENA_ARRAY(w->a, const char *, w->n);
	int first = -1;
	bool differs = false, everywhere = true;
	add_path(w, path);
	for (int i = 0; i < w->n; i++) {
		if (!w->known[i])
			continue;
		text[i] = value_text(w->a, v[i]);
		everywhere &= text[i] != NULL;
		differs |= first >= 0 && !same(v[first], v[i], text[first], text[i]);
		first = first < 0 ? i : first;
	}
	if (differs && strcmp(path, "run.name") != 0 && strcmp(path, "run.dir") != 0)
		add_key(w, path, text, v, everywhere);
}

static void walk(struct walk *w, const char *path, const struct ynode *const *v);

/* The members under one key, in all configs. */
static void walk_member(struct walk *w, const char *path, const char *key,
                        const struct ynode *const *v)
{
	const struct ynode **member = ARENA_ARRAY(w->a, const struct ynode *, w->n);
	for (int i = 0; i < w->n; i++)
		member[i] = v[i] ? ytree_find(v[i], key) : NULL;
	walk(w, *path ? arena_printf(w->a, "%s.%s", path, key) : key, member);
}

static bool key_before(const struct ynode *const *v, int n, const char *key)
{
	for (int i = 0; i < n; i++)
		if (v[i] && ytree_find(v[i], key))
			return true;
	return false;
}

static void walk_maps(struct walk *w, const char *path, const struct ynode *const *v)
{
	for (int i = 0; i < w->n; i++)
		for (int k = 0; v[i] && k < v[i]->n; k++)
			if (!key_before(v, i, v[i]->pair[k].key))
				walk_member(w, path, v[i]->pair[k].key, v);
}

static void walk_items(struct walk *w, const char *path, const struct ynode *const *v, int items)
{
	for (int k = 0; k < items; k++) {
		const struct ynode **item = ARENA_ARRAY(w->a, const struct ynode *, w->n);
		for (int i = 0; i < w->n; i++)
			item[i] = v[i] ? v[i]->item[k] : NULL;
		walk(w, arena_printf(w->a, "%s[%d]", path, k), item);
	}
}

/* Whether all known nodes are of this kind and, if `same_size`, have the same number of members.
 * *n: the number of the first node's members. */
static bool all_are(const struct walk *w, const struct ynode *const *v, enum ykind kind,
                    bool same_size, int *n)
{
	*n = -1;
	for (int i = 0; i < w->n; i++) {
		if (!w->known[i])
			continue;
		if (!v[i] || v[i]->kind != kind || (same_size && *n >= 0 && v[i]->n != *n))
			return false;
		*n = *n < 0 ? v[i]->n : *n;
	}
	return *n >= 0;
}

static bool items_are_maps(const struct walk *w, const struct ynode *const *v)
{
	for (int i = 0; i < w->n; i++)
		for (int k = 0; v[i] && k < v[i]->n; k++)
			if (v[i]->item[k]->kind == Y_MAP)
				return true;
	return false;
}

static void walk(struct walk *w, const char *path, const struct ynode *const *v)
{
	int n;
	if (all_are(w, v, Y_MAP, false, &n))
		walk_maps(w, path, v);
	else if (all_are(w, v, Y_SEQ, true, &n) && items_are_maps(w, v))
		walk_items(w, path, v, n);
	else
		value_seen(w, path, v);
}

bool config_key_same(const struct config_key *k, int i, int j)
{
	return same(k->node[i], k->node[j], k->value[i], k->value[j]);
}

/* --- names and order --- */

/* Whether path ends with end, as whole words between dots. */
static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);
	return n >= m && strcmp(path + n - m, end) == 0 && (n == m || path[n - m - 1] == '.');
}

/* Words that say nothing without the word before them. */
static bool is_vague(const char *name)
{
	static const char *const vague[] = { "type", "method", "metric", "size", "steps", "epochs",
		"threads" };
	for (size_t i = 0; i < sizeof vague / sizeof *vague; i++)
		if (strcmp(name, vague[i]) == 0)
			return true;
	return false;
}

static const char *short_name(const struct walk *w, const char *path)
{
	for (const char *name = path + strlen(path);;) {
		int others = 0;
		while (name > path && name[-1] != '.')
			name--;
		for (int i = 0; i < w->npath; i++)
			others += strcmp(w->path[i], path) != 0 && ends_with(w->path[i], name);
		if (name == path || (others == 0 && !is_vague(name)))
			return name;
		name--;
	}
}

/* Keys of equal rank keep the order of the configs. */
static void sort(struct config_key *key, int n)
{
	for (int i = 1; i < n; i++) {
		struct config_key k = key[i];
		int at = i;
		for (; at > 0 && key[at - 1].rank > k.rank; at--)
			key[at] = key[at - 1];
		key[at] = k;
	}
}

int config_keys(struct arena *a, const struct ynode *const *config, int n,
                struct config_key **out)
{
	bool *known = ARENA_ARRAY(a, bool, n);
	struct walk w = { .a = a, .n = n, .known = known };
	int any = 0;
	for (int i = 0; i < n; i++)
		any += known[i] = config[i] != NULL;
	if (any > 1)
		walk(&w, "", config);
	for (int i = 0; i < w.nkey; i++)
		w.key[i].name = short_name(&w, w.key[i].path);
	sort(w.key, w.nkey);
	*out = w.nkey ? arena_copy(a, w.key, sizeof *w.key * (size_t)w.nkey) : NULL;
	mem_free(w.key);
	mem_free(w.path);
	return w.nkey;
}

const char *config_text(const struct ynode *config, const char *section, const char *key)
{
	const struct ynode *s = config ? ytree_find(config, section) : NULL;
	const struct ynode *v = s && s->kind == Y_MAP ? ytree_find(s, key) : NULL;
	return v && v->kind == Y_SCALAR && !y_is_null(v) ? v->text : NULL;
}
