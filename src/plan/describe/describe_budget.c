/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text is the same as in the error of a run that does not fit. */
#include "plan/describe/describe_budget.h"

#include "base/err.h"
#include "plan/memory/memory_budget.h"
#include "plan/program.h"
#include "plan/describe/sizes.h"

static void explain(const struct err_entry *e, struct buf *out)
{
	buf_printf(out, "does not fit  %s\n", e->text);
	for (int i = 0; i < e->ncontext; i++)
		buf_printf(out, "              %s\n", e->context[i]);
	buf_putc(out, '\n');
}

int describe_fit(const struct session *s, struct buf *out)
{
	int mark = err_count(), rc = 0;
	for (int i = 0; i < s->nprogram && rc == 0; i++)
		if (s->program[i].plan && !s->program[i].short_batch)
			rc = memory_budget_check(s, s->program[i].plan);
	if (rc < 0)
		explain(err_get(mark), out);
	err_truncate(mark);
	return rc;
}

static void describe_host(const struct session *s, const struct memory_budget *r, struct buf *out)
{
	char a[32], b[32], c[32];
	if (r->have == 0)
		return;
	buf_printf(out, "host memory   %s for the whole run, %s %s of the %s",
	           bytes_text((double)memory_budget_run(s), a), memory_budget_run(s) > r->have ?
	           "MORE THAN the" : "of", bytes_text((double)r->have, b), r->by);
	if (r->now > 0)
		buf_printf(out, "; %s%s are free now", memory_budget_run(s) > r->now ? "ONLY " : "",
		           bytes_text((double)r->now, c));
	buf_putc(out, '\n');
}

void describe_budget(const struct session *s, struct buf *out)
{
	struct memory_budget r;
	char a[32], b[32], c[32];
	memory_budget_get(s, &r);
	if (!s->dev->driver)
		describe_host(s, &r, out);
	if (r.total == 0)
		return;
	buf_printf(out, "GPU memory    %s for the whole run, %s %s that can be had:\n",
	           bytes_text((double)memory_budget_run(s), a), memory_budget_run(s) > r.have ?
	           "MORE THAN the" : "of", bytes_text((double)r.have, b));
	buf_printf(out, "              of %s %s are free, and of that %s are left to libraries\n",
	           bytes_text((double)r.total, a), bytes_text((double)(r.have + r.reserve), b),
	           bytes_text((double)r.reserve, c));
	buf_printf(out, "host memory   %s for batches and copies of the state\n",
	           bytes_text((double)memory_budget_host(s), a));
}
