/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run's folder in the place of a config, and runs that were moved. */
#ifndef DLX_CLI_RUN_FOLDER_H
#define DLX_CLI_RUN_FOLDER_H

#include "cli/options.h"
#include "plan/config.h"

/* As config_load, for the command line's CONFIG. Where that is a folder it stands for the
 * config.yaml in it, and run.dir is the folder. So it is where CONFIG is a config.yaml that has the
 * checkpoints next to it and run.dir names a folder without any: the run was moved, and *moved is
 * where it was; else NULL. A --set run.dir is above both. */
int run_folder_load(struct run_config **out, const struct options *o, const char **moved);

#endif
