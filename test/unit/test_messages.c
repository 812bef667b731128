/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plan/sums/messages.h and plan/sums/roles.h between ranks that are threads: steps of planned
 * graphs whose nodes exchange values around a ring, and their gradients; teams that are not
 * neighbours; steps that would never end; plans that store parameters in other layouts. */
#include <math.h>

#include "cases.h"
#include "backend/exec.h"
#include "base/err.h"
#include "base/mem.h"
#include "comm/rank_threads.h"
#include "op/exchange.h"
#include "pass/autodiff.h"
#include "pass/pass.h"
#include "plan/sums/messages.h"
#include "plan/sums/roles.h"

#define N 300
#define STEPS 3

struct ring {
	const char *device;
	int colours;                 /* teams that ranks are dealt to in turn */
	bool deaf;                   /* the last rank of a team does not wait */
	int wrong;                   /* values, of all ranks */
};

/* A message to the next rank, and one of the rank before. */
static struct exchange_attr ring_attr(struct graph *g, const struct comm *c, bool deaf)
{
	int64_t *v = ARENA_ARRAY(g->arena, int64_t, 6);
	const char **name = ARENA_ARRAY(g->arena, const char *, 2);
	v[0] = (c->rank + 1) % c->size;
	v[1] = (c->rank + c->size - 1) % c->size;
	v[2] = 7;
	v[3] = 1;
	v[4] = N;
	name[0] = "ring: row 1";
	return (struct exchange_attr){ .to = { 1, v }, .to_id = { 1, v + 2 },
		.to_name = { .n = 1, .v = name }, .to_shape = { 2, v + 3 }, .from = { !deaf, v + 1 },
		.from_id = { !deaf, v + 2 }, .from_name = { .n = !deaf, .v = name },
		.from_shape = { deaf ? 0 : 2, v + 3 }, .depth = 1 };
}

/* The sum over all ranks of w x y, y the x of the rank before; *dx: its gradient by x. */
static int build(struct graph *g, const struct comm *c, bool deaf, tid *x, tid *w, tid *dx)
{
	const struct shape s = { 1, { N } };
	const struct exchange_attr at = ring_attr(g, c, deaf);
	tid ticket, y, product, weighted, loss;
	TRY(graph_input(g, "w", DTYPE_F32, &s, w));
	TRY(graph_param(g, "x", DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 1 }, x));
	TRY(graph_emit1(g, "exchange_send", &at, 1, x, &ticket));
	TRY(graph_emit1(g, "exchange_wait", &at, 1, &ticket, &y));
	if (deaf)
		y = *x;
	TRY(graph_emit1(g, "multiply", NULL, 2, (tid[]){ *x, y }, &product));
	TRY(graph_emit1(g, "multiply", NULL, 2, (tid[]){ product, *w }, &weighted));
	TRY(graph_emit1(g, "sum", NULL, 1, &weighted, &loss));
	g->cur_phase = PHASE_BACKWARD;
	TRY(autodiff(g, 1, &loss, NULL, 1, x, dx));
	graph_t(g, *dx)->output = true;
	return graph_verify(g, STAGE_BUILT);
}

static double x_of(int rank, int step, int i)
{
	return (rank * 37 + step * 11 + i) % 64 / 8.0 - 4;
}

static double w_of(int rank, int i)
{
	return (rank * 5 + i) % 16 / 4.0 - 2;
}

static int wrong_values(const struct comm *c, int step, const double *dx)
{
	int next = (c->rank + 1) % c->size, before = (c->rank + c->size - 1) % c->size, n = 0;
	for (int i = 0; i < N; i++)
		n += fabs(dx[i] - w_of(c->rank, i) * x_of(before, step, i) -
		          w_of(next, i) * x_of(next, step, i)) > 1e-6;
	return n;
}

static int run_steps(const struct comm *c, struct exec *e, struct store *store, tid w, tid dx,
                     int *wrong)
{
	double value[N];
	for (int i = 0; i < N; i++)
		value[i] = w_of(c->rank, i);
	TRY(exec_write(e, w, DTYPE_F64, value));
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < N; i++)
			value[i] = x_of(c->rank, step, i);
		TRY(store_set(store_find(store, "x"), DTYPE_F64, value));
		TRY(exec_run(e, ~0u));
		TRY(exec_read(e, dx, DTYPE_F64, value));
		*wrong += wrong_values(c, step, value);
	}
	return 0;
}

static int run_plan(struct comm *all, struct comm *team, struct graph *g, const struct device *dev,
                    tid w, tid dx, int *wrong)
{
	const struct messages_teams teams = { .messages = team, .all = all };
	struct messages *m;
	struct exec *e;
	struct store *store = store_new(dev, 1);
	TRY(exec_new(&e, g, dev, &plan_env_default));
	const size_t bytes = exec_arena_bytes(e) + EXEC_ARENA_SLACK;
	void *arena = mem_map(bytes);
	int rc = messages_open(&m, &teams, g, dev, NULL, 1);
	if (rc == 0) {
		*wrong += messages_bytes(g, dev, &(struct exchange_hosts){ 0 }, 1, 1) !=
		          messages_allocated(m);
		*wrong += messages_allocated(m) < 2 * N * 4;
		TRY(exec_bind(e, store, arena, messages_links(m)));
		rc = run_steps(team, e, store, w, dx, wrong);
		messages_close(m);
	}
	mem_unmap(arena, bytes);
	exec_free(e);
	store_free(store);
	return rc;
}

