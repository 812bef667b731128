/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-bench links: measures the links of the ranks that mpiexec has started, and writes the
 * description of the cluster that they are (plan/time/cluster.h). */
#ifndef DLX_BENCH_LINKS_H
#define DLX_BENCH_LINKS_H

#include <stdio.h>

/* Returns the program's exit status; errors are printed. argv[0] is the command's name. */
int links_main(int argc, char **argv);
void links_help(FILE *out);

#endif
