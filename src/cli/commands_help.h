/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands that print help, and read no config: rows of the table in commands.c. */
#ifndef DLX_CLI_COMMANDS_HELP_H
#define DLX_CLI_COMMANDS_HELP_H

#include "cli/commands.h"

int command_help(struct invocation *x);
int command_help_config(struct invocation *x);
int command_help_debug(struct invocation *x);
int command_help_sweep(struct invocation *x);
int command_man_config(struct invocation *x);
int command_list_ops(struct invocation *x);
int command_version(struct invocation *x);

#endif
