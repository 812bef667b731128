/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings with which a run on many ranks is faster. */
#ifndef DLX_CLI_SIM_ADVICE_H
#define DLX_CLI_SIM_ADVICE_H

#include "cli/simulate/sim_print.h"

/* Plans again, for the ranks of r's last row, with another grouping, lag and batch, and notes in r
 * those that are faster; and with a cut of the samples, if whole ones do not fit in the device's
 * memory. Settings that the config does not allow, that need more memory than the device has, and
 * batches and cuts for which there are no times, are left out. */
void sim_advise(struct sim_result *r, struct sim_given *g);

#endif
