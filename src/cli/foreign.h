/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Command lines as other programs have them, answered with dlx-train's. */
#ifndef DLX_CLI_FOREIGN_H
#define DLX_CLI_FOREIGN_H

/* E_USAGE for an option that is a config key ("--epochs 3") or another program's word for one, for
 * "--set KEY VALUE", and for a value after an option whose value follows '='. options: the names
 * of dlx-train's own, NULL-terminated. Any other mistake is left to the parser. */
int foreign_check(int argc, char **argv, const char *const *options);

#endif
