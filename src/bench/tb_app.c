/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/tb_app.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "bench/tb_kernel.h"

enum flag_type { WHOLE, REAL, PATTERN, KERNEL, NODES, ITERATIONS, AND, VERBOSE, IGNORED, HELP };

struct flag {
	const char *name, *arg;      /* arg: NULL if it takes none */
	enum flag_type type;
	size_t at;                   /* WHOLE, REAL: offset in struct tb_graph */
	double min, max;
	const char *doc;
};

#define AT(m) offsetof(struct tb_graph, m)
#define MOST 9e15              /* whole numbers that a double holds */
static const struct flag flags[] = {
	{ "-steps", "N", WHOLE, AT(steps), 1, MOST, "steps of the graph (4)" },
	{ "-width", "N", WHOLE, AT(width), 1, 1 << 24, "columns of the graph (4)" },
	{ "-type", "NAME", PATTERN, 0, 0, 0, "pattern of dependences (trivial)" },
	{ "-radix", "N", WHOLE, AT(radix), 0, 1 << 24, "dependences of a task in nearest, spread, "
	  "random_nearest (3)" },
	{ "-period", "N", WHOLE, AT(period), 0, 1 << 16, "sets of dependences in spread, "
	  "random_nearest (3)" },
	{ "-fraction", "F", REAL, AT(fraction), 0, 1, "share of edges in random_nearest (0.25)" },
	{ "-and", NULL, AND, 0, 0, 0, "begin the next of several graphs that run at the same time" },
	{ "-kernel", "NAME", KERNEL, 0, 0, 0, "what a task computes (empty)" },
	{ "-iter", "N", ITERATIONS, AT(iterations), 0, MOST, "iterations of the kernel (0)" },
	{ "-output", "BYTES", WHOLE, AT(output_bytes), 16, 1 << 30, "payload of a task (16)" },
	{ "-scratch", "BYTES", WHOLE, AT(scratch_bytes), 0, MOST, "memory of a task, for kernels that "
	  "need it (0)" },
	{ "-sample", "N", WHOLE, AT(samples), 1, 1 << 30, "parts of the scratch memory (16)" },
	{ "-imbalance", "F", REAL, AT(imbalance), 0, 2, "spread of iterations in load_imbalance (0)" },
	{ "-nodes", "N", NODES, 0, 1, 1 << 24, "nodes for which local dependences are estimated" },
	{ "-field", "N", WHOLE, AT(fields), 1, MOST, "accepted, without effect" },
	{ "-skip-graph-validation", NULL, IGNORED, 0, 0, 0, "accepted, without effect" },
	{ "-v", NULL, VERBOSE, 0, 1, 0, "print the dependences" },
	{ "-vv", NULL, VERBOSE, 0, 2, 0, "print the inverse dependences too" },
	{ "-h", NULL, HELP, 0, 0, 0, "this text" },
	{ 0 }
};
#undef AT

void tb_app_help(FILE *out)
{
	char left[64];
	for (const struct flag *f = flags; f->name; f++) {
		snprintf(left, sizeof left, "%s %s", f->name, f->arg ? f->arg : "");
		fprintf(out, "  %-26s %s\n", left, f->doc);
	}
	fputs("\nPatterns:", out);
	for (int i = 0; tb_pattern_at(i); i++)
		fprintf(out, " %s", tb_pattern_name(tb_pattern_at(i)));
	fputs("\nKernels:\n", out);
	for (int i = 0; tb_kernel_at(i); i++)
		fprintf(out, "    %-16s %s\n", tb_kernel_at(i)->name, tb_kernel_at(i)->doc);
}

/* --- reading --- */

