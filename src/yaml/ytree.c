/* SPDX-License-Identifier: BSD-3-Clause
 *
 * YAML text to a tree, from libyaml's events. Each build_ function starts at the event that opens
 * its node and leaves the event that closes it as the current one. A mistake that leaves the
 * structure intact (a duplicate key, a tag, an unknown anchor) is recorded and parsing goes on;
 * only broken syntax ends it. Aliases share nodes, so the tree may be a graph without cycles: what
 * it would unfold to is counted and limited, because everything that walks it later does unfold
 * it. */
#include "yaml/ytree.h"

#include <string.h>
#include <yaml.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "yaml/bracket.h"
#include "yaml/ytree_parse.h"

#define MAX_DEPTH 100
#define MAX_NODES 200000
#define MAX_KEY 200      /* libyaml's own limit is 1024 characters, escapes included */

struct anchor {
	struct anchor *next;
	const char *name;
	struct ynode *node;
	int64_t size;        /* nodes it unfolds to */
};

struct builder {
	yaml_parser_t parser;
	yaml_event_t event;
	struct arena *a;
	const char *text;
	const char *line;    /* line number `lines` of it, from 0 */
	size_t lines;
	struct loc at;       /* position at which the text starts */
	bool fixed;
	int rc;              /* the first mistake's code */
	int depth;
	int64_t nodes;
	struct anchor *anchors;
};

static struct loc place(const struct builder *b, yaml_mark_t from, yaml_mark_t to)
{
	struct loc loc = b->at;
	if (b->fixed)
		return loc;
	loc.line = b->at.line + (int)from.line;
	loc.col = (from.line == 0 ? b->at.col : 1) + (int)from.column;
	loc.len = from.line == to.line && to.column > from.column ? (int)(to.column - from.column) : 1;
	return loc;
}

static struct loc event_loc(const struct builder *b)
{
	return place(b, b->event.start_mark, b->event.end_mark);
}

static void mistake(struct builder *b, int code)
{
	if (b->rc == 0)
		b->rc = code;
}

/* A byte that is no UTF-8 or a character that YAML forbids: libyaml gives its offset in bytes. */
static int bad_character(struct builder *b)
{
	struct loc loc = b->at;
	const char *p = b->text, *end = p + strnlen(p, b->parser.problem_offset);
	for (; p < end && !b->fixed; p++) {
		if (*p == '\n') {
			loc.line++;
			loc.col = 1;
		} else if (((unsigned char)*p & 0xC0) != 0x80) {
			loc.col++;
		}
	}
	loc.len = 1;
	return ERR(E_CONFIG, &loc, "the file is not UTF-8 text: bad byte or character 0x%02x",
	           (unsigned)b->parser.problem_value);
}

/* The text from the mark's line on; NULL if there is no such line. */
static const char *line_at(const struct builder *b, yaml_mark_t mark)
{
	const char *p = b->text;
	for (size_t line = 0; p && line < mark.line; line++) {
		p = strchr(p, '\n');
		if (p)
			p++;
	}
	return p;
}

/* Whether a mark is after the last line, where libyaml places what is missing at the end. */
static bool behind_end(const struct builder *b, yaml_mark_t mark)
{
	const char *p = line_at(b, mark);
	return !p || !*p;
}

/* Whether a mark is at a tab with nothing but spaces before it. */
static bool tab_indents(const struct builder *b, yaml_mark_t mark)
{
	const char *p = line_at(b, mark);
	return p && strspn(p, " ") == mark.column && p[mark.column] == '\t';
}

