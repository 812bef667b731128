/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is planned follows from the graphs alone, what is taken is counted where memory is given out
 * (device_alloc), so that neither can make good for a mistake of the other. */
#include "train/account.h"

#include <inttypes.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/log.h"
#include "plan/memory_budget.h"

/* On a CPU all-reduces use memory that a host's ranks share, which is not the device's. */
static int64_t planned(const struct session *s, const struct memory_parts *p)
{
	return p->values + p->inputs + p->arena + p->tables + (s->dev->driver ? p->sums : 0);
}

static const char text[] =
	"the run has taken %" PRId64 " bytes of memory, where %" PRId64 " were planned: "
	"parameters and states %" PRId64 ", inputs %" PRId64 ", the arena %" PRId64
	", all-reduces %" PRId64
	", tables %" PRId64 "; please report this";

int account_check(const struct session *s)
{
	static bool said;
	struct memory_parts p;
	memory_parts(s, &p);
	int64_t plan = planned(s, &p), taken = (int64_t)s->dev->memory->used;
	if (plan == taken)
		return 0;
	if (debug.strict)
		return ERR(E_BUG, NULL, text, taken, plan, p.values, p.inputs, p.arena, p.sums, p.tables);
	if (!said)
		warn(text, taken, plan, p.values, p.inputs, p.arena, p.sums, p.tables);
	said = true;
	return 0;
}

void account_json(const struct session *s, struct buf *out)
{
	struct memory_parts p;
	memory_parts(s, &p);
	buf_printf(out, "{\"planned\": %" PRId64 ", \"allocated\": %zu", planned(s, &p),
	           s->dev->memory->used);
	buf_printf(out, ", \"values\": %" PRId64 ", \"inputs\": %" PRId64 ", \"arena\": %" PRId64
	           ", \"sums\": %" PRId64
	           ", \"tables\": %" PRId64 "}", p.values, p.inputs, p.arena, p.sums, p.tables);
}
