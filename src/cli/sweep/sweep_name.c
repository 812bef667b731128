/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/sweep/sweep_name.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

#define VALUE_MOST 40
#define NAME_MOST 180

void sweep_names_add(struct sweep_names *s, const struct ynode *map)
{
	if (map->kind != Y_MAP)
		return;
	if (s->n + map->n > s->cap) {
		const char **all = ARENA_ARRAY(s->a, const char *, s->cap = 2 * s->cap + map->n);
		if (s->n)
			memcpy(all, s->key, (size_t)s->n * sizeof *all);
		s->key = all;
	}
	for (int i = 0; i < map->n; i++)
		s->key[s->n++] = map->pair[i].key;
}

static const char *last_word(const char *key)
{
	const char *dot = strrchr(key, '.');
	return dot ? dot + 1 : key;
}

static const char *short_key(const struct sweep_names *s, const char *key)
{
	const char *word = last_word(key);
	for (int i = 0; i < s->n; i++)
		if (strcmp(s->key[i], key) != 0 && strcmp(last_word(s->key[i]), word) == 0)
			return key;
	return word;
}

/* Runs of other characters are one underscore. */
static void put_plain(struct buf *out, const char *text, size_t most)
{
	const size_t begin = out->len;
	for (; *text && out->len - begin < most; text++) {
		if (isalnum((unsigned char)*text) || strchr("._+-", *text))
			buf_putc(out, *text);
		else if (out->len > begin && out->data[out->len - 1] != '_')
			buf_putc(out, '_');
	}
	while (out->len > begin && out->data[out->len - 1] == '_')
		out->data[--out->len] = '\0';
}

static void put_setting(struct buf *out, const char *key, const char *value)
{
	if (out->len)
		buf_putc(out, ',');
	put_plain(out, key, NAME_MOST);
	buf_putc(out, '=');
	put_plain(out, value, VALUE_MOST);
}

const char *sweep_name(const struct sweep_names *s, const struct sweep_run *r, bool ranks)
{
	struct buf name = BUF_INIT, value = BUF_INIT;
	buf_printf(&value, "%d", r->ranks);
	if (ranks || r->n == 0)
		put_setting(&name, "ranks", value.data);
	for (int i = 0; i < r->n; i++) {
		buf_clear(&value);
		ytree_write_flow(&value, r->setting[i].value);
		put_setting(&name, short_key(s, r->setting[i].key), value.data);
	}
	const char *kept = arena_printf(s->a, "%.*s", NAME_MOST, name.data);
	buf_release(&name);
	buf_release(&value);
	return kept;
}
