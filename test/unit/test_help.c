/* SPDX-License-Identifier: BSD-3-Clause
 *
 * help.h: the text is aligned and complete, a key picks its part, and the mdoc source has no word
 * of a table that could be taken for a request. */
#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "yaml/help.h"

struct sgd {
	double momentum;
};
static const struct field sgd_fields[] = {
	FIELD_FLOAT(struct sgd, momentum, "0.9", 0, 1, "momentum factor"),
	FIELD_END
};
static const struct variant optimizers[] = {
	{ "sgd", "stochastic gradient descent", sgd_fields, sizeof(struct sgd) },
	{ "none", NULL, NULL, 0 },
	{ 0 }
};
static const struct variant *made_entries(struct arena *a)
{
	struct variant *v = ARENA_ARRAY(a, struct variant, 2);
	v[0] = optimizers[0];
	return v;
}
struct lists {
	struct ynode *steps, *layers;
};
static const struct field list_fields[] = {
	FIELD_LIST(struct lists, steps, NULL, optimizers, "in this order"),
	FIELD_LIST_OF(struct lists, layers, "", made_entries, "one after another"),
	FIELD_END
};

static const char *const modes[] = { "fast", "exact", NULL };

struct train {
	int64_t epochs;
	int mode;
	struct variant_value optimizer;
};
static const struct field train_fields[] = {
	FIELD_INT(struct train, epochs, "", 1, 1000, "passes over the data"),
	FIELD_ENUM(struct train, mode, "fast", modes, ".TH \\fBis \"no\" request"),
	FIELD_VARIANT(struct train, optimizer, "sgd", optimizers, "the update rule"),
	FIELD_END
};

struct top {
	const char *name;
	struct train train;
};
static const struct field top_fields[] = {
	FIELD_STRING(struct top, name, NULL, "'quoted at first"),
	FIELD_SECTION(struct top, train, train_fields, "how long"),
	FIELD_END
};

static void assert_help(const char *key, const char *expected)
{
	struct buf b = BUF_INIT;
	assert_int_equal(help_text(&b, top_fields, key), 0);
	assert_string_equal(b.data, expected);
	buf_release(&b);
}

static void text(void **state)
{
	assert_help(NULL,
		"name   string   'quoted at first\n"
		"train  section  how long\n"
		"    epochs     integer from 1 to 1000 (required)  passes over the data\n"
		"    mode       one of fast, exact (default fast)  .TH \\fBis \"no\" request\n"
		"    optimizer  type sgd, none (default sgd)       the update rule\n"
		"        type: sgd  (stochastic gradient descent)\n"
		"            momentum  number from 0 to 1 (default 0.9)  momentum factor\n"
		"        type: none\n");
	assert_help("train.epochs", "epochs  integer from 1 to 1000 (required)  passes over the "
	                            "data\n");
	assert_help("train.optimizer.sgd.momentum",
	            "momentum  number from 0 to 1 (default 0.9)  momentum factor\n");
	assert_help("train.optimizer.momentum",
	            "type: sgd\n    momentum  number from 0 to 1 (default 0.9)  momentum factor\n");
	assert_help("train.optimizer.none", "optimizer:\n    type: none\n");
}

static void lists(void **state)
{
	struct buf b = BUF_INIT;
	assert_int_equal(help_text(&b, list_fields, NULL), 0);
	assert_string_equal(b.data,
		"steps   list of entries             in this order\n"
		"    - sgd  (stochastic gradient descent)\n"
		"        momentum  number from 0 to 1 (default 0.9)  momentum factor\n"
		"    - none\n"
		"layers  list of entries (required)  one after another\n"
		"    - sgd  (stochastic gradient descent)\n"
		"        momentum  number from 0 to 1 (default 0.9)  momentum factor\n");
	b.len = 0;
	assert_int_equal(help_text(&b, list_fields, "layers.sgd.momentum"), 0);
	assert_string_equal(b.data, "momentum  number from 0 to 1 (default 0.9)  momentum factor\n");
	b.len = 0;
	help_mdoc(&b, list_fields);
	assert_non_null(strstr(b.data, "List of entries (required).\n"
	                       ".Bl -tag -width Ds\n.It Cm \"\\&- sgd\"\n"));
	buf_release(&b);
}

