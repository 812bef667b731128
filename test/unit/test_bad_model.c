/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Configs with one mistake in model, loss, metrics, optimizer or schedule (test/config/bad). The
 * first line of each says what must be reported: "# expect: LINE:COL: part of the message". */
#include <dirent.h>

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "model/model.h"
#include "optim/optim.h"
#include "optim/schedule.h"

static const char *const prefixes[] = { "model_", "loss_", "metrics_", "optimizer_", "schedule_" };

static void check_model(struct arena *a, const struct ynode *root)
{
	struct variant_value v;
	struct graph *g = graph_new();
	struct shape in = { 2, { 2 } };
	struct model_outputs out;
	tid x;
	if (model_read(a, ytree_find(root, "model"), "'model'", &v) == 0) {
		const struct model_common *c = v.data;
		in.d[1] = c->input.channels;
		for (int i = 0; i < c->input.size.n; i++)
			in.d[in.nd++] = c->input.size.v[i];
		assert_int_equal(graph_input(g, "input", DTYPE_F32, &in, &x), 0);
		model_build(g, a, &v, true, x, c->classes, &out);
	}
	graph_free(g);
}

static void check_metrics(const struct ynode *list, bool labels)
{
	const char *names[8];
	struct loc locs[8];
	struct strings s = { list->n, names, locs };
	struct metrics *m = NULL;
	for (int i = 0; i < list->n; i++) {
		names[i] = list->item[i]->text;
		locs[i] = list->item[i]->loc;
	}
	if (metrics_new(&m, &s, labels ? TARGET_LABELS : TARGET_VALUES, 4) == 0)
		metrics_free(m);
}

static void check_rest(struct arena *a, const struct ynode *root)
{
	static const struct {
		const char *key;
		const struct variant *variants;
		int (*check)(const struct variant_value *v);
	} t[] = {
		{ "loss", loss_variants, loss_check },
		{ "optimizer", optimizer_variants, optim_check },
		{ "schedule", schedule_variants, schedule_check },
	};
	struct variant_value v[3] = { 0 };
	for (int i = 0; i < 3; i++) {
		const struct ynode *n = ytree_find(root, t[i].key);
		if (n && schema_read_variant(a, n, t[i].variants, t[i].key, &v[i]) == 0)
			t[i].check(&v[i]);
	}
	if (ytree_find(root, "metrics"))
		check_metrics(ytree_find(root, "metrics"), loss_wants_labels(&v[0]));
}

/* Does an error stand at LINE:COL with the rest of `expect` in its text? */
static bool reported(const char *expect)
{
	int line, col, at = 0;
	if (sscanf(expect, "# expect: %d:%d: %n", &line, &col, &at) < 2 || at == 0)
		fail_msg("bad first line: %s", expect);
	for (int i = 0; i < err_count(); i++) {
		const struct err_entry *e = err_get(i);
		if (e->loc.line == line && e->loc.col == col && strstr(e->text, expect + at))
			return true;
	}
	return false;
}

static bool check_file(const char *dir, const char *name)
{
	struct arena *a = arena_new();
	char *path = arena_printf(a, "%s/%s", dir, name), expect[256] = "";
	struct ynode *root;
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(expect, sizeof expect, f));
	fclose(f);
	expect[strcspn(expect, "\n")] = '\0';
	err_clear();
	assert_int_equal(ytree_load(a, path, &root), 0);
	check_model(a, root);
	check_rest(a, root);
	bool ok = reported(expect);
	if (!ok) {
		print_error("%s: %s\n  not reported; got:\n", name, expect);
		err_print(stderr, "test");
	}
	ok = ok && err_count() == 1;
	if (err_count() != 1)
		print_error("%s: %d errors, expected one\n", name, err_count());
	err_clear();
	arena_free(a);
	return ok;
}

static bool mine(const char *name)
{
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static void test_files(void **state)
{
	const char *src = getenv("DLX_SOURCE");
	struct arena *a = arena_new();
	char *dir = arena_printf(a, "%s/test/config/bad", src ? src : ".");
	DIR *d = opendir(dir);
	int n = 0, bad = 0;
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		if (mine(e->d_name)) {
			n++;
			bad += !check_file(dir, e->d_name);
		}
	closedir(d);
	arena_free(a);
	assert_true(n > 40);
	assert_int_equal(bad, 0);
}

/* All mistakes of a list come at once, a repeated one once. */
static void test_all_at_once(void **state)
{
	static const char yaml[] = "family: layers\n"
							   "blocks:\n"
							   "  unit: [{conv2d: {filters: 0, kernel: 3}}]\n"
							   "layers:\n"
							   "  - convolution\n"
							   "  - unit\n"
							   "  - unit: {name: again}\n"
							   "  - relu: {inputs: nobody}\n"
							   "  - repeat: {times: 3, layers: [{relu: {slope: 1}}]}\n";
	static const int lines[] = { 5, 3, 8, 9 };
	struct arena *a = arena_new();
	struct variant_value v;
	struct ynode *root;
	err_clear();
	assert_int_equal(ytree_parse(a, "m.yaml", yaml, &root), 0);
	assert_int_equal(model_read(a, root, "'model'", &v), E_CONFIG);
	assert_int_equal(err_count(), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(err_get(i)->loc.line, lines[i]);
	err_clear();
	arena_free(a);
}

/* Shapes that do not fit name the layers that brought them, with their shapes. */
static void test_shapes_named(void **state)
{
	static const char yaml[] =
		"{family: layers, layers: [{conv2d: {filters: 8, kernel: 3, name: wide}},"
		" {conv2d: {filters: 4, kernel: 1, name: thin}}, {add: {inputs: [wide, thin]}}]}";
	struct arena *a = arena_new();
	struct graph *g = graph_new();
	struct shape in = { 4, { 1, 4, 8, 8 } };
	struct variant_value v;
	struct ynode *root;
	struct model_outputs out;
	tid x;
	bool named = false;
	err_clear();
	assert_int_equal(ytree_parse(a, "m.yaml", yaml, &root), 0);
	assert_int_equal(model_read(a, root, "'model'", &v), 0);
	assert_int_equal(graph_input(g, "input", DTYPE_F32, &in, &x), 0);
	assert_int_equal(model_build(g, a, &v, true, x, 4, &out), E_SHAPE);
	for (int i = 0; i < err_get(0)->ncontext; i++)
		named |= strstr(err_get(0)->context[i], "'wide' 1x8x6x6, 'thin' 1x4x6x6") != NULL;
	assert_true(named);
	err_clear();
	graph_free(g);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_all_at_once),
		cmocka_unit_test(test_shapes_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
