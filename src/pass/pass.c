/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a table of passes. Verification is always on: it costs microseconds a node, and a pass that
 * breaks an invariant is found by its name instead of by a wrong number a thousand steps later. */
#include "pass/pass.h"

#include <string.h>

#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/trace.h"
#include "graph/dump.h"
#include "graph/verify.h"

static void dump(const struct graph *g, const struct pass *p, const struct pass_env *env)
{
	struct buf text = BUF_INIT;
	if (!env->dump || !env->dump_to ||
	    (strcmp(env->dump, "all") != 0 && strcmp(env->dump, p->name) != 0))
		return;
	if (env->dump_dot)
		graph_dump_dot(g, &text);
	else
		graph_dump_text(g, &text);
	fprintf(env->dump_to, "%s after %s\n%s", env->dump_dot ? "//" : "#", p->name, text.data);
	buf_release(&text);
}

int pass_run(struct graph *g, const struct pass *table, int n, struct pass_env *env)
{
	for (int i = 0; i < n; i++) {
		const struct pass *p = &table[i];
		double start = trace_on() ? io_seconds() : 0;
		if (!debug_skips(p->name))
			TRYC(p->run(g, env), "in pass '%s'", p->name);
		dump(g, p, env); /* dump before verifying: the dump of a broken graph is needed most */
		if (start > 0)
			trace_mark(TRACE_RUN, p->name, start);
		start = trace_on() ? io_seconds() : 0;
		TRYC(graph_verify(g, p->stage), "after pass '%s'", p->name);
		if (start > 0)
			trace_mark(TRACE_RUN, "verify", start);
	}
	return 0;
}
