/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-bench metg: runs of Task Bench's graphs, and the smallest task size. */
#ifndef DLX_BENCH_METG_H
#define DLX_BENCH_METG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Returns the program's exit status; errors are printed. argv[0] is the command's name. */
int metg_main(int argc, char **argv);
void metg_help(FILE *out);

#endif
