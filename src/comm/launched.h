/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a launcher started several processes, and whether
 * they have an interface by which to connect. */
#ifndef DLX_COMM_LAUNCHED_H
#define DLX_COMM_LAUNCHED_H

#include <stdbool.h>

struct launched {
	const char *by;              /* the launcher whose variables were
	                              * found; NULL: none, one process */
	int size;                    /* processes, if they say; else 0 */
	int rank;                    /* likewise */
	bool interface;              /* MPI can find the others */
};
void launched_find(struct launched *out);

#endif
