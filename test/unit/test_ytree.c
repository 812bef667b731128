/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ytree.h: places of keys and values, every kind of mistake with its place, merge keys and
 * aliases, --set, and that what is written reads back as the same tree. */
#include <math.h>

#include "arena_fixture.h"
#include "base/err.h"
#include "base/io.h"
#include "yaml/ytree.h"

static struct ynode *parse(const char *text)
{
	struct ynode *root;
	assert_int_equal(ytree_parse(a, "t.yaml", text, &root), 0);
	return root;
}

static void assert_yaml(const struct ynode *n, const char *expected)
{
	struct buf b = BUF_INIT;
	ytree_write(&b, n);
	assert_string_equal(b.data, expected);
	buf_release(&b);
}

static void assert_loc(struct loc loc, int line, int col, int len)
{
	assert_string_equal(loc.file, "t.yaml");
	assert_int_equal(loc.line, line);
	assert_int_equal(loc.col, col);
	assert_int_equal(loc.len, len);
}

static void places(void **state)
{
	struct ynode *r = parse("run: {name: deep, \"seed\": 12}\n"
	                        "\xC3\xA9t\xC3\xA9:  'a b'\n"
	                        "list:\n"
	                        "  - one\n"
	                        "  - [2, 3]\n"
	                        "  - |\n"
	                        "    text\n"
	                        "empty:\n");
	const struct ynode *run = ytree_find(r, "run"), *list = ytree_find(r, "list");
	assert_int_equal(r->kind, Y_MAP);
	assert_int_equal(r->n, 4);
	assert_loc(r->pair[0].key_loc, 1, 1, 3);
	assert_loc(run->loc, 1, 6, 1);
	assert_loc(run->pair[0].value->loc, 1, 13, 4);
	assert_loc(run->pair[1].key_loc, 1, 19, 6);
	assert_loc(r->pair[1].key_loc, 2, 1, 3);
	assert_loc(r->pair[1].value->loc, 2, 7, 5);
	assert_true(r->pair[1].value->quoted);
	assert_int_equal(list->kind, Y_SEQ);
	assert_loc(list->item[0]->loc, 4, 5, 3);
	assert_loc(list->item[1]->item[1]->loc, 5, 9, 1);
	assert_string_equal(list->item[2]->text, "text\n");
	assert_true(list->item[2]->quoted);
	assert_int_equal(ytree_find(r, "empty")->kind, Y_NULL);
	assert_string_equal(ytree_find(r, "empty")->text, "");
	assert_null(ytree_find(r, "none"));
	assert_null(ytree_find(list, "none"));
	assert_null(ytree_find(NULL, "none"));
	assert_int_equal(parse("")->kind, Y_NULL);
	assert_int_equal(parse("# nothing\n")->kind, Y_NULL);
	assert_int_equal(parse("just text")->kind, Y_SCALAR);
}

/* The text has exactly these mistakes, one a line: "LINE:COL: TEXT". */
static void assert_mistakes(const char *text, const char *expected)
{
	struct buf got = BUF_INIT;
	struct ynode *root;
	assert_int_equal(ytree_parse(a, "t.yaml", text, &root), E_CONFIG);
	for (int i = 0; i < err_count(); i++) {
		const struct err_entry *e = err_get(i);
		buf_printf(&got, "%d:%d: %s\n", e->loc.line, e->loc.col, e->text);
	}
	assert_string_equal(got.data, expected);
	buf_release(&got);
	err_clear();
}

