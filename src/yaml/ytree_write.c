/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tree as YAML and as JSON. YAML is in block style; a map or list of at most two levels that
 * fits on the rest of its line is written in flow style, which is how people write such leaves. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "yaml/ytree_parse.h"

#define LINE 88          /* a flow value may end here */
#define FLOW_LEVELS 2

static void write_scalar(struct buf *out, const struct ynode *n)
{
	if (n->kind == Y_NULL)
		buf_puts(out, "null");
	else if (n->quoted || !yscalar_plain(n->text))
		yscalar_quote(out, n->text);
	else
		buf_puts(out, n->text);
}

static void write_key(struct buf *out, const char *key)
{
	if (yscalar_plain(key))
		buf_puts(out, key);
	else
		yscalar_quote(out, key);
}

/* Appends n in flow style; stops and returns false when it is too deep or passes `room` bytes. */
static bool write_flow(struct buf *out, const struct ynode *n, int levels, size_t room)
{
	bool map = n->kind == Y_MAP;
	if (n->kind == Y_SCALAR || n->kind == Y_NULL) {
		write_scalar(out, n);
		return out->len <= room;
	}
	if (levels == 0 && n->n > 0)
		return false;
	buf_putc(out, map ? '{' : '[');
	for (int i = 0; i < n->n; i++) {
		if (i)
			buf_puts(out, ", ");
		if (map) {
			write_key(out, n->pair[i].key);
			buf_puts(out, ": ");
		}
		if (!write_flow(out, map ? n->pair[i].value : n->item[i], levels - 1, room))
			return false;
	}
	buf_putc(out, map ? '}' : ']');
	return out->len <= room;
}

void ytree_write_flow(struct buf *out, const struct ynode *root)
{
	write_flow(out, root, INT_MAX, SIZE_MAX);
}

static bool is_container(const struct ynode *n)
{
	return (n->kind == Y_MAP || n->kind == Y_SEQ) && n->n > 0;
}

/* A tagged entry: in a list it is written as people do, "- conv2d: {filters: 8}". */
static bool is_tagged(const struct ynode *n)
{
	return n->kind == Y_MAP && n->n == 1;
}

static void write_block(struct buf *out, const struct ynode *n, int indent, bool first_here);

/* A member's value after "key:" or "-": on this line if it fits, else in block style. */
static void write_value(struct buf *out, const struct ynode *v, int indent, bool in_seq)
{
	struct buf flow = BUF_INIT;
	size_t line = out->len, room;
	while (line > 0 && out->data[line - 1] != '\n')
		line--;
	room = out->len - line < LINE ? LINE - (out->len - line) : 0;
	if (!is_container(v)) {
		buf_putc(out, ' ');
		write_flow(out, v, 0, SIZE_MAX);
		buf_putc(out, '\n');
	} else if (!(in_seq && is_tagged(v)) && write_flow(&flow, v, FLOW_LEVELS, room)) {
		buf_printf(out, " %s\n", flow.data);
	} else if (in_seq) {   /* "- key: ..." */
		buf_putc(out, ' ');
		write_block(out, v, indent + 2, true);
	} else {
		buf_putc(out, '\n');
		write_block(out, v, indent + 2, false);
	}
	buf_release(&flow);
}

/* first_here: the first member goes on the line that is open. */
static void write_block(struct buf *out, const struct ynode *n, int indent, bool first_here)
{
	for (int i = 0; i < n->n; i++) {
		if (i > 0 || !first_here)
			buf_printf(out, "%*s", indent, "");
		if (n->kind == Y_MAP) {
			write_key(out, n->pair[i].key);
			buf_putc(out, ':');
			write_value(out, n->pair[i].value, indent, false);
		} else {
			buf_putc(out, '-');
			write_value(out, n->item[i], indent, true);
		}
	}
}

void ytree_write(struct buf *out, const struct ynode *root)
{
	if (is_container(root)) {
		write_block(out, root, 0, false);
		return;
	}
	write_flow(out, root, 0, SIZE_MAX);
	buf_putc(out, '\n');
}

static void json_scalar(struct buf *out, const struct ynode *n)
{
	int64_t i;
	double f;
	bool b;
	if (y_is_null(n))
		buf_puts(out, "null");
	else if (y_bool(n, &b))
		buf_puts(out, b ? "true" : "false");
	else if (y_int(n, &i))
		buf_printf(out, "%" PRId64, i);
	else if (y_float(n, &f))
		buf_json_double(out, f);
	else
		buf_json_string(out, n->text);
}

void ytree_write_json(struct buf *out, const struct ynode *n)
{
	bool map = n->kind == Y_MAP;
	if (n->kind == Y_SCALAR || n->kind == Y_NULL) {
		json_scalar(out, n);
		return;
	}
	buf_putc(out, map ? '{' : '[');
	for (int i = 0; i < n->n; i++) {
		if (i)
			buf_puts(out, ", ");
		if (map) {
			buf_json_string(out, n->pair[i].key);
			buf_puts(out, ": ");
		}
		ytree_write_json(out, map ? n->pair[i].value : n->item[i]);
	}
	buf_putc(out, map ? '}' : ']');
}
