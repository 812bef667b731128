/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: any bytes as a config. Parsed; read by a schema with every field type, as a variant
 * and as a tagged entry; changed by its own first line as a "--set"; errors printed. What parses
 * is written as YAML and must parse again to a tree that is written the same; what the schema
 * accepts must be accepted again when written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "yaml/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct inner {
	bool flag;
	int64_t count;
};
static const struct field inner_fields[] = {
	FIELD_BOOL(struct inner, flag, "true", ""),
	FIELD_INT(struct inner, count, "1", 0, 100, ""),
	FIELD_END
};
static const struct variant variants[] = {
	{ "sgd", NULL, inner_fields, sizeof(struct inner) },
	{ "adam", NULL, NULL, 0 },
	{ 0 }
};
static const char *const choices[] = { "valid", "same", NULL };

struct all {
	int64_t batch_size, memory;
	double learning_rate, every;
	const char *name, *dir;
	int padding;
	struct ints kernel;
	struct floats weights;
	struct strings files;
	struct inner run;
	struct ynode *layers;
	struct variant_value optimizer;
};

#define ROW(m, t, d)                                                     \
	{ .name = #m, .type = t, .offset = offsetof(struct all, m), .dflt = d, \
	  .flags = FIELD_NULLABLE }

static const struct field fields[] = {
	FIELD_INT(struct all, batch_size, "1", 1, 4096, ""),
	ROW(memory, FT_BYTES, "1GiB"),
	ROW(learning_rate, FT_FLOAT, "0.1"),
	ROW(every, FT_SECONDS, "10m"),
	ROW(name, FT_STRING, NULL),
	FIELD_PATH(struct all, dir, "runs", ""),
	FIELD_ENUM(struct all, padding, "same", choices, ""),
	FIELD_INTS(struct all, kernel, "3", 1, 64, ""),
	FIELD_FLOATS(struct all, weights, NULL, 0, 0, ""),
	FIELD_STRINGS(struct all, files, NULL, ""),
	FIELD_SECTION(struct all, run, inner_fields, ""),
	FIELD_NODE(struct all, layers, NULL, ""),
	FIELD_VARIANT(struct all, optimizer, "sgd", variants, ""),
	FIELD_END
};

static void check(bool ok, const char *what, const char *text)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz_yaml: %s:\n%s\n", what, text);
	err_print(stderr, "fuzz_yaml");
	abort();
}

static void print_errors(void)
{
	static FILE *null;
	if (!null)
		null = fopen("/dev/null", "w");
	if (null)
		err_print(null, "fuzz");
	err_clear();
}

/* What is written must be readable and be written the same again. */
static struct ynode *rewrite(struct arena *a, const struct ynode *root)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct ynode *again = NULL;
	ytree_write(&once, root);
	check(ytree_parse(a, "written", once.data, &again) == 0, "the tree as written does not parse",
	      once.data);
	ytree_write(&twice, again);
	check(!strcmp(once.data, twice.data), "written twice, it differs", once.data);
	buf_clear(&twice);
	ytree_write_json(&twice, again);
	buf_release(&once);
	buf_release(&twice);
	return again;
}

static void read_all(struct arena *a, const struct ynode *root)
{
	static const char *const ignore[] = { "name", NULL };
	struct variant_value v;
	struct all x, y;
	struct ynode *again;
	if (schema_read(a, root, fields, "'all'", &root->loc, &x) == 0) {
		again = rewrite(a, schema_write(a, fields, &x));
		check(schema_read(a, again, fields, "'all'", NULL, &y) == 0,
		      "a config as written is refused", "");
		check(x.batch_size == y.batch_size && x.memory == y.memory && x.padding == y.padding &&
		      x.kernel.n == y.kernel.n && x.optimizer.v == y.optimizer.v && !strcmp(x.dir, y.dir),
		      "a config as written differs", "");
	}
	print_errors();
	if (schema_read_variant(a, root, variants, "'v'", &v) == 0)
		rewrite(a, schema_write_variant(a, &v));
	schema_read_tagged(a, root, variants, "'v'", ignore, &v);
	print_errors();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	char *text = mem_alloc(size + 1);
	struct ynode *root;
	memcpy(text, data, size);
	text[size] = '\0';
	if (ytree_parse(a, "fuzz.yaml", text, &root) == 0) {
		rewrite(a, root);
		read_all(a, root);
	}
	print_errors();
	text[strcspn(text, "\n")] = '\0';
	if (root)
		ytree_set(a, root, text);
	print_errors();
	mem_free(text);
	arena_free(a);
	return 0;
}
