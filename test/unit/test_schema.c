/* SPDX-License-Identifier: BSD-3-Clause
 *
 * schema.h: values of every type, every mistake with the place it is underlined at, defaults,
 * variants and tagged entries, and that a written struct reads back the same. */
#include <math.h>

#include "arena_fixture.h"
#include "base/err.h"
#include "base/suggest.h"
#include "yaml/schema.h"

struct sgd {
	double momentum;
	bool nesterov;
};
static const struct field sgd_fields[] = {
	FIELD_FLOAT(struct sgd, momentum, "0.9", 0, 1, "momentum factor"),
	FIELD_BOOL(struct sgd, nesterov, "false", "look ahead"),
	FIELD_END
};

struct adam {
	double beta1, beta2;
};
static const struct field adam_fields[] = {
	FIELD_FLOAT(struct adam, beta1, "0.9", 0, 1, "first moment's decay"),
	FIELD_FLOAT(struct adam, beta2, "", 0, 1, "second moment's decay"),
	FIELD_END
};

static const struct variant optimizers[] = {
	{ "sgd", "stochastic gradient descent", sgd_fields, sizeof(struct sgd) },
	{ "adam", "adaptive moments", adam_fields, sizeof(struct adam) },
	{ "none", "no update", NULL, 0 },
	{ 0 }
};

struct brief {
	const char *mode;
	int64_t axis;
};
static const struct field brief_fields[] = {
	{ .name = "mode", .type = FT_STRING, .offset = offsetof(struct brief, mode), .dflt = "standard",
	  .flags = FIELD_SHORTHAND },
	FIELD_INT(struct brief, axis, "0", -4, 4, "which axis"),
	FIELD_END
};
static const struct variant transforms[] = {
	{ "normalize", NULL, brief_fields, sizeof(struct brief) },
	{ "flip", NULL, NULL, 0 },
	{ 0 }
};

static const char *const paddings[] = { "valid", "same", "full", NULL };

struct all {
	bool flag;
	int64_t count, limit, size;
	double rate, every, maybe;
	const char *name, *dir;
	int padding, border;
	struct ints kernel;
	struct floats weights;
	struct strings files;
	struct brief section;
	struct ynode *node;
	struct variant_value optimizer, extra;
};

#define ROW(m, t, d, lo, hi, fl)                                                        \
	{ .name = #m, .type = t, .offset = offsetof(struct all, m), .dflt = d, .min = lo,   \
	  .max = hi, .flags = fl }

static const struct field all_fields[] = {
	FIELD_BOOL(struct all, flag, "true", "a flag"),
	FIELD_INT(struct all, count, "", 1, 100, "how many"),
	ROW(limit, FT_INT, "null", 0, 0, FIELD_NULLABLE),
	ROW(size, FT_BYTES, "1KiB", 0, 0, 0),
	FIELD_FLOAT(struct all, rate, "0.1", 0, INFINITY, "how fast"),
	ROW(every, FT_SECONDS, "10m", 0, 1e9, FIELD_NULLABLE),
	ROW(maybe, FT_FLOAT, "null", -1, 1, FIELD_NULLABLE),
	ROW(name, FT_STRING, NULL, 0, 0, FIELD_NULLABLE),
	FIELD_PATH(struct all, dir, "runs/x", "where"),
	FIELD_ENUM(struct all, padding, "valid", paddings, "border"),
	{ .name = "border", .type = FT_ENUM, .offset = offsetof(struct all, border), .dflt = "null",
	  .choices = paddings, .flags = FIELD_NULLABLE },
	FIELD_INTS(struct all, kernel, "[3, 3]", 1, 9, "kernel"),
	FIELD_FLOATS(struct all, weights, NULL, 0, 1, "class weights"),
	FIELD_STRINGS(struct all, files, NULL, "input files"),
	FIELD_SECTION(struct all, section, brief_fields, "a section"),
	FIELD_NODE(struct all, node, NULL, "anything"),
	FIELD_VARIANT(struct all, optimizer, "sgd", optimizers, "how to update"),
	FIELD_VARIANT(struct all, extra, NULL, optimizers, "another"),
	FIELD_END
};

static int read_all(const char *text, struct all *out)
{
	struct ynode *root = NULL;
	int rc = ytree_parse(a, "t.yaml", text, &root);
	assert_non_null(root);
	memset(out, 0xA5, sizeof *out);
	return rc < 0 ? rc : schema_read(a, root, all_fields, "'all'", &root->loc, out);
}