/* A type is found by its name alone, wherever it is; the key that names types is one, too. */
static void by_name(void **state)
{
	struct buf b = BUF_INIT;
	assert_help("none", "train.optimizer:\n    type: none\n");
	assert_help("sgd.momentum", "momentum  number from 0 to 1 (default 0.9)  momentum factor\n");
	assert_help("train.optimizer.type", "optimizer  the update rule\n    type: sgd  (stochastic "
	            "gradient descent)\n    type: none\n");
	assert_int_equal(help_text(&b, top_fields, "sdg"), E_USAGE);
	assert_string_equal(err_get(0)->text, "there is no config key 'sdg'; did you mean 'sgd'?");
	assert_int_equal(help_text(&b, top_fields, "momentum"), E_USAGE);
	assert_string_equal(err_get(1)->text, "there is no config key 'momentum'; it is a key of: sgd "
	                                      "(--help-config=sgd.momentum)");
	err_clear();
	buf_release(&b);
}

static void overview(void **state)
{
	struct buf b = BUF_INIT;
	help_overview(&b, list_fields);
	assert_string_equal(b.data, "steps       in this order\nlayers      one after another\n"
	                    "\nentries of steps:\n            sgd, none\n"
	                    "\nentries of layers:\n            sgd\n");
	b.len = 0;
	help_overview(&b, top_fields);
	assert_string_equal(b.data, "name        'quoted at first\ntrain       how long\n"
	                    "            epochs, mode, optimizer\n");
	buf_release(&b);
}

static void no_such_key(void **state)
{
	struct buf b = BUF_INIT;
	assert_int_equal(help_text(&b, top_fields, "trian.epochs"), E_USAGE);
	assert_string_equal(err_get(0)->text, "there is no config key 'trian.epochs'; did you mean "
	                                      "'train'?");
	assert_int_equal(help_text(&b, top_fields, "train.optimizer.sdg"), E_USAGE);
	assert_string_equal(err_get(1)->text, "there is no config key 'train.optimizer.sdg'; did you "
	                                      "mean 'train.optimizer.sgd'?");
	assert_int_equal(help_text(&b, top_fields, "name.x"), E_USAGE);
	assert_string_equal(err_get(2)->text, "there is no config key 'name.x'");
	assert_int_equal(help_text(&b, top_fields, "train..x"), E_USAGE);
	assert_string_equal(b.data, "");
	err_clear();
	buf_release(&b);
}

static void mdoc(void **state)
{
	struct buf b = BUF_INIT;
	help_mdoc(&b, top_fields);
	assert_string_equal(b.data,
		".Bl -tag -width Ds\n"
		".It Cm \"\\&name\"\n"
		"\\&'quoted at first.\n"
		"String.\n"
		".It Cm \"\\&train\"\n"
		"How long.\n"
		"Section.\n"
		".Bl -tag -width Ds\n"
		".It Cm \"\\&epochs\"\n"
		"Passes over the data.\n"
		"Integer from 1 to 1000 (required).\n"
		".It Cm \"\\&mode\"\n"
		"\\&.TH \\efBis \\(dqno\\(dq request.\n"
		"One of fast, exact (default fast).\n"
		".It Cm \"\\&optimizer\"\n"
		"The update rule.\n"
		"Type sgd, none (default sgd).\n"
		".Bl -tag -width Ds\n"
		".It Cm \"\\&type: sgd\"\n"
		"Stochastic gradient descent.\n"
		".Bl -tag -width Ds\n"
		".It Cm \"\\&momentum\"\n"
		"Momentum factor.\n"
		"Number from 0 to 1 (default 0.9).\n"
		".El\n"
		".It Cm \"\\&type: none\"\n"
		".El\n"
		".El\n"
		".El\n");
	buf_release(&b);
}

static void mandoc_accepts_it(void **state)
{
	char path[] = "/tmp/dlx-test-help-XXXXXX", command[128];
	struct buf b = BUF_INIT;
	if (system("command -v mandoc >/dev/null") != 0)
		fail_msg("%s", "package mandoc is missing; ./bootstrap check installs it");
	buf_puts(&b, ".Dd November 1, 2026\n.Dt DLX-CONFIG 5\n.Os\n.Sh NAME\n.Nm dlx-config\n.Nd keys\n"
	             ".Sh DESCRIPTION\nThe keys:\n");
	help_mdoc(&b, top_fields);
	close(mkstemp(path));
	assert_int_equal(io_write_file(path, b.data, b.len), 0);
	snprintf(command, sizeof command, "mandoc -Tlint -Werror %s >&2", path);
	assert_int_equal(system(command), 0);
	unlink(path);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text), cmocka_unit_test(lists), cmocka_unit_test(by_name),
		cmocka_unit_test(overview), cmocka_unit_test(no_such_key),
		cmocka_unit_test(mdoc), cmocka_unit_test(mandoc_accepts_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