static void mistakes(void **state)
{
	struct ynode *root;
	assert_mistakes("a: 1\nb: 2\na: 3\nb: 4\n",
	                "3:1: duplicate key 'a' (the first is in line 1)\n"
	                "4:1: duplicate key 'b' (the first is in line 2)\n");
	assert_mistakes("a: !!str 1\n[x, y]: 2\n{m: 1}: 3\n? *n\n: 5\nb: *none\n",
	                "1:4: tags such as 'tag:yaml.org,2002:str' are not supported\n"
	                "2:1: a key must be a plain word, not a list\n"
	                "3:1: a key must be a plain word, not a map\n"
	                "4:3: a key must be a plain word, not an alias\n"
	                "4:3: unknown anchor 'n' (it must stand before, and not around, its use)\n"
	                "6:4: unknown anchor 'none' (it must stand before, and not around, its use)\n");
	assert_mistakes("a: 1\n---\nb: 2\n", "2:1: a second document starts here; only one is "
	                                     "allowed\n");
	assert_mistakes("a: &x [1, *x]\n",
	                "1:11: unknown anchor 'x' (it must stand before, and not around, its use)\n");
	assert_mistakes("x: 1\n<<: 3\n", "2:5: '<<' takes a map or a list of maps\n");
	assert_mistakes("<<: [{a: 1}, 2]\n", "1:14: '<<' takes a map or a list of maps\n");
	assert_mistakes("<<: {a: 1}\n<<: {b: 1}\n", "2:1: duplicate key '<<'\n");
	assert_mistakes("? \n: 1\n", "1:2: a key is missing here\n");
	assert_mistakes("a: \"x\\0y\"\n", "1:4: a NUL character is not allowed in a value\n");
	assert_mistakes("\xC3\xA9: 1\nab\xFF: 1\n",
	                "2:3: the file is not UTF-8 text: bad byte or character 0xff\n");
	assert_int_equal(ytree_parse(a, "t.yaml", "a: 1\na: 2\n", &root), E_CONFIG);
	assert_non_null(root);   /* still a tree to look for more mistakes in */
}

static void broken_syntax(void **state)
{
	struct ynode *root;
	assert_int_equal(ytree_parse(a, "t.yaml", "a: [1, 2\nb: 3\n", &root), E_CONFIG);
	assert_null(root);
	assert_int_equal(err_count(), 1);
	assert_int_equal(err_get(0)->loc.line, 1);
	assert_int_equal(err_get(0)->loc.col, 4);
	assert_string_equal(err_get(0)->text, "syntax error: '[' is not closed: its ']' is missing");
	err_clear();
	assert_int_equal(ytree_parse(a, "t.yaml", "a: b: c\n", &root), E_CONFIG);
	assert_int_equal(err_get(0)->loc.col, 5);
	err_clear();
	assert_int_equal(ytree_parse(a, "t.yaml", "a:\n\tb: 1\n", &root), E_CONFIG);
	assert_int_equal(err_get(0)->loc.line, 2);
}

