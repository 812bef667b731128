/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Accepts a run's folder in place of a config file, and finds runs that were moved. */
#ifndef DLX_CLI_RUN_FOLDER_H
#define DLX_CLI_RUN_FOLDER_H

#include "cli/options.h"
#include "plan/config.h"

/* Loads the command line's CONFIG like config_load. If CONFIG is a folder, loads the config.yaml in
 * it and sets run.dir to the folder. If CONFIG is a config.yaml with checkpoints in the same
 * folder, while its run.dir has none, the run was moved: run.dir becomes that folder, and *moved
 * its former path; else *moved is NULL. A --set run.dir overrides both. */
int run_folder_load(struct run_config **out, const struct options *o, const char **moved);

#endif
