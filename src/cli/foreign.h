/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Detects options in the style of other training programs, and answers with those of dlx-train. */
#ifndef DLX_CLI_FOREIGN_H
#define DLX_CLI_FOREIGN_H

/* E_USAGE for an option that is a config key ("--epochs 3") or another program's word for one, for
 * "--set KEY VALUE" without '=', and for a value in the next argument if the option's value must
 * follow '='. options: dlx-train's option names, NULL-terminated. Other mistakes are left to the
 * parser. */
int foreign_check(int argc, char **argv, const char *const *options);

#endif