static int unknown(const char *what, const char *name, const char *const *names)
{
	const char *near = did_you_mean(name, names);
	return ERR(E_USAGE, NULL, "%s '%s'%s%s%s; see --help", what, name,
	           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static const struct flag *find(const char *name)
{
	for (const struct flag *f = flags; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static int unknown_flag(const char *name)
{
	const char *names[sizeof flags / sizeof *flags] = { 0 };
	for (int i = 0; flags[i].name; i++)
		names[i] = flags[i].name;
	return unknown("unknown flag", name, names);
}

static int number(const struct flag *f, const char *text, double *v)
{
	char *end;
	errno = 0;
	*v = f->type == REAL ? strtod(text, &end) : (double)strtoll(text, &end, 10);
	if (*text && !*end && !errno && *v >= f->min && *v <= f->max)
		return 0;
	return ERR(E_USAGE, NULL, "%s: '%s' is no %s from %.15g to %.15g", f->name, text,
	           f->type == REAL ? "number" : "whole number", f->min, f->max);
}

static int set_pattern(struct tb_graph *g, const char *name)
{
	const char *names[32] = { 0 };
	for (int i = 0; tb_pattern_at(i); i++)
		names[i] = tb_pattern_name(tb_pattern_at(i));
	g->pattern = tb_pattern_find(name);
	return g->pattern ? 0 : unknown("-type: unknown pattern", name, names);
}

static int set_kernel(struct tb_graph *g, const char *name)
{
	const char *names[32] = { 0 };
	for (int i = 0; tb_kernel_at(i); i++)
		names[i] = tb_kernel_at(i)->name;
	g->kernel = tb_kernel_find(name);
	return g->kernel ? 0 : unknown("-kernel: unknown kernel", name, names);
}

/* The graph that is being described is complete. */
static int finish(struct tb_app *a)
{
	struct tb_graph *g = &a->graph[a->ngraph++];
	if (g->kernel->scratch && g->scratch_bytes < g->samples * 16)
		return ERR(E_USAGE, NULL, "-kernel %s needs -scratch BYTES, 16 for each sample at least",
		           g->kernel->name);
	return tb_graph_finish(g);
}

static int next_graph(struct tb_app *a)
{
	TRY(finish(a));
	if (a->ngraph == TB_GRAPHS)
		return ERR(E_USAGE, NULL, "-and: more than %d graphs", TB_GRAPHS);
	a->graph[a->ngraph] = tb_graph_default(a->ngraph);
	return 0;
}

static int set_number(struct tb_app *a, const struct flag *f, const char *text)
{
	void *at = (char *)&a->graph[a->ngraph] + f->at;
	double v;
	TRY(number(f, text, &v));
	a->iterates |= f->type == ITERATIONS;
	if (f->type == NODES)
		a->nodes = (int64_t)v;
	else if (f->type == REAL)
		*(double *)at = v;
	else
		*(int64_t *)at = (int64_t)v;
	return 0;
}

static int set(struct tb_app *a, const struct flag *f, const char *value)
{
	struct tb_graph *g = &a->graph[a->ngraph];
	switch (f->type) {
	case PATTERN:
		return set_pattern(g, value);
	case KERNEL:
		return set_kernel(g, value);
	case AND:
		return next_graph(a);
	case VERBOSE:
		a->verbose += (int)f->min;
		return 0;
	case HELP:
		a->help = true;
		return 0;
	case IGNORED:
		return 0;
	default:
		return set_number(a, f, value);
	}
}

/* Whether the argument is a flag in the original's form: one dash. */
static bool is_flag(const char *arg)
{
	return arg[0] == '-' && arg[1] != '-' && arg[1] != '\0';
}

int tb_app_read(struct tb_app *a, int *argc, char **argv)
{
	int kept = 1;
	*a = (struct tb_app){ .graph = { tb_graph_default(0) } };
	for (int i = 1; i < *argc; i++) {
		if (!is_flag(argv[i])) {
			argv[kept++] = argv[i];
			continue;
		}
		const struct flag *f = find(argv[i]);
		if (!f)
			return unknown_flag(argv[i]);
		if (f->arg && i + 1 == *argc)
			return ERR(E_USAGE, NULL, "%s needs a value: %s %s", f->name, f->name, f->arg);
		TRY(set(a, f, f->arg ? argv[++i] : NULL));
	}
	argv[kept] = NULL;
	*argc = kept;
	return finish(a);
}