static void assert_defaults(const struct all *v)
{
	const struct sgd *sgd = v->optimizer.data;
	assert_true(v->flag);
	assert_true(v->limit == INT64_MIN && v->size == 1024);
	assert_true(v->rate == 0.1 && v->every == 600 && isnan(v->maybe));
	assert_null(v->name);
	assert_string_equal(v->dir, "runs/x");
	assert_int_equal(v->padding, 0);
	assert_int_equal(v->border, -1);
	assert_int_equal(v->kernel.n, 2);
	assert_int_equal(v->kernel.v[1], 3);
	assert_int_equal(v->weights.n, 0);
	assert_int_equal(v->files.n, 0);
	assert_string_equal(v->section.mode, "standard");
	assert_int_equal(v->section.axis, 0);
	assert_null(v->node);
	assert_string_equal(v->optimizer.v->name, "sgd");
	assert_true(sgd->momentum == 0.9 && !sgd->nesterov);
	assert_null(v->extra.v);
}

static void defaults(void **state)
{
	struct all v;
	assert_int_equal(read_all("count: 3", &v), 0);
	assert_int_equal(v.count, 3);
	assert_defaults(&v);
	assert_int_equal(err_count(), 0);
}

static const char full[] =
	"flag: false\ncount: 100\nlimit: 7\nsize: 1.5GB\nrate: 1e-4\n"
	"every: {hours: 1, minutes: 30}\nmaybe: -0.5\n"
	"name: 12\ndir: /a b/$$x\npadding: full\nborder: same\nkernel: 5\n"
	"weights: [0.5, 1]\nfiles: [a, 'b']\n"
	"section: minmax\nnode: {x: [1]}\noptimizer: {type: adam, beta2: 0.99}\nextra: none\n";

static void values(void **state)
{
	struct all v;
	assert_int_equal(read_all(full, &v), 0);
	assert_true(!v.flag && v.count == 100 && v.limit == 7 && v.size == 1500000000);
	assert_true(v.rate == 1e-4 && v.every == 5400 && v.maybe == -0.5);
	assert_string_equal(v.name, "12");
	assert_string_equal(v.dir, "/a b/$x");
	assert_true(v.padding == 2 && v.border == 1);
	assert_true(v.kernel.n == 1 && v.kernel.v[0] == 5);
	assert_true(v.weights.n == 2 && v.weights.v[0] == 0.5);
	assert_string_equal(v.files.v[1], "b");
	assert_int_equal(v.files.loc[1].line, 14);
	assert_int_equal(v.files.loc[1].col, 12);
	assert_string_equal(v.section.mode, "minmax");
	assert_int_equal(v.node->kind, Y_MAP);
	assert_true(((const struct adam *)v.optimizer.data)->beta1 == 0.9);
	assert_true(((const struct adam *)v.optimizer.data)->beta2 == 0.99);
	assert_int_equal(v.optimizer.loc.line, 17);
	assert_int_equal(v.optimizer.loc.col, 19);
	assert_string_equal(v.extra.v->name, "none");
}

/* One line of YAML after "count: 1" has one mistake: at this column, this long, with this text. */
static void wrong(const char *line, int col, int len, const char *text)
{
	struct buf b = BUF_INIT;
	struct all v;
	buf_printf(&b, "count: 1\n%s\n", line);
	assert_int_equal(read_all(b.data, &v), E_CONFIG);
	if (err_count() != 1)
		fail_msg("'%s': %d mistakes, the last '%s'", line, err_count(),
		         err_get(err_count() - 1)->text);
	assert_string_equal(err_get(0)->text, text);
	assert_int_equal(err_get(0)->loc.line, 2);
	assert_int_equal(err_get(0)->loc.col, col);
	assert_int_equal(err_get(0)->loc.len, len);
	assert_int_equal(v.count, 1);
	err_clear();
	buf_release(&b);
	if (strncmp(line, "section", 7) != 0 && strncmp(line, "extra", 5) != 0 &&
	    strncmp(line, "optim", 5) != 0)
		assert_defaults(&v);   /* what cannot be read has its default */
}

