/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether this process is one of several, and whether those have an interface to meet by. */
#ifndef DLX_COMM_LAUNCHED_H
#define DLX_COMM_LAUNCHED_H

#include <stdbool.h>

struct launched {
	const char *by;              /* whose variables were found; NULL: nobody's, one process */
	int size;                    /* processes, if they say; else 0 */
	int rank;                    /* likewise */
	bool interface;              /* MPI can find the others */
};
void launched_find(struct launched *out);

#endif
