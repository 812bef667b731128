/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DLX_FAKE_CUDNN_QUESTIONS=FILE: a line for each question to the heuristics: "first" or "fallback",
 * and its graph, the same text for the same graph. */
#include "fake_cudnn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

static void describe(struct buf *b, const fake *d)
{
	buf_printf(b, "(%d", (int)d->type);
	for (int i = 0; i < d->nattr; i++) {
		const struct attribute *a = &d->attr[i];
		buf_printf(b, " %d", (int)a->name);
		for (int64_t k = 0; k < a->n; k++)
			if (a->type == DESC)
				describe(b, ((fake *const *)a->value)[k]);
			else if (a->type == CUDNN_TYPE_INT64)
				buf_printf(b, ":%" PRId64, ((const int64_t *)a->value)[k]);
			else if (a->type == CUDNN_TYPE_DOUBLE || a->type == CUDNN_TYPE_FLOAT)
				buf_printf(b, ":%g", a->type == CUDNN_TYPE_DOUBLE ? ((const double *)a->value)[k] :
				           (double)((const float *)a->value)[k]);
			else if (a->type != CUDNN_TYPE_HANDLE)
				buf_printf(b, ":%d", a->type == CUDNN_TYPE_BOOLEAN ? ((const bool *)a->value)[k]
				                                                   : ((const int *)a->value)[k]);
	}
	buf_puts(b, ")");
}

void describe_graph(struct buf *b, const fake *graph)
{
	describe(b, graph);
}

void note_question(const fake *heuristics)
{
	const char *path = getenv("DLX_FAKE_CUDNN_QUESTIONS");
	FILE *f = path ? fopen(path, "a") : NULL;
	struct buf text = BUF_INIT;
	if (!f)
		return;
	describe(&text, named(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
	fprintf(f, "%s %s\n",
	        whole(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK ? "fallback" :
	        "first", text.data);
	buf_release(&text);
	fclose(f);
}
