/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a launcher started several processes, and whether
 * they have an interface by which to connect. */
#ifndef DLX_COMM_LAUNCHED_H
#define DLX_COMM_LAUNCHED_H

#include <stdbool.h>

struct launched {
	const char *by;              /* the launcher, known by its environment variables; NULL: none,
	                              * one process */
	int size;                    /* number of processes, if the variables contain it; else 0 */
	int rank;                    /* this process's rank; 0 if unknown */
	bool interface;              /* there is an interface (PMI) by which MPI finds the other
	                              * processes */
};
void launched_find(struct launched *out);

#endif
