/* SPDX-License-Identifier: BSD-3-Clause
 *
 * err.h: the record, and above all how it is printed: order, line, caret, context, hostile text. */
#include <sys/wait.h>

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

static struct loc at(const char *file, int line, int col, int len)
{
	return (struct loc){ str_intern(file), line, col, len };
}

static char *printed(void)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	err_print(f, "dlx-train");
	fclose(f);
	return text;
}

/* Prints and drops the record. */
static void assert_prints(const char *expected)
{
	char *text = printed();

	assert_string_equal(text, expected);
	free(text);
	err_clear();
}

static int fails(int depth)
{
	struct loc loc = at("a.yaml", 2, 3, 1);

	if (depth == 0)
		return ERR(E_SHAPE, &loc, "kernel %d exceeds input %d", 5, 4);
	TRYC(fails(depth - 1), "at depth %d", depth);
	return 0;
}

static void codes(void **state)
{
	assert_int_equal(err_exit_status(0), 0);
	assert_int_equal(err_exit_status(E_CONFIG), 78);
	assert_int_equal(err_exit_status(E_STOPPED), 75);
	assert_int_equal(err_exit_status(-12345), 70);
	assert_string_equal(err_name(E_NOMEM), "out of memory");
	assert_string_equal(err_name(7), "unknown error");
}

static void contexts(void **state)
{
	assert_int_equal(fails(2), E_SHAPE);
	assert_int_equal(err_count(), 1);
	assert_int_equal(err_get(0)->ncontext, 2);
	assert_string_equal(err_get(0)->context[0], "at depth 1");
	assert_prints("dlx-train: a.yaml:2:3: kernel 5 exceeds input 4\n    at depth 1\n    at depth "
	              "2\n");
	fails(20);
	assert_int_equal(err_get(0)->ncontext, ERR_CONTEXT);
	err_clear();
	assert_int_equal(err_context(E_IO, "no entry to add to"), E_IO);
	assert_prints("");
}

/* A report of a mistake of dlx says where in dlx it was found. */
static void bugs_have_a_place(void **state)
{
	char want[256];

	assert_int_equal(ERR(E_BUG, NULL, "one byte too many"), E_BUG);
	snprintf(want, sizeof want, "dlx-train: one byte too many [%s:%d]\n", __FILE__, __LINE__ - 1);
	assert_prints(want);
}

static void caret_under_the_word(void **state)
{
	struct loc loc = at("c.yaml", 2, 8, 7);

	err_source_add("c.yaml", "layers:\n- conv: fliters 64\r\nlast");
	ERR(E_CONFIG, &loc, "unknown key 'fliters'");
	loc = at("c.yaml", 3, 1, 99);
	ERR(E_CONFIG, &loc, "too long a span ends with the line");
	loc = at("c.yaml", 3, 5, 1);
	ERR(E_CONFIG, &loc, "just past the end");
	loc = at("c.yaml", 9, 1, 1);
	ERR(E_CONFIG, &loc, "no such line");
	loc = at("c.yaml", 3, 0, 0);
	ERR(E_CONFIG, &loc, "no column");
	loc = at("c.yaml", 0, 0, 0);
	ERR(E_CONFIG, &loc, "no line");
	assert_prints(
		"dlx-train: c.yaml: no line\n"
		"dlx-train: c.yaml:2:8: unknown key 'fliters'\n"
		"   2 | - conv: fliters 64\n"
		"     |        ^~~~~~~\n"
		"dlx-train: c.yaml:3: no column\n"
		"   3 | last\n"
		"dlx-train: c.yaml:3:1: too long a span ends with the line\n"
		"   3 | last\n"
		"     | ^~~~\n"
		"dlx-train: c.yaml:3:5: just past the end\n"
		"   3 | last\n"
		"     |     ^\n"
		"dlx-train: c.yaml:9:1: no such line\n");
}

static void caret_in_odd_lines(void **state)
{
	struct loc loc = at("d.yaml", 1, 4, 3);
	struct buf text = BUF_INIT;
	char *out;

	err_source_add("d.yaml", "\ta\tb c\033[31m\n\xC3\xA9t\xC3\xA9 x \xFF y\n");
	ERR(E_CONFIG, &loc, "tabs");
	loc = at("d.yaml", 2, 9, 1);
	ERR(E_CONFIG, &loc, "characters, not bytes");
	assert_prints(
		"dlx-train: d.yaml:1:4: tabs\n"
		"   1 |         a       b c?[31m\n"
		"     |                 ^~~\n"
		"dlx-train: d.yaml:2:9: characters, not bytes\n"
		"   2 | \xC3\xA9t\xC3\xA9 x ? y\n"
		"     |         ^\n");

	for (int i = 0; i < 500; i++)
		buf_puts(&text, "0123456789");
	err_source_add("d.yaml", text.data);   /* replaces the text of this name */
	loc = at("d.yaml", 1, 3001, 2);
	ERR(E_CONFIG, &loc, "far right");
	out = printed();
	assert_true(strlen(out) < 300);
	assert_non_null(strstr(out, "   1 | 0123456789"));
	assert_non_null(strstr(out, "\n     |                                         ^~\n"));
	free(out);
	err_clear();
	buf_release(&text);
}