static void wrong_keys(void **state)
{
	wrong("paddin: same", 1, 6, "unknown key 'paddin' in 'all'; did you mean 'padding'?");
	wrong("Weigths: 1", 1, 7, "unknown key 'Weigths' in 'all'; did you mean 'weights'?");
	wrong("zzz: 1", 1, 3, "unknown key 'zzz' in 'all'; it takes: flag, count, limit, size, "
	      "rate, every, maybe, name, dir, padding, border, kernel, weights, files, "
	      "section, node, optimizer, extra");
	wrong("5: 1", 1, 1, "unknown key '5' in 'all'; a number has a decimal point, not a comma");
	wrong("section: {axsi: 1}", 11, 4, "unknown key 'axsi' in 'section'; did you mean 'axis'?");
	wrong("extra: {type: sgd, beta2: 1}", 20, 5,
	      "unknown key 'beta2' in 'sgd' (it belongs to 'adam'); it takes: "
	      "type, momentum, nesterov");
	wrong("'': 1", 1, 2,
	      "unknown key '' in 'all'; it takes: flag, count, limit, size, rate, every, maybe, name, "
	      "dir, padding, border, kernel, weights, files, section, node, optimizer, extra");
	wrong("extra: {type: sgd, tipe: 1}", 20, 4,
	      "unknown key 'tipe' in 'sgd'; did you mean 'type'?");
	wrong("extra: {type: none, a: 1}", 21, 1, "unknown key 'a' in 'none', which takes no keys");
	wrong("extra: {type: adam}", 15, 4, "missing key 'beta2' in 'adam' (second moment's decay)");
	wrong("extra: adam", 8, 4, "missing key 'beta2' in 'adam' (second moment's decay)");
}

static void wrong_types(void **state)
{
	wrong("flag: yes", 7, 3, "'flag' must be true or false, not 'yes'");
	wrong("flag: 'true'", 7, 6, "'flag' must be true or false, not the quoted string 'true'");
	wrong("limit: 1.5", 8, 3, "'limit' must be an integer or null, not '1.5'");
	wrong("size: 5 apples", 7, 8,
	      "'size' must be a size such as 4096, 512KiB or 1.5GB, not '5 apples'");
	wrong("size: -5", 7, 2, "'size' must be a size such as 4096, 512KiB or 1.5GB, not '-5'");
	wrong("rate: fast", 7, 4, "'rate' must be a number, not 'fast'");
	wrong("rate: .nan", 7, 4, "'rate' must be a number, not '.nan'");
	wrong("rate: null", 7, 4, "'rate' must be a number, not null");
	wrong("rate: [1]", 7, 1, "'rate' must be a number, not a list");
	wrong("every: soon", 8, 4,
	      "'every' must be a time such as 90, 90s, 10m, 2h or {minutes: 10} or null, not 'soon'");
	wrong("every: {minute: 1}", 9, 6, "unknown key 'minute' in 'every'; did you mean 'minutes'?");
	wrong("every: {minutes: x}", 18, 1, "'minutes' must be a number of at least 0");
	wrong("name: {}", 7, 1, "'name' must be a string or null, not an empty map");
	wrong("dir: null", 6, 4, "'dir' must be a path, not null");
	wrong("padding: smae", 10, 4,
	      "'padding' must be one of valid, same, full, not 'smae'; did you mean 'same'?");
	wrong("padding: null", 10, 4, "'padding' must be one of valid, same, full, not null");
	wrong("border: x", 9, 1, "'border' must be one of valid, same, full, null, not 'x'");
	wrong("kernel: [3, x]", 13, 1, "'kernel' must be an integer, not 'x'");
	wrong("files: [a, [b]]", 12, 1, "'files' must be a string, not a list");
	wrong("section: [1]", 10, 1, "'mode' must be a string, not a list");
	wrong("optimizer: [1]", 12, 1,
	      "'optimizer' must be a map with the key 'type', or a name that it may have, not a list");
	wrong("extra: null", 8, 4,
	      "'extra' must be a map with the key 'type', or a name that it may have, not null");
	wrong("extra: {momentum: 1}", 8, 1,
	      "missing key 'type' in 'extra', which is one of: sgd, adam, none");
	wrong("extra: {name: sgd}", 9, 4,
	      "missing key 'type' in 'extra'; 'name' is called 'type' here");
	wrong("extra: {sgd: {}}", 9, 3,
	      "missing key 'type' in 'extra'; 'sgd' is its value, and further keys "
	      "stand next to it: {type: sgd, ...}");
	wrong("extra: {type: [x]}", 15, 1, "'type' of 'extra' must be a name, not a list");
	wrong("extra: sgdd", 8, 4, "unknown type 'sgdd' for 'extra'; did you mean 'sgd'?");
	wrong("extra: {type: lamb}", 15, 4,
	      "unknown type 'lamb' for 'extra', which is one of: sgd, adam, none");
}

