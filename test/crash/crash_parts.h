/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the crash tests on a disk in memory. Each returns how many cases were wrong, and
 * prints one line with its numbers and the seconds that it took. */
#ifndef DLX_TEST_CRASH_CRASH_PARTS_H
#define DLX_TEST_CRASH_CRASH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct crash_form {
	bool all;                      /* the long form: every case; else a share of them */
	bool verbose;
	const char *only;              /* part of the name of the stories; NULL: all */
	uint64_t seed;
};

long crash_part_states(const struct crash_form *f);
long crash_part_lies(const struct crash_form *f);     /* whether lies of the disk are noticed */
long crash_part_faults(const struct crash_form *f);
long crash_part_flips(const struct crash_form *f);

#endif
