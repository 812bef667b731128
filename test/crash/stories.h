/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stories of the crash tests. */
#ifndef DLX_TEST_CRASH_STORIES_H
#define DLX_TEST_CRASH_STORIES_H

#include "story.h"

struct tale {
	const char *name;
	/* nth: of a story with several courses which one, 0 .. courses - 1 */
	void (*tell)(struct story *t, int nth);
	int courses;
	int share;                     /* the short form judges one of this many states */
	int depth;                     /* of crashes of the recovery that are tried */
};
extern const struct tale tales[];
extern const int ntales;

#endif