static void out_of_range(void **state)
{
	struct all v;
	wrong("rate: -1", 7, 2, "'rate' is out of range: -1, must be a number of at least 0");
	wrong("maybe: 1.5", 8, 3, "'maybe' is out of range: 1.5, must be a number from -1 to 1");
	wrong("kernel: [3, 10]", 13, 2, "'kernel' is out of range: 10, must be an integer from 1 to 9");
	wrong("limit: 99999999999999999999", 8, 20,
	      "'limit' is out of range: 99999999999999999999, must be an integer");
	wrong("size: 99999999999PiB", 7, 14, "'size' is out of range: 99999999999PiB, must be a size");
	wrong("every: {days: 20000}", 8, 1,
	      "'every' is out of range: 1.728e+09 seconds, must be a time from 0 to 1000000000");
	assert_int_equal(read_all("count: 0", &v), E_CONFIG);
	assert_string_equal(err_get(0)->text, "'count' is out of range: 0, must be an integer from 1 "
	                                      "to 100");
	assert_int_equal(read_all("count: 1\nmaybe: .nan\nrate: .inf\n", &v), 0);
	assert_true(isnan(v.maybe) && isinf(v.rate));
}

static void several_at_once(void **state)
{
	struct ynode *root;
	struct all v;
	assert_int_equal(ytree_parse(a, "t.yaml", "flag: 3\nkernel: [0, x, 11]\nbad: 1\n", &root), 0);
	assert_int_equal(schema_read(a, root, all_fields, "'all'", &root->loc, &v), E_CONFIG);
	assert_int_equal(err_count(), 6);   /* count is missing, too */
	assert_int_equal(schema_read(a, NULL, all_fields, "'all'", NULL, &v), E_CONFIG);
	assert_int_equal(err_count(), 7);
	assert_string_equal(err_get(6)->text, "missing key 'count' in 'all' (how many)");
	err_clear();
	ytree_parse(a, "t.yaml", "[1]", &root);
	assert_int_equal(schema_read(a, root, all_fields, "'all'", NULL, &v), E_CONFIG);
	assert_int_equal(err_count(), 1);
	assert_string_equal(err_get(0)->text, "'all' must be a map of keys, not a list; it takes: "
	                    "flag, count, limit, size, rate, every, maybe, name, dir, padding, border, "
	                    "kernel, weights, files, section, node, optimizer, extra");
	assert_defaults(&v);
}

static void a_full_record_keeps_its_entries(void **state)
{
	struct ynode *root;
	struct all v;
	for (int i = 0; i < ERR_MAX; i++)
		ERR(E_IO, NULL, "old %d", i);
	ytree_parse(a, "t.yaml", "count: x\nextra: {type: adam, beta1: 7}\n", &root);
	assert_int_equal(schema_read(a, root, all_fields, "'all'", NULL, &v), E_CONFIG);
	assert_string_equal(err_get(ERR_MAX - 1)->text, "old 19");
	assert_string_equal(err_get(0)->text, "old 0");
}

static int tagged(const char *text, struct variant_value *out)
{
	static const char *const ignore[] = { "name", "inputs", NULL };
	struct ynode *root;
	assert_int_equal(ytree_parse(a, "t.yaml", text, &root), 0);
	return schema_read_tagged(a, root, transforms, "a transform", ignore, out);
}

static void bad_tagged(const char *text, int col, const char *expected)
{
	struct variant_value v;
	assert_int_equal(tagged(text, &v), E_CONFIG);
	assert_int_equal(err_count(), 1);
	assert_string_equal(err_get(0)->text, expected);
	assert_int_equal(err_get(0)->loc.col, col);
	err_clear();
}