static int syntax_error(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	bool end = p->error != YAML_READER_ERROR && p->context && behind_end(b, p->problem_mark);
	yaml_mark_t mark = end ? p->context_mark : p->problem_mark;
	struct loc loc = place(b, mark, mark);
	struct bracket opener;
	if (p->error == YAML_MEMORY_ERROR)
		return ERR(E_NOMEM, NULL, "no memory to parse '%s'", b->at.file ? b->at.file : "");
	if (p->error == YAML_READER_ERROR)
		return bad_character(b);
	if (tab_indents(b, p->problem_mark))
		return ERR(E_CONFIG, &loc, "a tab cannot indent in YAML; use spaces");
	if (bracket_unclosed(b->text, &opener)) {
		mark = (yaml_mark_t){ .line = opener.line, .column = opener.column };
		loc = place(b, mark, mark);
		if (opener.closer)
			return ERR(E_CONFIG, &loc,
			           "syntax error: '%c' is not closed: '%c' stands where its '%c' should",
			           opener.open, opener.closer, opener.open == '{' ? '}' : ']');
		return ERR(E_CONFIG, &loc, "syntax error: '%c' is not closed: its '%c' is missing",
		           opener.open, opener.open == '{' ? '}' : ']');
	}
	if (p->context && strstr(p->context, "quoted scalar") && end)
		return ERR(E_CONFIG, &loc, "syntax error: this quote is not closed");
	if (strncmp(p->problem, "mapping values are not", 22) == 0)
		return ERR(E_CONFIG, &loc,
		           "syntax error: a second ':' in one line; write {KEY: VALUE, ...}, or each "
		           "KEY on a line of its own, indented");
	if (p->context && !end && strstr(p->context, "flow"))
		return ERR(E_CONFIG, &loc,
		           "syntax error: a ',' is missing before this, or a quote around the value");
	if (p->context)
		return ERR(E_CONFIG, &loc, "syntax error %s: %s%s%s", p->context, p->problem,
		           end ? " before the end of the text" : "",
		           strstr(p->context, "block") ? "; the lines of one list or map begin in the same "
		                                         "column" : "");
	return ERR(E_CONFIG, &loc, "syntax error: %s", p->problem ? p->problem : "not YAML");
}

static int next(struct builder *b)
{
	yaml_event_delete(&b->event);
	memset(&b->event, 0, sizeof b->event);
	if (!yaml_parser_parse(&b->parser, &b->event))
		return syntax_error(b);
	return 0;
}

struct ynode *ynode_new(struct arena *a, enum ykind kind)
{
	struct ynode *n = ARENA_NEW(a, struct ynode);
	n->kind = kind;
	n->text = "";
	return n;
}

static struct ynode *node_here(struct builder *b, enum ykind kind)
{
	struct ynode *n = ynode_new(b->a, kind);
	n->loc = event_loc(b);
	return n;
}

static bool reads_as_null(const char *s)
{
	return !*s || !strcmp(s, "~") || !strcmp(s, "null") || !strcmp(s, "Null") || !strcmp(s, "NULL");
}

/* Where a mark is in the text; marks come in order. NULL: its line is not there. */
static const char *seek(struct builder *b, yaml_mark_t mark)
{
	for (; b->line && b->lines < mark.line; b->lines++) {
		b->line = strchr(b->line, '\n');
		b->line += b->line != NULL;
	}
	const char *p = b->line;
	for (size_t i = 0; p && *p && i < mark.column; i++)
		p += utf8_length(p) ? utf8_length(p) : 1;
	return p;
}

/* How the current scalar is written, where that is not its text on one line (ynode.source). */
static const char *source_of(struct builder *b, const struct ynode *n)
{
	const yaml_event_t *e = &b->event;
	const char *from = seek(b, e->start_mark), *to = seek(b, e->end_mark);
	size_t written = strlen(n->text) + (n->quoted ? 2 : 0);
	bool one_line = e->start_mark.line == e->end_mark.line;
	if (b->fixed || !from || !to || to < from || (one_line && (size_t)(to - from) == written))
		return NULL;
	return arena_printf(b->a, "%.*s", (int)(to - from), from);
}

static struct ynode *build_scalar(struct builder *b)
{
	const char *text = (const char *)b->event.data.scalar.value;
	bool plain = b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	struct ynode *n = node_here(b, Y_SCALAR);
	if (strlen(text) != b->event.data.scalar.length)
		mistake(b, ERR(E_CONFIG, &n->loc, "a NUL character is not allowed in a value"));
	if (plain && reads_as_null(text)) {
		n->kind = Y_NULL;
		return n;
	}
	n->text = arena_strdup(b->a, text);
	n->quoted = !plain;
	n->source = source_of(b, n);
	return n;
}

