/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The planned bytes are computed from the graphs only, and the allocated bytes are counted in
 * device_alloc, so a mistake in one cannot hide a mistake in the other. */
#include "train/diagnose/account.h"

#include <inttypes.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/log.h"
#include "plan/memory/memory_budget.h"
#include "plan/memory/plan_memory.h"
#include "plan/program.h"
#include "plan/sums/messages.h"

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

/* Memory that ranks on CPUs share is not the device's. */
static int check_messages(const struct session *s)
{
	for (int i = 0; i < s->nprogram && !s->dev->driver; i++) {
		const struct program *p = &s->program[i];
		if (!p->plan || !p->messages)
			continue;
		const int64_t plan = plan_memory_messages(s, p->plan, p->batch),
		              taken = messages_allocated(p->messages);
		if (plan != taken)
			return ERR(E_BUG, NULL, "the messages of a plan have taken %" PRId64 " bytes of "
			           "memory, where %" PRId64 " were planned; please report this", taken, plan);
	}
	return 0;
}

int account_check(const struct session *s)
{
	static bool said;
	struct memory_parts p;
	if (debug.strict)
		TRY(check_messages(s));
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

static bool find_outside(const struct session *s, int64_t *bytes)
{
	struct device_memory_info memory;
	const int mark = err_count();
	if (!s->dev->driver || s->dev->imagined)
		return false;
	if (s->dev->driver->memory_info(s->dev, &memory) < 0) {
		err_truncate(mark);
		return false;
	}
	*bytes = memory.total - memory.free - (int64_t)s->dev->memory->used;
	return true;
}

void account_outside(struct session *s)
{
	if (!s->outside_known)
		s->outside_known = find_outside(s, &s->outside);
}

bool account_later(const struct session *s, int64_t *later, int64_t *aside)
{
	struct memory_budget budget;
	int64_t now;
	if (!s->outside_known || !find_outside(s, &now))
		return false;
	memory_budget_get(s, &budget);
	*later = now - s->outside;
	*aside = budget.reserve;
	return true;
}

void account_warn_later(const struct session *s)
{
	const int64_t mib = 1 << 20;
	int64_t later, aside;
	if (account_later(s, &later, &aside) && later > aside)
		warn("after the run was planned %" PRId64 " MiB more of the GPU's memory were taken by its "
		     "libraries or other programs, and %" PRId64 " MiB were left to them: where all of it "
		     "is needed, set 'train.memory.aside' to %" PRId64 "MiB", (later + mib - 1) / mib,
		     aside / mib, (later + later / 4 + mib - 1) / mib);
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
