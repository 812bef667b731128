/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests that write files: a folder of their own, what a file contains, which error came. */
#ifndef TEST_FILES_H
#define TEST_FILES_H

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

static inline void assert_content(const char *path, const char *expected)
{
	struct buf b = BUF_INIT;
	assert_int_equal(io_read_file(path, &b), 0);
	assert_string_equal(b.data, expected);
	buf_release(&b);
}

/* rc is this code, and the newest error contains this text. Clears the errors. */
static inline void assert_error(int rc, int code, const char *text)
{
	assert_int_equal(rc, code);
	assert_true(err_count() > 0);
	if (!strstr(err_get(err_count() - 1)->text, text))
		fail_msg("'%s' does not have '%s'", err_get(err_count() - 1)->text, text);
	err_clear();
}

/* A folder that exists for one test, and the path of a file in it. */
struct place {
	char dir[32], *path;
};

/* For a test's setup; template: "NAME-XXXXXX". */
static inline int place_new(void **state, const char *template, const char *file)
{
	struct place *p = mem_calloc(1, sizeof *p);
	snprintf(p->dir, sizeof p->dir, "%s", template);
	if (!mkdtemp(p->dir))
		return -1;
	p->path = io_join(p->dir, file);
	*state = p;
	return 0;
}

/* A test's teardown. */
static inline int place_free(void **state)
{
	struct place *p = *state;
	io_remove_tree(p->dir);
	mem_free(p->path);
	mem_free(p);
	err_clear();
	return 0;
}

#endif