static void hostile_texts(void **state)
{
	struct loc foreign = at("a\xE2\x80\xAE.yaml", 0, 0, 0);

	ERR(E_CONFIG, NULL, "unknown key '%s'", "\033[2Jx\ny\xC2\x9B\xFF\xF3\xA0\x80\xA1\xC3\xA9");
	assert_prints("dlx-train: unknown key '\\x1b[2Jx\\ny\\u009b\\xff\\U000e0021\xC3\xA9'\n");
	ERR(E_CONFIG, &foreign, "x");
	err_context(E_CONFIG, "in '%s'", "\xE2\x81\xA6");
	assert_prints("dlx-train: a\\u202e.yaml: x\n    in '\\u2066'\n");
}

static void sorted_by_place(void **state)
{
	struct loc b2 = at("b", 2, 1, 1), b1 = at("b", 1, 9, 1), b1a = at("b", 1, 2, 1);
	struct loc a9 = at("a", 9, 1, 1);

	ERR(E_IO, NULL, "first without place");
	ERR(E_CONFIG, &b2, "three");
	ERR(E_CONFIG, &b1, "two");
	ERR(E_CONFIG, &b1, "two again");
	ERR(E_CONFIG, &b1a, "one");
	ERR(E_CONFIG, &a9, "zero");
	ERR(E_IO, NULL, "second without place");
	assert_prints("dlx-train: a:9:1: zero\ndlx-train: b:1:2: one\ndlx-train: b:1:9: two\n"
	              "dlx-train: b:1:9: two again\ndlx-train: b:2:1: three\n"
	              "dlx-train: first without place\ndlx-train: second without place\n");
}

static void lines_of_a_file(void **state)
{
	char path[] = "/tmp/dlx-test-err-XXXXXX";
	struct loc loc;
	char *out;

	close(mkstemp(path));
	assert_int_equal(io_write_file(path, "one\ntwo\n", 8), 0);
	loc = at(path, 2, 1, 3);
	ERR(E_CONFIG, &loc, "x");
	out = printed();
	assert_non_null(strstr(out, "   2 | two\n     | ^~~\n"));
	free(out);
	err_clear();
	unlink(path);
}

static void too_many(void **state)
{
	struct loc loc = at("a", 1, 1, 1);
	char *out;

	for (int i = 0; i < ERR_MAX + 5; i++)
		ERR(E_CONFIG, NULL, "number %d", i);
	assert_int_equal(err_count(), ERR_MAX);
	err_context(E_CONFIG, "meant for one that was not kept");
	err_locate(E_CONFIG, &loc);
	assert_int_equal(err_get(ERR_MAX - 1)->ncontext, 0);
	assert_null(err_get(ERR_MAX - 1)->loc.file);
	out = printed();
	assert_non_null(strstr(out, "number 19\ndlx-train: ... and 5 more\n"));
	free(out);
	assert_int_equal(err_count(), ERR_MAX);   /* printing keeps the record */
	err_clear();
	assert_prints("");
}

static void recovery(void **state)
{
	struct loc loc = at("a", 1, 1, 1), other = at("b", 1, 1, 1);
	int mark;

	ERR(E_IO, NULL, "kept");
	mark = err_count();
	fails(2);
	ERR(E_IO, NULL, "dropped");
	err_truncate(mark);
	err_locate(E_IO, &loc);
	err_locate(E_IO, &other);
	assert_prints("dlx-train: a:1:1: kept\n");
}

static void handing_over(void **state)
{
	struct err_record r;

	ERR(E_IO, NULL, "one");
	err_take(&r);
	assert_int_equal(err_count(), 0);
	for (int i = 0; i < ERR_MAX; i++)
		ERR(E_IO, NULL, "more");
	err_give(&r);
	assert_int_equal(r.n, 0);
	assert_int_equal(err_count(), ERR_MAX);
	err_clear();
}

static void interned(void **state)
{
	char name[32];
	const char *first[1000];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "name %d", i);
		first[i] = str_intern(name);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "name %d", i);
		assert_ptr_equal(str_intern(name), first[i]);
		assert_string_equal(first[i], name);
	}
}

static int status_of(void (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		fclose(stderr);
		stderr = fopen("/dev/null", "w");
		run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void run_bug(void)
{
	BUG_IF(1 + 1 == 2, "sum %d", 2);
}

static void run_overflow(void)
{
	mem_free(mem_calloc(SIZE_MAX / 2, 3));
}

static void ends_of_the_process(void **state)
{
	int status = status_of(run_bug);

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	status = status_of(run_overflow);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 69);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes),
		cmocka_unit_test(contexts),
		cmocka_unit_test(bugs_have_a_place),
		cmocka_unit_test(caret_under_the_word),
		cmocka_unit_test(caret_in_odd_lines),
		cmocka_unit_test(hostile_texts),
		cmocka_unit_test(sorted_by_place),
		cmocka_unit_test(lines_of_a_file),
		cmocka_unit_test(too_many),
		cmocka_unit_test(recovery),
		cmocka_unit_test(handing_over),
		cmocka_unit_test(interned),
		cmocka_unit_test(ends_of_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
