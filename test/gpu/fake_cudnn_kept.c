/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans as text, as cuDNN gives and takes them: the engine and its graph, which must be one that
 * lives in the process. The code at its end is not looked at: not every damage shows to a library.
 * Engines 44, 46 and 47 are compiled when their plans are made; DLX_FAKE_CUDNN_COMPILED=FILE gets a
 * line each time, DLX_FAKE_CUDNN_COMPILE=SECONDS is how long it takes, by DLX_FAKE_CUDNN_HANG=N the
 * Nth does not end, and by DLX_FAKE_CUDNN_BROKEN=44,46 these do not compile. */
#include "fake_cudnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#define MAXGRAPHS 4096

static const fake *graphs[MAXGRAPHS];
static int ngraph;

void remember_graph(const fake *graph)
{
	if (ngraph < MAXGRAPHS)
		graphs[ngraph++] = graph;
}

void forget_graph(const fake *graph)
{
	for (int i = 0; i < ngraph; i++)
		if (graphs[i] == graph)
			graphs[i--] = graphs[--ngraph];
}

#define CODE " code"

static void put_plan(struct buf *b, int engine, const fake *graph)
{
	buf_clear(b);
	buf_printf(b, "fake plan %d ", engine);
	describe_graph(b, graph);
	buf_puts(b, CODE);
}

cudnnStatus_t plan_as_text(const fake *plan, int64_t room, int64_t *n, char *out)
{
	struct buf text = BUF_INIT;
	put_plan(&text, plan->engine, plan->graph);
	*n = (int64_t)text.len;
	if (room > 0 && room < *n)
		return refuse("room for %lld bytes of a plan of %lld", (long long)room, (long long)*n);
	if (room > 0)
		memcpy(out, text.data, text.len);
	buf_release(&text);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t read_plan(fake *plan, const struct attribute *text)
{
	struct buf b = BUF_INIT;
	int engine = -1;
	for (int i = 0; i < ngraph; i++) {
		if (sscanf(text->value, "fake plan %d ", &engine) != 1)
			break;
		put_plan(&b, engine, graphs[i]);
		if (b.len == (size_t)text->n && memcmp(b.data, text->value, b.len - strlen(CODE)) == 0) {
			buf_release(&b);
			plan->engine = engine;
			plan->graph = graphs[i];
			return CUDNN_STATUS_SUCCESS;
		}
	}
	buf_release(&b);
	return refuse("a plan for a graph that is not there: %.60s", (const char *)text->value);
}

static void compile(int index)
{
	const char *path = getenv("DLX_FAKE_CUDNN_COMPILED"),
	           *seconds = getenv("DLX_FAKE_CUDNN_COMPILE"), *hangs = getenv("DLX_FAKE_CUDNN_HANG");
	static int compiled;
	FILE *f = path ? fopen(path, "a") : NULL;
	if (f) {
		fprintf(f, "%d\n", index);
		fclose(f);
	}
	if (seconds)
		usleep((unsigned)(1e6 * atof(seconds)));
	compiled++;
	while (hangs && compiled == atoi(hangs))
		pause();
}

cudnnStatus_t finish_plan(fake *plan)
{
	const struct attribute *text = find(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
	const fake *config = named(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
	const char *rest;
	if (!text == !config)
		return refuse("a plan is of a configuration or of a text");
	if (text)
		return read_plan(plan, text);
	plan->engine = config->engine;
	plan->graph = config->graph;
	if (!is_compiled(plan->engine))
		return CUDNN_STATUS_SUCCESS;
	compile(index_of(plan->engine));
	return lists(getenv("DLX_FAKE_CUDNN_BROKEN"), index_of(plan->engine), &rest) ?
	       CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED : CUDNN_STATUS_SUCCESS;
}
