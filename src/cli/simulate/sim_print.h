/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of a simulation as a table, as JSON, and as a picture. */
#ifndef DLX_CLI_SIM_PRINT_H
#define DLX_CLI_SIM_PRINT_H

#include "cli/simulate/sim_row.h"

/* A changed setting, and the row that is simulated with it. */
struct sim_change {
	const char *set;             /* "parallel.gradient_lag=1" */
	const char *note;            /* what else it changes, or NULL */
	struct sim_row row;
};

struct sim_result {
	const struct sim_given *given;
	const struct cluster *cluster;
	double fit_efficiency;       /* of --fit; 0: not given */
	int64_t fit_ranks;
	int n, nchange;
	struct sim_row *row;
	struct sim_change *change;   /* at the last row's ranks, the fastest first */
};

/* Whether the device's memory is not known, or enough. */
bool sim_fits(const struct cluster *c, const struct sim_row *row);
void sim_print_text(const struct sim_result *r, struct buf *out);
void sim_print_json(const struct sim_result *r, struct buf *out);
/* Draws efficiency with its interval, and the rate, over the number of ranks. Errors as of
 * figure_write. */
int sim_print_picture(const struct sim_result *r, const char *path);

#endif
