/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of the command, which a record stores. */
#ifndef DLX_DATA_TOOLS_CONVERT_COMMAND_H
#define DLX_DATA_TOOLS_CONVERT_COMMAND_H

#include "base/arena.h"

/* The command line as text, quoted for a shell, without options that do not change the record's
 * content; in arena a. */
const char *convert_command(struct arena *a, int argc, char **argv);

#endif