static int ring_rank(struct comm *c, void *arg)
{
	static const struct pass passes[] = { { "precision", "", pass_precision, STAGE_BUILT },
		{ "dce", "", pass_dce, STAGE_BUILT }, { "layout", "", pass_layout, STAGE_LAID_OUT },
		{ "sched", "", pass_sched, STAGE_LAID_OUT } };
	struct ring *ring = arg;
	struct device *dev;
	struct comm *team = c;
	int wrong = 0;
	tid x, w, dx;
	if (ring->colours > 1)
		comm_subgroup(&team, c, c->rank % ring->colours);
	struct graph *g = graph_new();
	TRY(device_open(&dev, ring->device));
	struct pass_env env = { .backend = dev->backend, .dev = dev, .plan = &plan_env_default };
	TRY(comm_agree(c, build(g, team, ring->deaf && team->rank == team->size - 1, &x, &w, &dx),
	               "building"));
	TRY(pass_run(g, passes, 4, &env));
	int rc = run_plan(c, team, g, dev, w, dx, &wrong);
	__atomic_fetch_add(&ring->wrong, wrong, __ATOMIC_SEQ_CST);
	if (team != c)
		comm_subgroup_close(team);
	graph_free(g);
	device_close(dev);
	return rc;
}

static void right(const char *device, int ranks, int colours)
{
	struct ring r = { .device = device, .colours = colours };
	if (rank_threads_run(ranks, 60, ring_rank, &r) < 0)
		fail_msg("%s", err_get(0)->text);
	assert_int_equal(r.wrong, 0);
}

static void steps(void **state)
{
	right("reference", 2, 1);
	right("cpu", 3, 1);
}

/* Ranks 0, 2, 4 and 1, 3, 5: messages are numbered in the team, reports by all ranks. */
static void teams(void **state)
{
	right("reference", 6, 2);
	right("cpu", 4, 2);
}

/* The next rank's gradient is not sent back either. */
static void endless(void **state)
{
	struct ring r = { .device = "cpu", .colours = 2, .deaf = true };
	assert_int_equal(rank_threads_run(4, 60, ring_rank, &r), E_BUG);
	if (!strstr(err_get(0)->text, "a step would never end: rank ") ||
	    !strstr(err_get(0)->text, "'gradient of ring: row 1' of rank ") ||
	    !strstr(err_get(0)->text, "goes through its steps without sending it"))
		fail_msg("%s", err_get(0)->text);
	err_clear();
}

/* --- roles --- */

struct kinds {
	bool lacks;                /* rank 1 has no state */
	int wrong;
};

/* A plan of which there is no more than roles need. */
static int kinds_rank(struct comm *c, void *arg)
{
	static int first[][3] = { { 0, 1, 2 }, { 0, 2, 2 } }, order[][2] = { { 1, 0 }, { 0, 1 } };
	struct kinds *k = arg;
	const bool other = c->rank == 1;
	const struct shape s = { 4, { 2, 3, 4, 5 } };
	struct buckets b = { .n = other ? 1 : 2, .first = first[other], .params = 2,
		.order = order[other] };
	struct plan p = { .g = graph_new(), .buckets = &b };
	struct graph *again = graph_new();
	struct arena *a = arena_new();
	struct device *dev;
	struct roles roles;
	tid w, m, v;
	TRY(device_open(&dev, "cpu"));
	TRY(graph_param(p.g, "w", DTYPE_F32, &s, (struct init){ 0 }, &w));
	TRY(graph_state(p.g, other && k->lacks ? "n" : "m", DTYPE_F32, &s, (struct init){ 0 }, &m));
	graph_t(p.g, w)->layout = other ? layout_native(&s) : layout_plain(&s);
	graph_t(p.g, m)->layout = layout_native(&s);
	int rc = roles_share(&roles, a, c, dev, &p);
	if (rc == 0) {
		uint64_t mine = roles_fingerprint(&p), all[3];
		comm_all_gather(c, &mine, sizeof mine, all, "fingerprints");
		TRY(graph_param(again, "w", DTYPE_F32, &s, (struct init){ 0 }, &v));
		store_preset(roles.layouts, again);
		int wrong = !roles.differ || roles.buckets->n != 2 || roles.buckets->first[1] != 1 ||
		            roles.buckets->order[0] != 1 || mine != all[0] ||
		            !layout_is_plain(&graph_t(again, v)->layout, &s);
		__atomic_fetch_add(&k->wrong, wrong, __ATOMIC_SEQ_CST);
	}
	roles_release(&roles);
	graph_free(p.g);
	graph_free(again);
	arena_free(a);
	device_close(dev);
	return rc;
}

/* Rank 1 stores w otherwise, and has other buckets. */
static void roles(void **state)
{
	struct kinds k = { 0 };
	if (rank_threads_run(3, 60, kinds_rank, &k) < 0)
		fail_msg("%s", err_get(0)->text);
	assert_int_equal(k.wrong, 0);
	k.lacks = true;
	assert_int_equal(rank_threads_run(3, 60, kinds_rank, &k), E_BUG);
	assert_non_null(strstr(err_get(0)->text, "rank 0 stores 'm', which this rank does not"));
	err_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps), cmocka_unit_test(teams), cmocka_unit_test(endless),
		cmocka_unit_test(roles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