static void tagged_entries(void **state)
{
	struct variant_value v;
	const struct brief *b;
	assert_int_equal(tagged("{normalize: {axis: 2, name: x, inputs: [a]}}", &v), 0);
	b = v.data;
	assert_true(b->axis == 2 && !strcmp(b->mode, "standard"));
	assert_int_equal(v.loc.col, 2);
	assert_int_equal(v.loc.len, 9);
	assert_int_equal(tagged("normalize: minmax", &v), 0);
	assert_string_equal(((const struct brief *)v.data)->mode, "minmax");
	assert_int_equal(tagged("normalize:", &v), 0);
	assert_int_equal(tagged("normalize", &v), 0);
	assert_int_equal(tagged("flip", &v), 0);
	assert_string_equal(v.v->name, "flip");
	bad_tagged("{flip: {nam: x}}", 9, "unknown key 'nam' in 'flip'; did you mean 'name'?");
	bad_tagged("{flip: 3}", 8, "'flip' must be a map of keys, not '3'");
	bad_tagged("flop", 1, "unknown type 'flop' for a transform; did you mean 'flip'?");
	bad_tagged("[flip]", 1, "a transform must be a type's name or a map of one key, not a list");
	bad_tagged("null", 1, "a transform must be a type's name or a map of one key, not null");
	bad_tagged("{flip: {}, name: x}", 12,
	           "a transform must be a map of one key, its type: 'name' is a second one (keys of "
	           "'flip' go into its own map, indented below it)");
}

static void paths(void **state)
{
	struct all v;
	setenv("DLX_TEST_DIR", "/tmp/~$x", 1);
	setenv("HOME", "/home/me", 1);
	assert_int_equal(read_all("count: 1\ndir: $DLX_TEST_DIR/a${DLX_TEST_DIR}b\n", &v), 0);
	assert_string_equal(v.dir, "/tmp/~$x/a/tmp/~$xb");
	assert_int_equal(read_all("count: 1\ndir: ~/runs\n", &v), 0);
	assert_string_equal(v.dir, "/home/me/runs");
	assert_int_equal(read_all("count: 1\ndir: ~user/runs\n", &v), 0);
	assert_string_equal(v.dir, "~user/runs");
	wrong("dir: a/$DLX_TEST_NONE/b", 8, 14, "the environment variable 'DLX_TEST_NONE' is not set");
	wrong("dir: 'a/${DLX_TEST_NONE}'", 9, 16,
	      "the environment variable 'DLX_TEST_NONE' is not set");
	wrong("dir: a$", 7, 1, "no variable's name after '$' in a path (write '$$' for a '$' itself)");
	wrong("dir: a${b", 7, 4,
	      "no variable's name after '$' in a path (write '$$' for a '$' itself)");
}

static void seconds(void **state)
{
	static const struct {
		const char *text;
		double value;
	} ok[] = {
		{ "90", 90 }, { "1.5", 1.5 }, { "90s", 90 }, { "10m", 600 }, { "2h", 7200 },
		{ "1d", 86400 }, { "250ms", 0.25 }, { "1e3", 1000 }, { "2 h", 7200 }, { "'10m'", 600 },
	};

	for (size_t i = 0; i < sizeof ok / sizeof ok[0]; i++) {
		struct all v;
		char text[64];
		snprintf(text, sizeof text, "{count: 1, every: %s}", ok[i].text);
		assert_int_equal(read_all(text, &v), 0);
		assert_true(v.every == ok[i].value);
	}
}

static bool equal(double x, double y)
{
	return x == y || (isnan(x) && isnan(y));
}

static void assert_same(const struct all *x, const struct all *y)
{
	assert_true(x->flag == y->flag && x->count == y->count && x->limit == y->limit &&
	            x->size == y->size);
	assert_true(equal(x->rate, y->rate) && equal(x->every, y->every) && equal(x->maybe, y->maybe));
	assert_true(!x->name == !y->name && (!x->name || !strcmp(x->name, y->name)));
	assert_string_equal(x->dir, y->dir);
	assert_true(x->padding == y->padding && x->border == y->border);
	assert_int_equal(x->kernel.n, y->kernel.n);
	assert_memory_equal(x->kernel.v, y->kernel.v, (size_t)x->kernel.n * sizeof *x->kernel.v);
	assert_int_equal(x->weights.n, y->weights.n);
	for (int i = 0; i < x->weights.n; i++)
		assert_true(x->weights.v[i] == y->weights.v[i]);
	assert_int_equal(x->files.n, y->files.n);
	for (int i = 0; i < x->files.n; i++)
		assert_string_equal(x->files.v[i], y->files.v[i]);
	assert_string_equal(x->section.mode, y->section.mode);
	assert_int_equal(x->section.axis, y->section.axis);
	assert_true(!x->node == !y->node);
	assert_ptr_equal(x->optimizer.v, y->optimizer.v);
	assert_memory_equal(x->optimizer.data, y->optimizer.data, x->optimizer.v->size);
	assert_ptr_equal(x->extra.v, y->extra.v);
}

