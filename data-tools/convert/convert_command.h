/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command that a record keeps. */
#ifndef DLX_DATA_TOOLS_CONVERT_COMMAND_H
#define DLX_DATA_TOOLS_CONVERT_COMMAND_H

#include "base/arena.h"

/* As one text that a shell reads back, without what the content does not depend on; in a. */
const char *convert_command(struct arena *a, int argc, char **argv);

#endif
