/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whatever a crash leaves of a fork: the version that it comes from is as it was, no version is
 * damaged, what was promised is there, the same command makes or finds the fork, and its tensors
 * are read bit by bit, also when chunks that no version needs have been removed. */
#include <math.h>

#include "test/unit/cases.h"
#include "base/err.h"
#include "ckpt/collect.h"
#include "ckpt/fork.h"
#include "ckpt/history.h"
#include "ckpt/packs.h"
#include "crash_states.h"

#define STORE "/store"
#define FIRST "/first/checkpoints"
#define SECOND "/second/checkpoints"

static const float values[] = { 1, 2, 3, -0.5f };

static struct new_version make_first(struct sim *s)
{
	const struct manifest_tensor tensor = { .name = "w", .dtype = DTYPE_F32,
		.shape = { 1, { 4 } }, .weight = true };
	struct manifest m = { .step = 7, .metric = NAN, .config = "", .program = "",
		.data = "", .ranks = 1, .ntensors = 1, .tensor = &tensor };
	struct new_version made;
	assert_int_equal(graft_version(&made, sim_process(s), STORE, &m, (const void *[]){ values }, 1,
	                               FIRST), 0);
	return made;
}

static bool wrong(struct buf *why, const char *what)
{
	buf_printf(why, "%s: %s", what, err_count() ? err_get(0)->text : "no error");
	err_clear();
	return false;
}

/* The fork's index; -1: there is none. */
static int find_fork(const struct history *h)
{
	for (int i = 0; i < h->n; i++)
		if (h->v[i].m.fork)
			return i;
	return -1;
}

static bool reads_back(struct disk *d, const char *id)
{
	char path[200];
	struct arena *a = arena_new();
	struct buf text = BUF_INIT;
	struct packs *p = NULL;
	struct manifest m;
	float got[4];
	snprintf(path, sizeof path, STORE "/" VERSIONS_FOLDER "/%s" MANIFEST_SUFFIX, id);
	bool same = disk_read_file(d, path, &text) == 0 &&
	            manifest_parse(&m, a, path, text.data, text.len) == 0 &&
	            packs_open(&p, d, STORE) == 0 &&
	            packs_read(p, m.tensor[0].chunk[0], got, sizeof got) == 0 &&
	            memcmp(got, values, sizeof got) == 0;
	packs_close(p);
	buf_release(&text);
	arena_free(a);
	return same;
}

struct story {
	struct new_version first;
	int promised;                  /* the calls after which the fork was made */
};

static int promised(void *arg, int calls)
{
	const struct story *t = arg;
	return calls >= t->promised;
}

/* How many versions are there: that of the first run, and the fork if there is one. */
static bool look(const struct story *t, struct disk *d, bool *forked, struct buf *why)
{
	struct history h;
	if (history_read(&h, d, STORE) < 0)
		return wrong(why, "the versions");
	int i = find_fork(&h);
	bool fine = h.n == 1 + (i >= 0);
	for (int k = 0; k < h.n; k++)
		fine &= !h.v[k].damage;
	if (fine && i >= 0)
		fine = strcmp(h.v[i].m.parent[0], t->first.id) == 0 && reads_back(d, h.v[i].id);
	*forked = i >= 0;
	history_release(&h);
	return fine && reads_back(d, t->first.id) ? true : wrong(why, "a version");
}

static bool judge(void *arg, struct sim *after, int calls, struct buf *why)
{
	const struct story *t = arg;
	struct disk *d = sim_process(after);
	struct new_version made;
	struct collected c;
	bool forked;
	if (!look(t, d, &forked, why))
		return false;
	if (promised(arg, calls) && !forked)
		return wrong(why, "the fork is gone");
	int rc = fork_version(&made, d, STORE, t->first.id, SECOND);
	if (rc != (forked ? E_USAGE : 0))
		return wrong(why, "the fork once more");
	err_clear();
	after->time += (int64_t)3 * 24 * 3600;     /* holds of the dead are stale */
	if (collect_packs(&c, d, STORE, "later", false) < 0)
		return wrong(why, "removing");
	return look(t, d, &forked, why) && (forked || wrong(why, "no fork"));
}

static struct crash_counts walk(unsigned lies, bool quiet)
{
	struct sim *s = sim_new(), *begun;
	struct story t = { .first = make_first(s) };
	struct crash_counts counts = { 0 };
	struct new_version made;
	begun = sim_copy(s);
	begun->lies = lies;
	sim_free(s);
	assert_int_equal(fork_version(&made, sim_process(begun), STORE, t.first.id, SECOND), 0);
	t.promised = begun->ncalls;
	crash_walk(begun, 0, begun->ncalls,
	           &(struct crash_limits){ .random = 50, .share = 1, .seed = 1, .quiet = quiet },
	           &(struct crash_judge){ judge, promised, &t }, &counts);
	sim_free(begun);
	return counts;
}

static void test_crashes(void **state)
{
	const struct crash_counts counts = walk(0, false);
	printf("%ld states, %ld wrong\n", counts.states, counts.wrong);
	assert_true(counts.states > 40);
	assert_int_equal(counts.wrong, 0);
}

/* A disk that only says that it syncs is found out. */
static void test_lies(void **state)
{
	assert_true(walk(SIM_LIE_FILES, true).wrong > 0);
	assert_true(walk(SIM_LIE_FOLDERS, true).wrong > 0);
}

/* Each call fails once: the fork is made, or it is not and the same command makes it. */
static void test_faults(void **state)
{
	for (int after = 0, met = 1; met; after++) {
		struct sim *s = sim_new(), *begun;
		struct story t = { .first = make_first(s) };
		struct new_version made;
		struct buf why = BUF_INIT;
		bool forked;
		begun = sim_copy(s);
		sim_free(s);
		struct disk *d = sim_process(begun);
		sim_set_fault(d, &(struct sim_fault){ SIM_ANY, after, 1, 5, true });
		int rc = fork_version(&made, d, STORE, t.first.id, SECOND);
		met = sim_faults_met(d);
		sim_set_fault(d, NULL);
		err_clear();
		sim_end(d);
		d = sim_process(begun);
		if (!look(&t, d, &forked, &why) || (rc == 0 && !forked))
			fail_msg("call %d fails: %s", after, why.data);
		if (!forked && fork_version(&made, d, STORE, t.first.id, SECOND) < 0)
			fail_msg("behind a failure of call %d: %s", after, err_get(0)->text);
		buf_release(&why);
		sim_free(begun);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crashes),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
