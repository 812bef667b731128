/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mutation test of config errors: every key of every config given gets a typo, every value a wrong
 * type, every number a value far out of range; each mutant must be refused with an error on the
 * mutated line, which names the key that a typo was made of.
 *
 * Usage: mutate CONFIG.yaml... Works in a temporary folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "plan/config.h"
#include "yaml/ytree.h"

static int passed, failed;
static char mutant_path[64];

/* Numbers of any size are fine here, and keys under these are the user's own names. */
static const char *const unbounded[] = { "at_least", "at_most", "mask", "mean", "std",
	"value", "missing", NULL };
static const char *const own_names[] = { "blocks", NULL };

static bool is_in(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(s, *list) == 0)
			return true;
	return false;
}

/* Offset of a line and column (both from 1) in text. */
static size_t offset_of(const char *text, int line, int col)
{
	const char *p = text;
	while (--line > 0)
		p = strchr(p, '\n') + 1;
	return (size_t)(p - text) + (size_t)(col - 1);
}

/* The key that a typo was made of, which an error must name; NULL: there is none. */
static const char *meant;

static bool error_on_line(int line)
{
	char hint[160];
	snprintf(hint, sizeof hint, "did you mean '%s'", meant ? meant : "");
	for (int i = 0; i < err_count(); i++)
		if (err_get(i)->loc.file && err_get(i)->loc.line == line &&
		    (!meant || strstr(err_get(i)->text, hint)))
			return true;
	return false;
}

/* text with the span of at replaced must be refused on at's line. */
static void try(const char *file, const char *text, const struct loc *at, const char *replacement,
                const char *what)
{
	struct buf mutant = BUF_INIT;
	struct run_config *c = NULL;
	size_t from = offset_of(text, at->line, at->col);
	buf_add(&mutant, text, from);
	buf_puts(&mutant, replacement);
	buf_puts(&mutant, text + from + at->len);
	if (io_write_file(mutant_path, mutant.data, mutant.len) < 0)
		exit(1);
	int rc = config_load(&c, mutant_path, 0, NULL);
	if (rc < 0 && err_exit_status(rc) == 78 && error_on_line(at->line)) {
		passed++;
	} else {
		printf("not ok - %s:%d: %s '%.*s' -> '%s': %s\n", file, at->line, what, at->len,
		       text + from, replacement, rc == 0 ? "accepted" : "error elsewhere:");
		err_print(stdout, "mutate");
		failed++;
	}
	err_clear();
	if (rc == 0)
		config_free(c);
	buf_release(&mutant);
}

static void mutate_value(const char *file, const char *text, const char *key, const struct ynode *v)
{
	int64_t i;
	double d;
	if (v->kind != Y_SCALAR || v->loc.len == 0)
		return;
	try(file, text, &v->loc, "{qq: [zz]}", "wrong type");
	if (v->quoted || is_in(key, unbounded))
		return;
	if (y_int(v, &i))
		try(file, text, &v->loc, "-9000000000000000000", "out of range");
	else if (y_float(v, &d))
		try(file, text, &v->loc, "-1e300", "out of range");
}

static void mutate_key(const char *file, const char *text, const struct ypair *p)
{
	char typo[128];
	snprintf(typo, sizeof typo, "%c%s", p->key[0], p->key);
	meant = p->key;
	if (strcmp(p->key, "<<") != 0)
		try(file, text, &p->key_loc, typo, "typo");
	meant = NULL;
}

static void walk(const char *file, const char *text, const char *key, const struct ynode *n)
{
	for (int i = 0; n->kind == Y_SEQ && i < n->n; i++) {
		mutate_value(file, text, key, n->item[i]);
		walk(file, text, key, n->item[i]);
	}
	for (int i = 0; n->kind == Y_MAP && i < n->n; i++) {
		const struct ypair *p = &n->pair[i];
		if (!is_in(key, own_names))
			mutate_key(file, text, p);
		mutate_value(file, text, p->key, p->value);
		walk(file, text, p->key, p->value);
	}
}

static void mutate_file(const char *file)
{
	struct arena *a = arena_new();
	struct buf text = BUF_INIT;
	struct ynode *root;
	struct run_config *c;
	if (config_load(&c, file, 0, NULL) < 0 || io_read_file(file, &text) < 0 ||
	    ytree_parse(a, file, text.data, &root) < 0) {
		printf("not ok - %s does not load\n", file);
		err_print(stdout, "mutate");
		err_clear();
		failed++;
	} else {
		config_free(c);
		walk(file, text.data, "", root);
	}
	buf_release(&text);
	arena_free(a);
}

int main(int argc, char **argv)
{
	snprintf(mutant_path, sizeof mutant_path, "mutant-%d.yaml", (int)getpid());
	for (int i = 1; i < argc; i++)
		mutate_file(argv[i]);
	unlink(mutant_path);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0 || passed == 0;
}