/* A bracket without its end is reported at the bracket, not where the text stops to make sense. */
static void open_brackets(void **state)
{
	static const struct {
		const char *text;
		int line, col;
		const char *says;
	} cases[] = {
		{ "a: {b: 1,\n  c: [1, 2}\nd: 3\n", 2, 6,
		  "'[' is not closed: '}' stands where its ']' should" },
		{ "a: {b: {c: 1}\nd: {e: 1}\n", 1, 4, "'{' is not closed: its '}' is missing" },
		{ "a: 1 # [\nb: '{' \nc: {d: \"]\"\n", 3, 4, "'{' is not closed" },
		{ "\xC3\xA9: [1\nb: 2\n", 1, 4, "'[' is not closed" },
		{ "a: {b: 1 c: 2}\n", 1, 11, "a ',' is missing before this" },
		{ "a: x{y\nb: c: d\n", 2, 5, "a second ':' in one line" },
		{ "a: {b: \"c}\n", 1, 8, "this quote is not closed" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ynode *root;
		assert_int_equal(ytree_parse(a, "t.yaml", cases[i].text, &root), E_CONFIG);
		if (!strstr(err_get(0)->text, cases[i].says))
			fail_msg("'%s': '%s'", cases[i].text, err_get(0)->text);
		assert_int_equal(err_get(0)->loc.line, cases[i].line);
		assert_int_equal(err_get(0)->loc.col, cases[i].col);
		err_clear();
	}
}

static void limits(void **state)
{
	struct buf b = BUF_INIT;
	struct ynode *root;
	for (int i = 0; i < 200; i++)
		buf_putc(&b, '[');
	assert_int_equal(ytree_parse(a, "t.yaml", b.data, &root), E_CONFIG);
	assert_non_null(strstr(err_get(0)->text, "more than 100 levels"));
	assert_int_equal(err_get(0)->loc.col, 101);
	err_clear();

	buf_clear(&b);
	buf_puts(&b, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 12; i++) {
		buf_printf(&b, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			buf_printf(&b, "*a%d, ", i - 1);
		buf_puts(&b, "]\n");
	}
	assert_int_equal(ytree_parse(a, "t.yaml", b.data, &root), E_CONFIG);
	assert_non_null(strstr(err_get(0)->text, "aliases unfolded"));
	err_clear();

	buf_clear(&b);
	for (int i = 0; i < 300; i++)
		buf_putc(&b, 'k');
	buf_puts(&b, ": 1\n");
	assert_int_equal(ytree_parse(a, "t.yaml", b.data, &root), E_CONFIG);
	buf_release(&b);
}

static void aliases_and_merges(void **state)
{
	struct ynode *r = parse("base: &b {lr: 0.1, steps: &n 5}\n"
	                        "more: &m {lr: 0.2, power: 2}\n"
	                        "own: {lr: 0.3, <<: *b}\n"
	                        "both: {<<: [*b, *m], steps: *n}\n"
	                        "same: *b\n"
	                        "\"<<\": plain\n");
	assert_yaml(r, "base: {lr: 0.1, steps: 5}\n"
	               "more: {lr: 0.2, power: 2}\n"
	               "own: {lr: 0.3, steps: 5}\n"
	               "both: {steps: 5, lr: 0.1, power: 2}\n"
	               "same: {lr: 0.1, steps: 5}\n"
	               "\"<<\": plain\n");
	assert_ptr_equal(ytree_find(r, "same"), ytree_find(r, "base"));
	assert_loc(ytree_find(r, "own")->pair[1].key_loc, 1, 20, 5);
}

static void scalar(const char *text, bool quoted, const char *as)
{
	struct ynode n = { .kind = Y_SCALAR, .text = text, .quoted = quoted };
	char got[64] = "text";
	int64_t i;
	double f;
	bool b;
	if (y_bool(&n, &b))
		snprintf(got, sizeof got, "bool %d", b);
	else if (y_int(&n, &i)) {
		assert_true(y_float(&n, &f) && f == (double)i);
		snprintf(got, sizeof got, "int %lld", (long long)i);
	} else if (y_float(&n, &f))
		snprintf(got, sizeof got, "float %g", f);
	assert_string_equal(got, as);
}

static void scalars(void **state)
{
	scalar("true", false, "bool 1");
	scalar("False", false, "bool 0");
	scalar("yes", false, "text");
	scalar("true", true, "text");
	scalar("0", false, "int 0");
	scalar("-12", false, "int -12");
	scalar("+12", false, "int 12");
	scalar("007", false, "int 7");
	scalar("0x1F", false, "int 31");
	scalar("0o17", false, "int 15");
	scalar("-0x1F", false, "text");
	scalar("9223372036854775807", false, "int 9223372036854775807");
	scalar("9223372036854775808", false, "float 9.22337e+18");
	scalar("12", true, "text");
	scalar("1e-4", false, "float 0.0001");
	scalar("1.", false, "float 1");
	scalar(".5", false, "float 0.5");
	scalar("-.5E+1", false, "float -5");
	scalar("-.inf", false, "float -inf");
	scalar(".NaN", false, "float nan");
	scalar("1e999", false, "text");
	scalar("", false, "text");
	scalar("-", false, "text");
	scalar(".", false, "text");
	scalar("1e", false, "text");
	scalar("0x", false, "text");
	scalar("0x1p3", false, "text");
	scalar("infinity", false, "text");
	scalar(" 1", false, "text");
	scalar("1_000", false, "text");
}

static bool same(const struct ynode *x, const struct ynode *y)
{
	bool bx = false, by = false;
	double fx = 0, fy = 0;
	if (x->kind != y->kind || x->n != y->n || strcmp(x->text, y->text) != 0)
		return false;
	if (y_bool(x, &bx) != y_bool(y, &by) || bx != by || y_float(x, &fx) != y_float(y, &fy))
		return false;
	for (int i = 0; i < x->n; i++) {
		if (x->kind == Y_SEQ ? !same(x->item[i], y->item[i])
		                     : strcmp(x->pair[i].key, y->pair[i].key) != 0 ||
		                       !same(x->pair[i].value, y->pair[i].value))
			return false;
	}
	return true;
}

static void round_trip(const char *text)
{
	struct ynode *first = parse(text);
	struct buf b = BUF_INIT;
	ytree_write(&b, first);
	if (!same(first, parse(b.data)))
		fail_msg("'%s' was written as '%s'", text, b.data);
	buf_release(&b);
}

static void round_trips(void **state)
{
	static const char *const texts[] = {
		"",
		"x",
		"[]",
		"{}",
		"- - - a\n  - {}\n- []\n- - {b: 1, c: [2]}\n",
		"a: b, c\nb: 'x: y'\nc: '#'\nd: \"tab\\tnewline\\n\\u0001\\u2028\\ufeff\"\ne: >\n  "
		"folded\n  text\n",
		"a: '1'\nb: 'true'\nc: 'null'\nd: '~'\ne: ''\nf: ' x '\ng: '-'\nh: '- a'\ni: '?'\nj: "
		"'*x'\nk: '---'\n",
		"'a b': 1\n'1': 2\nnull: 3\n'': 4\n'x: y': 5\n\"\\n\": 6\n'[': 7\n'<<': 8\n~: 9\n",
		"a: plain text\n  over lines\n\n  and a gap\nb: x\\y\nc: 'it''s'\nd: http://h/x?y=z#w\n",
		"\xC3\xA9: \xF0\x9F\x8C\x8D\n",
		"deep: {a: {b: {c: {d: {e: [1, [2, [3, [4]]]]}}}}}\n",
		"l:\n- conv2d: {filters: 32, kernel: 3, padding: same, name: a-rather-long-name, bias: "
		"false, g: 1}\n"
		"- repeat:\n    times: 2\n    layers: [{batch_norm: {}}, relu, {conv2d: {filters: 32, "
		"kernel: 3}}]\n",
		"a: -1\nb: +1\nc: -x\nd: .5\ne: '...'\nf: =\ng: '%'\nh: '@'\ni: -.5\nj: "
		"\"\\x7f\\x85\\xa0\"\n",
	};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		round_trip(texts[i]);
}

static void styles(void **state)
{
	assert_yaml(parse("{model: {family: layers, input: {channels: 4, size: [32, 32]}, layers: "
	                  "[{conv2d: {filters: 32, kernel: 3}}, {relu: {}}]}, "
	                  "train: {epochs: 3}, empty: {}, none: null, list: []}"),
	            "model:\n"
	            "  family: layers\n"
	            "  input: {channels: 4, size: [32, 32]}\n"
	            "  layers:\n"
	            "    - conv2d: {filters: 32, kernel: 3}\n"
	            "    - relu: {}\n"
	            "train: {epochs: 3}\n"
	            "empty: {}\n"
	            "none: null\n"
	            "list: []\n");
}

static void json(void **state)
{
	struct buf b = BUF_INIT;
	ytree_write_json(&b, parse("a: [1, 0x10, 1.50, .inf, true, null, ~, x, '1', \"q\\\"\"]\nb: "
	                           "{}\nc: []\n"));
	assert_string_equal(b.data, "{\"a\": [1, 16, 1.5, null, true, null, null, \"x\", \"1\", "
	                            "\"q\\\"\"], "
	                            "\"b\": {}, \"c\": []}");
	buf_release(&b);
}

static void set(void **state)
{
	struct ynode *r = parse("base: &b {lr: 1, k: 2}\nopt: *b\nlayers: [{conv: {f: 1}}, relu]\nx: "
	                        "1\n");
	assert_int_equal(ytree_set(a, r, "opt.lr=[1, 2]"), 0);
	assert_int_equal(ytree_set(a, r, "layers.0.conv.f=64"), 0);
	assert_int_equal(ytree_set(a, r, "layers.1=tanh"), 0);
	assert_int_equal(ytree_set(a, r, "new.deep.key=a=b"), 0);
	assert_int_equal(ytree_set(a, r, "x="), 0);
	assert_yaml(r, "base: {lr: 1, k: 2}\n"   /* the alias's other user keeps its value */
	               "opt: {lr: [1, 2], k: 2}\n"
	               "layers:\n"
	               "  - conv: {f: 64}\n"
	               "  - tanh\n"
	               "x: null\n"
	               "new: {deep: {key: a=b}}\n");
	r = parse("");
	assert_int_equal(ytree_set(a, r, "a.b=1"), 0);
	assert_yaml(r, "a: {b: 1}\n");
	r = parse("m: {layers: [{conv: {f: 1}}, {relu: }, {files: x}, [1, 2]]}\n");
	assert_int_equal(ytree_set(a, r, "m.layers[0].f=64"), 0);
	assert_int_equal(ytree_set(a, r, "m.layers[0].conv.g=2"), 0);
	assert_int_equal(ytree_set(a, r, "m.layers[1].slope=0.5"), 0);
	assert_int_equal(ytree_set(a, r, "m.layers[2].weight=3"), 0);
	assert_int_equal(ytree_set(a, r, "m.layers[3][1]=7"), 0);
	assert_yaml(r, "m:\n"
	               "  layers:\n"
	               "    - conv: {f: 64, g: 2}\n"
	               "    - relu: {slope: 0.5}\n"
	               "    - {files: x, weight: 3}\n"
	               "    - [1, 7]\n");
}

static void bad_set(struct ynode *r, const char *assignment, int col, const char *text)
{
	assert_int_equal(ytree_set(a, r, assignment), E_CONFIG);
	assert_string_equal(err_get(0)->loc.file, "--set");
	assert_int_equal(err_get(0)->loc.col, col);
	if (!strstr(err_get(0)->text, text))
		fail_msg("'%s' gave '%s'", assignment, err_get(0)->text);
	err_clear();
}

static void bad_sets(void **state)
{
	struct ynode *r = parse("l: [1]\nx: 5\n");
	struct ynode *v;
	char *text = NULL;
	size_t n;
	FILE *f;
	bad_set(r, "x", 1, "KEY=VALUE");
	bad_set(r, "=1", 1, "KEY=VALUE");
	bad_set(r, "l.1=2", 3, "past the end");
	bad_set(r, "l.x=2", 3, "must be an index");
	bad_set(r, "l.-1=2", 3, "must be an index");
	bad_set(r, "x.y=2", 3, "its parent is the value '5'");
	bad_set(r, "new..y=2", 5, "empty word");
	bad_set(r, "x=[1", 3, "syntax error");
	bad_set(r, "l[3]=2", 3, "index 3 is past the end: 'l' has 1 item, l[0] to l[0]");
	bad_set(r, "l[-1]=2", 3, "'-1' must be an index: 'l' is a list, whose first item is 'l[0]'");
	bad_set(r, "l[0].y=2", 6,
	        "its parent is the value '1'; set 'l[0]' as a whole: --set 'l[0]={...}'");
	bad_set(r, "l[0=2", 3, "'[' without a ']'");
	bad_set(r, "l[]=2", 3, "empty word");
	bad_set(r, "l[0]y=2", 5, "'.' or '=' expected after ']'");
	bad_set(r, "x[0]=2", 3, "'x' is a value, no list");
	bad_set(r, "xx[0]=2", 4, "'xx' is not in the config, so it has no item 0; set the whole list: "
	        "--set 'xx=[...]'");
	assert_yaml(r, "l: [1]\nx: 5\n");
	assert_int_equal(ytree_set(a, r, "x={a: 1, a: 2}"), E_CONFIG);
	f = open_memstream(&text, &n);
	err_print(f, "dlx");
	fclose(f);
	assert_non_null(strstr(text, ":10: duplicate key 'a'"));
	assert_non_null(strstr(text, " | x={a: 1, a: 2}\n     |          ^\n"));
	free(text);
	err_clear();
	ytree_set(a, r, "x=abc");
	v = ytree_find(r, "x");
	assert_int_equal(v->loc.col, 3);
	assert_int_equal(v->loc.len, 3);
	assert_int_equal(ytree_pair(r, "x")->key_loc.col, 1);
}

static void loading(void **state)
{
	char path[] = "/tmp/dlx-test-ytree-XXXXXX";
	struct ynode *r;
	close(mkstemp(path));
	io_write_file(path, "a: 1\n", 5);
	assert_int_equal(ytree_load(a, path, &r), 0);
	assert_string_equal(ytree_find(r, "a")->loc.file, path);
	io_write_file(path, "\xEF\xBB\xBF" "a: {b: 1}\r\nc: 2\r\n", 20);
	assert_int_equal(ytree_load(a, path, &r), 0);
	assert_int_equal(ytree_pair(r, "a")->key_loc.col, 1);
	assert_int_equal(ytree_pair(r, "c")->key_loc.line, 2);
	io_write_file(path, "a: \0\n", 5);
	assert_int_equal(ytree_load(a, path, &r), E_CONFIG);
	assert_null(r);
	unlink(path);
	assert_int_equal(ytree_load(a, path, &r), E_NOINPUT);
}

/* The word `needle` of the value of key v is at this place. */
static void assert_word(const char *yaml, const char *needle, int line, int col)
{
	const struct ynode *v = ytree_find(parse(yaml), "v");
	const char *at = strstr(v->text, needle);
	assert_non_null(at);
	assert_loc(ynode_place(v, (size_t)(at - v->text), strlen(needle)), line, col,
	           (int)strlen(needle));
}

static void places_in_scalars(void **state)
{
	assert_word("v: a + bc", "bc", 1, 8);
	assert_word("{v: \"é + bc\", w: 1}", "bc", 1, 10);
	assert_word("v: 'it''s bc'", "bc", 1, 11);
	assert_word("v: \"\\x41\\u0042\\\"\\t\\n bc\"", "bc", 1, 22);
	assert_word("v: \"\\x20\\\n   a bc\"", "bc", 2, 6);
	assert_word("v: a\n   +\n\n   bc", "bc", 4, 4);
	assert_word("v: |  # why\n  a\n   bc\n", "bc", 3, 4);
	assert_word("v: >-\n  a\n\n  dd bc\nw: 1", "bc", 4, 6);
	assert_word("v: &n a\n  bc", "bc", 2, 3);
	assert_word("v: &n 'a bc'", "bc", 1, 10);
	/* the end of the text; a word over two lines; what has no place of its own */
	const struct ynode *v = ytree_find(parse("v: a bc"), "v");
	assert_loc(ynode_place(v, 4, 0), 1, 8, 1);
	v = ytree_find(parse("v: |\n  a\n  bc\n"), "v");
	assert_loc(ynode_place(v, 0, 4), 2, 3, 1);
	assert_loc(ynode_place(v, 5, 0), 4, 1, 1);
	struct ynode given = { .kind = Y_SCALAR, .loc = { "t.yaml", 7, 3, 5 }, .text = "ab" };
	assert_loc(ynode_place(&given, 1, 1), 7, 3, 5);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(places), T(places_in_scalars), T(mistakes), T(broken_syntax), T(open_brackets), T(limits),
		T(aliases_and_merges), T(scalars), T(round_trips), T(styles), T(json), T(set), T(bad_sets),
		T(loading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
