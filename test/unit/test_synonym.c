/* SPDX-License-Identifier: BSD-3-Clause
 *
 * synonym.h: what words of other programs mean, and that none is taken for a typing error. */
#include "cases.h"
#include "plan/config.h"
#include "yaml/schema_where.h"
#include "yaml/synonym.h"

static void assert_hint(const char *word, const char *const *names, const char *text)
{
	struct buf b = BUF_INIT;
	assert_int_equal(hint_of(&b, word, names), *text != '\0');
	assert_string_equal(b.data, text);
	buf_release(&b);
}

static void meant(void **state)
{
	static const char *const layers[] = { "conv2d", "dense", "batch_norm", "relu", NULL };
	static const char *const keys[] = { "learning_rate", "weight_decay", NULL };
	static const char *const more[] = { "relu", "gelu", NULL };
	assert_hint("nn.Linear", layers, "; did you mean 'dense' (PyTorch's 'linear')?");
	assert_hint("BatchNorm", layers, "; did you mean 'batch_norm'?");
	assert_hint("con2d", layers, "; did you mean 'conv2d'?");
	assert_hint("LR", keys, "; did you mean 'learning_rate' (PyTorch's 'lr')?");
	assert_hint("wd", keys, "; did you mean 'weight_decay'?");
	assert_hint("in_channels", layers,
	            "; leave it out: a layer has as many inputs as the layer before it has outputs");
	assert_hint("GELU", more, "; did you mean 'gelu'?");
}

static void no_neighbour(void **state)
{
	static const char *const devices[] = { "auto", "cpu", "reference", NULL };
	static const char *const layers[] = { "relu", NULL };
	static const char *const optimizers[] = { "sgd", "adam", NULL };
	assert_hint("tpu", devices, "");
	assert_hint("elu", layers, "");
	assert_hint("gelu", layers, "");
	assert_hint("nadam", optimizers, "");
	assert_hint("adamw", optimizers,
	            "; AdamW is {type: adam, decoupled: true, weight_decay: 0.01}");
}

static void assert_where(const char *key, const char *text)
{
	struct buf b = BUF_INIT;
	assert_int_equal(schema_where_put(&b, key), *text != '\0');
	assert_string_equal(b.data, text);
	buf_release(&b);
}

static void elsewhere(void **state)
{
	assert_where("epochs", "");
	schema_where_root(config_fields);
	assert_where("epochs", "; did you mean 'train.epochs'?");
	assert_where("device", "; 'device' stands at the top of the config, in no section");
	assert_where("momentum", "; did you mean 'model.momentum' or 'optimizer.momentum'?");
	assert_where("growth", "");   /* a key of few model families gets no advice */
	assert_where(NULL, "");
}

/* Every row can be reached: the same word and name are there once, and a row without a program's
 * name or advice is there to keep a word from its neighbours. */
static void table(void **state)
{
	for (const struct synonym *s = NULL; (s = synonym_next(s)) != NULL;) {
		assert_true(s->name || s->advice);
		for (const struct synonym *t = NULL; (t = synonym_next(t)) != s;)
			if (!strcmp(s->word, t->word) && s->name && t->name && !strcmp(s->name, t->name))
				fail_msg("'%s' means '%s' twice", s->word, s->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meant), cmocka_unit_test(no_neighbour), cmocka_unit_test(elsewhere),
		cmocka_unit_test(table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