static struct ynode *build_alias(struct builder *b)
{
	const char *name = (const char *)b->event.data.alias.anchor;
	for (const struct anchor *x = b->anchors; x; x = x->next) {
		if (!strcmp(x->name, name)) {
			b->nodes += x->size - 1;
			return x->node;
		}
	}
	struct loc loc = event_loc(b);
	mistake(b, ERR(E_CONFIG, &loc,
	               "unknown anchor '%s' (it must stand before, and not around, its use)", name));
	return node_here(b, Y_NULL);
}

static int build(struct builder *b, struct ynode **out);

static int build_seq(struct builder *b, struct ynode *seq)
{
	struct ynode **item = NULL, *n;
	int room = 0, rc = 0;
	for (;;) {
		rc = next(b);
		if (rc < 0 || b->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		rc = build(b, &n);
		if (rc < 0)
			break;
		if (seq->n == room) {
			room = room ? room * 2 : 8;
			item = mem_realloc(item, (size_t)room * sizeof *item);
		}
		item[seq->n++] = n;
	}
	seq->item = arena_copy(b->a, item, (size_t)seq->n * sizeof *item);
	mem_free(item);
	return rc;
}

/* A map being read: its pairs, and its merge keys apart. */
struct pairs {
	struct ypair *v;
	int n, room;
};

static void add_pair(struct pairs *p, const struct ypair *pair)
{
	if (p->n == p->room) {
		p->room = p->room ? p->room * 2 : 8;
		p->v = mem_realloc(p->v, (size_t)p->room * sizeof *p->v);
	}
	p->v[p->n++] = *pair;
}

/* Reads the key that the current event starts. pair->key stays NULL for one that is not usable:
 * its value is parsed and dropped. */
static int build_key(struct builder *b, struct ypair *pair, bool *merge)
{
	struct ynode *ignored;
	pair->key_loc = event_loc(b);
	if (b->event.type != YAML_SCALAR_EVENT) {
		mistake(b, ERR(E_CONFIG, &pair->key_loc, "a key must be a plain word, not %s",
		               b->event.type == YAML_ALIAS_EVENT ? "an alias" :
		               b->event.type == YAML_SEQUENCE_START_EVENT ? "a list" : "a map"));
	} else {
		const char *text = (const char *)b->event.data.scalar.value;
		bool plain = b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
		*merge = plain && !strcmp(text, "<<");
		if (plain && !*text)
			mistake(b, ERR(E_CONFIG, &pair->key_loc, "a key is missing here"));
		else if (b->event.data.scalar.length > MAX_KEY)
			mistake(b, ERR(E_CONFIG, &pair->key_loc, "a key is longer than %d bytes", MAX_KEY));
		else
			pair->key = arena_strdup(b->a, text);
	}
	return build(b, &ignored);
}

static int build_pairs(struct builder *b, struct pairs *own, struct pairs *merges)
{
	for (;;) {
		struct ypair pair = { 0 };
		bool merge = false;
		TRY(next(b));
		if (b->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		TRY(build_key(b, &pair, &merge));
		TRY(next(b));
		TRY(build(b, &pair.value));
		if (pair.key)
			add_pair(merge ? merges : own, &pair);
	}
}

/* An open-addressing table of the keys seen: large maps must not cost n * n comparisons. */
struct seen {
	const struct ypair **slot;
	size_t mask;
};

static void seen_init(struct seen *s, size_t n)
{
	size_t room = 16;
	while (room < 2 * n + 2)
		room *= 2;
	s->slot = mem_calloc(room, sizeof *s->slot);
	s->mask = room - 1;
}

/* The pair that has this key already, or NULL after adding p. */
static const struct ypair *seen_add(struct seen *s, const struct ypair *p)
{
	size_t i = hash_name(p->key) & s->mask;
	for (; s->slot[i]; i = (i + 1) & s->mask)
		if (!strcmp(s->slot[i]->key, p->key))
			return s->slot[i];
	s->slot[i] = p;
	return NULL;
}

static void keep_unique(struct builder *b, struct seen *seen, const struct pairs *from,
                        struct ynode *map)
{
	for (int i = 0; i < from->n; i++) {
		struct ypair *p = &map->pair[map->n];
		const struct ypair *first;
		*p = from->v[i];
		first = seen_add(seen, p);
		if (first)
			mistake(b, ERR(E_CONFIG, &p->key_loc, "duplicate key '%s' (the first is in line %d)",
			               p->key, first->key_loc.line));
		else
			map->n++;
	}
}

/* Own keys win over merged ones, earlier sources of a merge over later ones. */
static void merge_map(struct seen *seen, const struct ynode *from, struct ynode *map)
{
	for (int i = 0; i < from->n; i++) {
		map->pair[map->n] = from->pair[i];
		if (!seen_add(seen, &map->pair[map->n]))
			map->n++;
	}
}

/* Raises what is wrong with the value of a merge key; else counts the pairs it may bring. */
static int check_merge(const struct ynode *v, size_t *count)
{
	if (v->kind == Y_MAP) {
		*count += (size_t)v->n;
		return 0;
	}
	if (v->kind != Y_SEQ)
		return ERR(E_CONFIG, &v->loc, "'<<' takes a map or a list of maps");
	for (int i = 0; i < v->n; i++) {
		if (v->item[i]->kind != Y_MAP)
			return ERR(E_CONFIG, &v->item[i]->loc, "'<<' takes a map or a list of maps");
		*count += (size_t)v->item[i]->n;
	}
	return 0;
}

static void finish_map(struct builder *b, const struct pairs *own, struct pairs *merges,
                       struct ynode *map)
{
	size_t count = (size_t)own->n;
	struct seen seen;
	int n = 0;
	for (int i = 0; i < merges->n; i++) {
		int rc = i > 0 ? ERR(E_CONFIG, &merges->v[i].key_loc, "duplicate key '<<'")
		               : check_merge(merges->v[i].value, &count);
		if (rc < 0)
			mistake(b, rc);
		else
			merges->v[n++] = merges->v[i];
	}
	b->nodes += (int64_t)(count - (size_t)own->n);
	map->pair = ARENA_ARRAY(b->a, struct ypair, count + 1);   /* one to try in */
	seen_init(&seen, count);
	keep_unique(b, &seen, own, map);
	for (int i = 0; i < n; i++) {
		const struct ynode *v = merges->v[i].value;
		if (v->kind == Y_MAP)
			merge_map(&seen, v, map);
		for (int k = 0; v->kind == Y_SEQ && k < v->n; k++)
			merge_map(&seen, v->item[k], map);
	}
	mem_free(seen.slot);
}

static int build_map(struct builder *b, struct ynode *map)
{
	struct pairs own = { 0 }, merges = { 0 };
	int rc = build_pairs(b, &own, &merges);
	if (rc == 0)
		finish_map(b, &own, &merges, map);
	mem_free(own.v);
	mem_free(merges.v);
	return rc;
}

static int build_by_type(struct builder *b, struct ynode **out)
{
	switch (b->event.type) {
	case YAML_SCALAR_EVENT:
		*out = build_scalar(b);
		return 0;
	case YAML_ALIAS_EVENT:
		*out = build_alias(b);
		return 0;
	case YAML_SEQUENCE_START_EVENT:
		*out = node_here(b, Y_SEQ);
		(*out)->loc.len = 1;
		return build_seq(b, *out);
	case YAML_MAPPING_START_EVENT:
		*out = node_here(b, Y_MAP);
		(*out)->loc.len = 1;
		return build_map(b, *out);
	default:
		BUG("YAML event %d where a value starts", (int)b->event.type);
	}
}

/* The anchor and the tag of the current event, each NULL if there is none. */
static void properties(const struct builder *b, const char **anchor, const char **tag)
{
	const yaml_event_t *e = &b->event;
	*anchor = *tag = NULL;
	if (e->type == YAML_SCALAR_EVENT) {
		*anchor = (const char *)e->data.scalar.anchor;
		*tag = (const char *)e->data.scalar.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		*anchor = (const char *)e->data.sequence_start.anchor;
		*tag = (const char *)e->data.sequence_start.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		*anchor = (const char *)e->data.mapping_start.anchor;
		*tag = (const char *)e->data.mapping_start.tag;
	}
}

static int build(struct builder *b, struct ynode **out)
{
	const char *anchor, *tag;
	int64_t before = b->nodes++;
	struct loc loc = event_loc(b);
	if (b->depth == MAX_DEPTH)
		return ERR(E_CONFIG, &loc, "more than %d levels of nesting", MAX_DEPTH);
	properties(b, &anchor, &tag);
	if (tag)
		mistake(b, ERR(E_CONFIG, &loc, "tags such as '%s' are not supported", tag));
	if (anchor)
		anchor = arena_strdup(b->a, anchor);
	b->depth++;
	TRY(build_by_type(b, out));
	b->depth--;
	if (b->nodes > MAX_NODES)
		return ERR(E_CONFIG, &loc, "more than %d values, aliases unfolded", MAX_NODES);
	if (anchor) {
		struct anchor *x = ARENA_NEW(b->a, struct anchor);
		*x = (struct anchor){ b->anchors, anchor, *out, b->nodes - before };
		b->anchors = x;
	}
	return 0;
}

static int build_document(struct builder *b, struct ynode **root)
{
	TRY(next(b));   /* stream start */
	TRY(next(b));
	if (b->event.type == YAML_STREAM_END_EVENT) {
		*root = node_here(b, Y_NULL);
		return 0;
	}
	TRY(next(b));   /* after document start */
	TRY(build(b, root));
	TRY(next(b));   /* document end */
	TRY(next(b));
	if (b->event.type != YAML_STREAM_END_EVENT) {
		struct loc loc = event_loc(b);
		return ERR(E_CONFIG, &loc, "a second document starts here; only one is allowed");
	}
	return 0;
}

int ytree_parse_at(struct arena *a, const struct loc *at, bool fixed, const char *text,
                   struct ynode **root)
{
	struct builder b = { .a = a, .text = text, .line = text, .at = *at, .fixed = fixed };
	int rc;
	*root = NULL;
	if (!yaml_parser_initialize(&b.parser))
		return ERR(E_NOMEM, NULL, "no memory for the YAML parser");
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, strlen(text));
	rc = build_document(&b, root);
	if (rc < 0)
		*root = NULL;
	mistake(&b, rc);
	yaml_event_delete(&b.event);
	yaml_parser_delete(&b.parser);
	return b.rc;
}

int ytree_parse(struct arena *a, const char *file, const char *text, struct ynode **root)
{
	struct loc at = { str_intern(file), 1, 1, 1 };

	/* libyaml would count a byte-order mark as a column */
	if (strncmp(text, "\xEF\xBB\xBF", 3) == 0)
		text += 3;
	err_source_add(file, text);
	return ytree_parse_at(a, &at, false, text, root);
}

int ytree_load(struct arena *a, const char *path, struct ynode **root)
{
	struct buf text = BUF_INIT;
	int rc = io_read_text(path, &text);
	*root = NULL;
	if (rc == 0 && strlen(text.data) != text.len)
		rc = ERR(E_CONFIG, NULL, "'%s' is not a text file: it has a NUL byte at offset %zu", path,
		         strlen(text.data));
	if (rc == 0)
		rc = ytree_parse(a, path, text.data, root);
	buf_release(&text);
	return rc;
}

struct ypair *ytree_pair(const struct ynode *map, const char *key)
{
	for (int i = 0; map && map->kind == Y_MAP && i < map->n; i++)
		if (!strcmp(map->pair[i].key, key))
			return &map->pair[i];
	return NULL;
}

struct ynode *ytree_find(const struct ynode *map, const char *key)
{
	struct ypair *p = ytree_pair(map, key);
	return p ? p->value : NULL;
}
