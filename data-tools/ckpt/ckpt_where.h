/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Expressions that choose versions of a store:
 *
 *   any        = all { "or" all }
 *   all        = one { "and" one }
 *   one        = "not" one | "(" any ")" | flag | operand ("<" "<=" ">" ">=" "=" "!=") operand
 *   operand    = number | date | word | "'" text "'"
 *   flag       = "fork" | "pinned" | "tagged"
 *
 * Words are step, epoch, time, ranks, run and id; any other is a metric, also as metrics.NAME. A
 * comparison with a metric that a version does not have is false. */
#ifndef DLX_DATA_TOOLS_CKPT_WHERE_H
#define DLX_DATA_TOOLS_CKPT_WHERE_H

#include "ckpt/history.h"

#define WHERE_FILE "expression"        /* the name of the text in errors */

struct where;

/* Parses text into *out, in arena a, which borrows text. E_USAGE with the column of the mistake. */
int where_parse(struct where **out, struct arena *a, const char *text);
/* E_USAGE for a metric that no version in h has, with its column and the list of known metrics. */
int where_check(const struct where *w, const struct history *h);
/* Whether the expression is true for version i; always false if the version's manifest is
 * damaged. */
bool where_holds(const struct where *w, const struct history *h, int i);

#endif
