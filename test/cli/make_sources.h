/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_TEST_CLI_MAKE_SOURCES_H
#define DLX_TEST_CLI_MAKE_SOURCES_H

#define T 4
#define Y 3
#define X 5

/* Ends the program if it is not ok. */
void check(int ok, const char *what);
/* Files in the folder that say what their values mean. */
void make_missing(const char *folder);

#endif
