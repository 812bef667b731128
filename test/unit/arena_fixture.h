/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An arena of each case, which begins without errors. */
#ifndef DLX_TEST_ARENA_FIXTURE_H
#define DLX_TEST_ARENA_FIXTURE_H

#include "cases.h"
#include "base/arena.h"
#include "base/err.h"

static struct arena *a;

static int setup(void **state)
{
	a = arena_new();
	err_clear();
	return 0;
}

static int teardown(void **state)
{
	arena_free(a);
	err_clear();
	return 0;
}

#endif
