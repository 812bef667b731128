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

#define WHERE_FILE "expression"        /* what errors call the text */

struct where;

/* In a; text is kept. E_USAGE with the column. */
int where_parse(struct where **out, struct arena *a, const char *text);
/* E_USAGE for a metric that no version of h has, with its column and those that there are. */
int where_check(const struct where *w, const struct history *h);
/* Whether it holds for version i; never for one whose manifest is damaged. */
bool where_holds(const struct where *w, const struct history *h, int i);

#endif
