/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the links of the ranks that mpiexec has started, and writes the description of the
 * cluster that they are (plan/time/cluster.h). */
#ifndef DLX_CLI_MEASURE_LINKS_H
#define DLX_CLI_MEASURE_LINKS_H

/* path: the file to write. Collective. */
int measure_links(const char *path);

#endif