static void written_reads_back(void **state)
{
	static const char *const texts[] = {
		full,
		"count: 1",
		"{count: 1, name: 'null', files: ['1', 'true', '', 'a: b'], rate: 0.1, dir: $$a}",
		"{count: 1, name: null, every: null, kernel: [], rate: 1e300, maybe: 0.3333333333333333}",
		"{count: 1, optimizer: {type: sgd, momentum: 0.123456789012345, nesterov: true}, weights: "
		"[1e-9]}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct buf b = BUF_INIT;
		struct all v, w;
		assert_int_equal(read_all(texts[i], &v), 0);
		ytree_write(&b, schema_write(a, all_fields, &v));
		assert_int_equal(read_all(b.data, &w), 0);
		assert_same(&v, &w);
		buf_release(&b);
	}
}

static void suggestions(void **state)
{
	static const char *const names[] = { "filters", "kernel", "stride", "lr", NULL };
	assert_string_equal(did_you_mean("fliters", names), "filters");
	assert_string_equal(did_you_mean("filter", names), "filters");
	assert_string_equal(did_you_mean("STRIDE", names), "stride");
	assert_string_equal(did_you_mean("kernle", names), "kernel");
	assert_null(did_you_mean("padding", names));
	assert_null(did_you_mean("l", names));
	assert_null(did_you_mean("", names));
	assert_null(did_you_mean("a word that is longer than the longest that is looked at by this",
	                         names));
}

struct dish {
	int64_t salt, pepper;
};
static const struct field dish_fields[] = {
	FIELD_INT(struct dish, salt, "1", 0, 99, "grains"),
	FIELD_INT(struct dish, pepper, "2", 0, 99, "grains"),
	FIELD_END
};
static const struct preset dish_presets[] = { { "hot", "much pepper", "salt: 5, pepper: 50" },
	{ 0 } };
static const struct variant dishes[] = {
	{ "soup", "a soup", dish_fields, sizeof(struct dish), "kind", dish_presets },
	{ "bread", "bread", dish_fields, sizeof(struct dish), "kind", NULL },
	{ 0 }
};

static int read_dish(struct arena *a, const char *yaml, struct variant_value *v)
{
	struct ynode *root;
	err_clear();
	assert_int_equal(ytree_parse(a, "d.yaml", yaml, &root), 0);
	return schema_read_variant(a, root, dishes, "'dish'", v);
}

/* A preset fills the keys that are not given, and comes back in the effective config. */
static void presets(void **state)
{
	struct arena *a = arena_new();
	struct variant_value v;
	const struct dish *d;
	(void)state;
	assert_int_equal(read_dish(a, "{kind: soup, variant: hot, salt: 7}", &v), 0);
	d = v.data;
	assert_int_equal(d->salt, 7);
	assert_int_equal(d->pepper, 50);
	assert_string_equal(v.preset, "hot");
	assert_string_equal(ytree_find(schema_write_variant(a, &v), "variant")->text, "hot");
	assert_int_equal(read_dish(a, "{kind: soup}", &v), 0);
	d = v.data;
	assert_int_equal(d->pepper, 2);
	assert_null(v.preset);
	assert_int_equal(read_dish(a, "{kind: soup, variant: hat}", &v), E_CONFIG);
	assert_string_equal(err_get(0)->text, "unknown variant 'hat'; did you mean 'hot'?");
	assert_int_equal(err_get(0)->loc.col, 23);
	assert_int_equal(read_dish(a, "{kind: soup, variant: [hot]}", &v), E_CONFIG);
	assert_int_equal(read_dish(a, "{kind: bread, variant: hot}", &v), E_CONFIG);
	err_clear();
	arena_free(a);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(defaults), T(values), T(wrong_keys), T(wrong_types), T(out_of_range), T(several_at_once),
		T(a_full_record_keeps_its_entries), T(tagged_entries), T(paths), T(seconds),
		T(written_reads_back), T(suggestions), T(presets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
