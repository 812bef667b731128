/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/tb_graph.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "bench/siphash.h"
#include "bench/tb_kernel.h"

#define PERIOD 3               /* the default */

struct tb_pattern {
	const char *name;
	bool needs_period;
	int64_t (*sets)(const struct tb_graph *g);       /* NULL: one */
	int64_t (*inputs)(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from);
	struct tb_range (*active)(const struct tb_graph *g, int64_t t);  /* NULL: all */
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* --- patterns --- */

/* first .. last, clipped to the columns that there are. */
static int64_t interval(const struct tb_graph *g, int64_t first, int64_t last, int64_t *from)
{
	int64_t n = 0;
	for (int64_t i = most(first, 0); i <= least(last, g->width - 1); i++)
		from[n++] = i;
	return n;
}

static int64_t trivial(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	return 0;
}

static int64_t no_comm(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	return interval(g, i, i, from);
}

static int64_t stencil(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	return interval(g, i - 1, i + 1, from);
}

static int64_t periodic(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	int64_t n = stencil(g, set, i, from);
	if (i == 0)
		from[n++] = g->width - 1;
	if (i == g->width - 1)
		from[n++] = 0;
	return n;
}

static int64_t dom(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	return interval(g, i - 1, i, from);
}

static struct tb_range dom_active(const struct tb_graph *g, int64_t t)
{
	const int64_t first = most(0, t + g->width - g->steps);
	return (struct tb_range){ first, first + least(g->width, least(t + 1, g->steps - t)) };
}

static int64_t tree(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	return interval(g, i / 2, i / 2, from);
}

static struct tb_range tree_active(const struct tb_graph *g, int64_t t)
{
	return (struct tb_range){ 0, least(g->width, INT64_C(1) << least(t, 62)) };
}

static int64_t fft_sets(const struct tb_graph *g)
{
	int64_t n = 0;
	while (INT64_C(1) << n < g->width)
		n++;
	return most(n, 1);
}

static int64_t fft(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	const int64_t reach = INT64_C(1) << set;
	int64_t n = interval(g, i - reach, i - reach, from);
	n += interval(g, i, i, from + n);
	return n + interval(g, i + reach, i + reach, from + n);
}

static int64_t all_to_all(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	return interval(g, 0, g->width - 1, from);
}

static int64_t nearest(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	return g->radix == 0 ? 0 : interval(g, i - g->radix / 2, i + (g->radix - 1) / 2, from);
}

static int64_t period_of(const struct tb_graph *g)
{
	return g->period;
}

static int64_t spread(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	for (int64_t j = 0; j < g->radix; j++)
		from[j] = (i + j * g->width / g->radix + (j > 0 ? set : 0)) % g->width;
	return g->radix;
}

static int64_t random_nearest(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	int64_t n = 0, window = nearest(g, set, i, from);
	for (int64_t k = 0; k < window; k++) {
		const int64_t edge[] = { g->index, g->radix, set, from[k], i };
		if (from[k] == i || siphash_uniform(edge, 5) < g->fraction)
			from[n++] = from[k];
	}
	return n;
}

static const struct tb_pattern patterns[] = {
	{ "trivial", false, NULL, trivial, NULL },
	{ "no_comm", false, NULL, no_comm, NULL },
	{ "stencil_1d", false, NULL, stencil, NULL },
	{ "stencil_1d_periodic", false, NULL, periodic, NULL },
	{ "dom", false, NULL, dom, dom_active },
	{ "tree", false, NULL, tree, tree_active },
	{ "fft", false, fft_sets, fft, NULL },
	{ "all_to_all", false, NULL, all_to_all, NULL },
	{ "nearest", false, NULL, nearest, NULL },
	{ "spread", true, period_of, spread, NULL },
	{ "random_nearest", true, period_of, random_nearest, NULL },
};
#define NPATTERN ((int)(sizeof patterns / sizeof *patterns))

const struct tb_pattern *tb_pattern_at(int i)
{
	return i < NPATTERN ? &patterns[i] : NULL;
}

const struct tb_pattern *tb_pattern_find(const char *name)
{
	for (int i = 0; i < NPATTERN; i++)
		if (strcmp(patterns[i].name, name) == 0)
			return &patterns[i];
	return NULL;
}

const char *tb_pattern_name(const struct tb_pattern *p)
{
	return p->name;
}

/* --- graphs --- */

struct tb_graph tb_graph_default(int64_t index)
{
	return (struct tb_graph){ .index = index, .steps = 4, .width = 4, .pattern = &patterns[0],
		.radix = 3, .period = -1, .fraction = 0.25, .kernel = tb_kernel_find("empty"),
		.samples = 16, .output_bytes = 16 };
}

bool tb_is_even(const struct tb_graph *g)
{
	return !g->pattern->active;
}

struct tb_range tb_active(const struct tb_graph *g, int64_t t)
{
	if (t < 0)
		return (struct tb_range){ 0, 0 };
	return g->pattern->active ? g->pattern->active(g, t) : (struct tb_range){ 0, g->width };
}

int64_t tb_sets(const struct tb_graph *g)
{
	return g->pattern->sets ? g->pattern->sets(g) : 1;
}

int64_t tb_set(const struct tb_graph *g, int64_t t)
{
	const int64_t n = tb_sets(g);
	return g->pattern->sets == fft_sets ? (t + n - 1) % n : t % n;
}

int64_t tb_dependences(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from)
{
	return g->pattern->inputs(g, set, i, from);
}

int64_t tb_most(const struct tb_graph *g)
{
	return most(g->width, g->radix) + 2;
}

static int check_period(struct tb_graph *g)
{
	const char *name = g->pattern->name;
	if (g->period < 0)
		g->period = g->pattern->needs_period ? PERIOD : 0;
	if (!g->pattern->needs_period && g->period > 0)
		return ERR(E_USAGE, NULL, "-period %lld: pattern '%s' has none", (long long)g->period,
		           name);
	if (g->pattern->needs_period && g->period == 0)
		return ERR(E_USAGE, NULL, "-period 0: pattern '%s' needs 1 or more", name);
	if (g->pattern->inputs != spread)
		return 0;
	if (g->radix == 0)
		return ERR(E_USAGE, NULL, "-radix 0: pattern 'spread' needs 1 or more");
	const int64_t last = (g->width + g->radix - 1) / g->radix;
	return g->period <= last ? 0 :
	       ERR(E_USAGE, NULL, "-period %lld: pattern 'spread' of radix %lld and width %lld can "
	           "have %lld at most", (long long)g->period, (long long)g->radix, (long long)g->width,
	           (long long)last);
}

/* seen: by column, the number of the last one that depends on it. */
static int check_edges(const struct tb_graph *g, int64_t *from, int64_t *seen)
{
	for (int64_t set = 0; set < tb_sets(g); set++)
		for (int64_t i = 0; i < g->width; i++) {
			const int64_t n = tb_dependences(g, set, i, from), number = set * g->width + i + 1;
			for (int64_t k = 0; k < n; k++) {
				if (seen[from[k]] == number)
					return ERR(E_USAGE, NULL, "in pattern '%s' of width %lld and radix %lld column "
					           "%lld depends twice on column %lld: choose a larger width",
					           g->pattern->name, (long long)g->width, (long long)g->radix,
					           (long long)i, (long long)from[k]);
				seen[from[k]] = number;
			}
		}
	return 0;
}

int tb_graph_finish(struct tb_graph *g)
{
	TRY(check_period(g));
	if (g->fields == 0)
		g->fields = g->steps;
	int64_t *from = mem_calloc((size_t)tb_most(g), sizeof *from),
	        *seen = mem_calloc((size_t)g->width, sizeof *seen);
	int rc = check_edges(g, from, seen);
	mem_free(from);
	mem_free(seen);
	return rc;
}

/* --- edges --- */

struct tb_edges {
	int64_t width;
	int64_t *input, *reader;     /* where the list of (set, column) begins in `from`, in `to` */
	int64_t *from, *to;
};

static void find_inputs(struct tb_edges *e, const struct tb_graph *g)
{
	int64_t n = 0, room = 0, rows = tb_sets(g) * g->width;
	for (int64_t k = 0; k < rows; k++) {
		if (room < n + tb_most(g)) {
			room = 2 * room + tb_most(g);
			e->from = mem_realloc(e->from, (size_t)room * sizeof *e->from);
		}
		e->input[k] = n;
		n += tb_dependences(g, k / g->width, k % g->width, e->from + n);
	}
	e->input[rows] = n;
}

static void invert(struct tb_edges *e, int64_t rows)
{
	int64_t *at = mem_calloc((size_t)rows + 1, sizeof *at);
	e->to = mem_calloc((size_t)e->input[rows] + 1, sizeof *e->to);
	for (int64_t k = 0; k < rows; k++)
		for (int64_t j = e->input[k]; j < e->input[k + 1]; j++)
			e->reader[k / e->width * e->width + e->from[j] + 1]++;
	for (int64_t k = 0; k < rows; k++)
		e->reader[k + 1] += e->reader[k];
	memmove(at, e->reader, (size_t)rows * sizeof *at);
	for (int64_t k = 0; k < rows; k++)
		for (int64_t j = e->input[k]; j < e->input[k + 1]; j++)
			e->to[at[k / e->width * e->width + e->from[j]]++] = k % e->width;
	mem_free(at);
}

struct tb_edges *tb_edges_new(const struct tb_graph *g)
{
	struct tb_edges *e = mem_calloc(1, sizeof *e);
	const int64_t rows = tb_sets(g) * g->width;
	e->width = g->width;
	e->input = mem_calloc((size_t)rows + 1, sizeof *e->input);
	e->reader = mem_calloc((size_t)rows + 1, sizeof *e->reader);
	find_inputs(e, g);
	invert(e, rows);
	return e;
}

void tb_edges_free(struct tb_edges *e)
{
	if (!e)
		return;
	mem_free(e->input);
	mem_free(e->reader);
	mem_free(e->from);
	mem_free(e->to);
	mem_free(e);
}

static struct tb_list list(const int64_t *begin, const int64_t *v, int64_t k)
{
	return (struct tb_list){ begin[k + 1] - begin[k], v + begin[k] };
}

struct tb_list tb_inputs(const struct tb_edges *e, int64_t set, int64_t i)
{
	return list(e->input, e->from, set * e->width + i);
}

struct tb_list tb_readers(const struct tb_edges *e, int64_t set, int64_t i)
{
	return list(e->reader, e->to, set * e->width + i);
}
