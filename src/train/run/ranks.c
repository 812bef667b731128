/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreement is one gather of codes (comm_agree). What identifies a run is gathered too, as a few
 * numbers; each rank then compares itself with the majority, and only a rank that differs has to
 * find the difference. */
#include "train/run/ranks.h"

#include <config.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/mem.h"

static enum ranks_failure failure;

enum ranks_failure ranks_failure(void)
{
	return failure;
}

void ranks_forget_failure(struct comm *c)
{
	failure = RANKS_ALONE;
	comm_forget_failure(c);
}

int ranks_agree(struct comm *c, int rc, const char *what)
{
	double failed = rc < 0;
	if (!comm_many(c) || failure != RANKS_ALONE)   /* it is known already */
		return rc;
	rc = comm_agree(c, rc, what);
	if (rc < 0) {
		comm_sum(c, &failed, 1, what);
		failure = (int)failed == c->size ? RANKS_ALIKE : RANKS_ONE;
	}
	return rc;
}

const char *ranks_name(const struct comm *c, char text[112])
{
	snprintf(text, 112, "rank %d (host %s)", c->rank, c->host_name);
	return text;
}

/* --- processors --- */

struct rank_place {
	int host;
	cpu_set_t processors;
};

int ranks_sharing(struct comm *c)
{
	struct rank_place mine = { .host = comm_many(c) ? c->host : 0 };
	int n = 0;
	if (!comm_many(c))
		return 1;
	if (sched_getaffinity(0, sizeof mine.processors, &mine.processors) != 0)
		CPU_ZERO(&mine.processors);
	struct rank_place *all = mem_calloc((size_t)c->size, sizeof *all);
	comm_all_gather(c, &mine, sizeof mine, all, "the processors of each rank");
	for (int r = 0; r < c->size; r++)
		n += all[r].host == mine.host && CPU_EQUAL(&all[r].processors, &mine.processors);
	mem_free(all);
	return n;
}

const char *ranks_threads(struct comm *c, int threads, struct arena *a)
{
	struct buf text = BUF_INIT;
	int n = comm_count(c);
	int *all = mem_calloc((size_t)n, sizeof *all);
	all[0] = threads;
	if (comm_many(c))
		comm_all_gather(c, &threads, sizeof threads, all, "the threads of each rank");
	for (int r = 0, next; r < n; r = next) {
		for (next = r + 1; next < n && all[next] == all[r]; next++)
			;
		buf_printf(&text, "%s%d", r ? "," : "", all[r]);
		if (next - r > 1)
			buf_printf(&text, "(x%d)", next - r);
	}
	mem_free(all);
	const char *kept = arena_strdup(a, text.data);
	buf_release(&text);
	return kept;
}

void ranks_share_isa(struct comm *c)
{
	int mine = (int)isa_of_machine(), least = 0;
	bool differ = false;
	if (!comm_many(c))
		return;
	int *all = mem_calloc((size_t)c->size, sizeof *all);
	comm_all_gather(c, &mine, sizeof mine, all, "the instruction sets of the ranks");
	for (int r = 1; r < c->size; r++) {
		differ |= all[r] != all[0];
		least = all[r] < all[least] ? r : least;
	}
	if (differ) {
		isa_lower((enum isa)all[least]);
		note("all ranks use the instruction set %s, which rank %d has", isa_name(isa_cap()), least);
	}
	mem_free(all);
}

/* Hosts have clocks of their own, but one time of day. */
double ranks_began(struct comm *c)
{
	struct timespec day;
	clock_gettime(CLOCK_REALTIME, &day);
	double now = (double)day.tv_sec + 1e-9 * (double)day.tv_nsec, here = io_seconds(),
	       age = io_process_age();
	double first = age - now;
	if (comm_many(c))
		comm_max(c, &first, 1, "when the ranks began");
	return here - (now + first);
}

/* --- identity --- */

enum part { SAME_VERSION, SAME_CONFIG, SAME_DEVICE, SAME_DATA, SAME_SECOND, SAME_PLAN, NPARTS };
static const struct part_row {
	const char *what;
	int code;
	const char *remedy;
} parts[NPARTS] = {
	[SAME_VERSION] = { "the versions of dlx", E_CONFIG, "" },
	[SAME_CONFIG] = { "the configs", E_CONFIG, "" },
	[SAME_DEVICE] = { "the devices", E_CONFIG, "" },
	[SAME_DATA] = { "the training data", E_CONFIG, "" },
	[SAME_SECOND] = { "the data to validate on or to predict from", E_DATA,
	                  "; all ranks need the same files" },
	[SAME_PLAN] = { "the plans", E_CONFIG, "" },
};

int ranks_majority(const void *all, size_t each, int n)
{
	const char *v = all;
	int best = 0, most = 0;
	for (int i = 0; i < n; i++) {
		int same = 0;
		for (int k = 0; k < n; k++)
			same += memcmp(v + (size_t)i * each, v + (size_t)k * each, each) == 0;
		if (same > most) {
			best = i;
			most = same;
		}
	}
	return best;
}

/* The effective config without what may differ: names of
 * folders and files, which are the host's own matter. */
static void config_text(const struct run_config *c, struct buf *out)
{
	struct arena *a = arena_new();
	struct run_config plain = *c;
	plain.run.dir = NULL;
	plain.data.train.n = plain.data.validation.n = 0;
	plain.data.stage.dir = NULL;
	ytree_write(out, config_effective(&plain, a));
	buf_putc(out, '\0');
	arena_free(a);
}

/* The first line in which a differs from b; both end in '\0'. */
static void first_difference(const char *a, const char *b, struct buf *out)
{
	while (*a || *b) {
		size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
		if (n != m || memcmp(a, b, n) != 0) {
			size_t in_a = strspn(a, " "), in_b = strspn(b, " ");
			buf_printf(out, "'%.*s' here, '%.*s' there", (int)(n - in_a), a + in_a, (int)(m - in_b),
			           b + in_b);
			return;
		}
		a += n + (a[n] == '\n');
		b += m + (b[m] == '\n');
	}
}

struct self {
	const struct run_config *config;
	uint64_t part[NPARTS];
	char text[NPARTS][256];        /* for people; of SAME_CONFIG: none */
	struct buf config_text;
};

/* Every part but the config fits on one line. */
static void tell(struct comm *c, struct self *me, enum part p, int reference, bool differs,
                 struct buf *out)
{
	uint64_t n = p == SAME_CONFIG ? me->config_text.len : sizeof me->text[p];
	comm_broadcast(c, &n, sizeof n, reference, parts[p].what);
	char *theirs = mem_calloc(1, n + 1);
	if (c->rank == reference)
		memcpy(theirs, p == SAME_CONFIG ? me->config_text.data : me->text[p], n);
	comm_broadcast(c, theirs, n, reference, parts[p].what);
	if (differs && p == SAME_CONFIG)
		first_difference(me->config_text.data, theirs, out);
	else if (differs)
		buf_printf(out, "%s here, %s there", me->text[p], theirs);
	mem_free(theirs);
}

static int compare_part(struct comm *c, struct self *me, const uint64_t *all, enum part p)
{
	uint64_t *one = mem_calloc((size_t)c->size, sizeof *one);
	bool any = false;
	struct buf text = BUF_INIT;
	int rc = 0;
	for (int r = 0; r < c->size; r++)
		one[r] = all[r * NPARTS + p];
	int reference = ranks_majority(one, sizeof *one, c->size);
	for (int r = 0; r < c->size; r++)
		any = any || one[r] != one[reference];
	bool differs = me->part[p] != one[reference];
	mem_free(one);
	if (!any)
		return 0;
	tell(c, me, p, reference, differs, &text);
	if (differs)
		rc = ERR(parts[p].code, NULL, "this rank differs from rank %d in %s: %s%s", reference,
		         parts[p].what, text.data, parts[p].remedy);
	buf_release(&text);
	return ranks_agree(c, rc, parts[p].what);
}

#define COMMAND_TEXT 256

int ranks_same_command(struct comm *c, const char *text)
{
	static const char what[] = "comparing commands";
	char theirs[COMMAND_TEXT];
	uint64_t mine = hash_name(text);
	bool any = false;
	if (!comm_many(c))
		return 0;
	uint64_t *all = mem_calloc((size_t)c->size, sizeof *all);
	comm_all_gather(c, &mine, sizeof mine, all, what);
	int reference = ranks_majority(all, sizeof *all, c->size);
	for (int r = 0; r < c->size; r++)
		any = any || all[r] != all[reference];
	bool differs = mine != all[reference];
	mem_free(all);
	if (!any)
		return 0;
	snprintf(theirs, sizeof theirs, "%s", text);
	comm_broadcast(c, theirs, sizeof theirs, reference, what);
	return ranks_agree(c, differs ? ERR(E_USAGE, NULL, "this rank differs from rank %d in the "
	                                    "command: '%s' here, '%s' there", reference, text, theirs) :
	                   0, what);
}

static void introduce(struct self *me, const struct device *dev, const struct ranks_data *data,
                      uint64_t plan)
{
	snprintf(me->text[SAME_VERSION], sizeof *me->text, "%s", PACKAGE_VERSION);
	snprintf(me->text[SAME_DEVICE], sizeof *me->text, "'%s'", dev->name);
	snprintf(me->text[SAME_DATA], sizeof *me->text, "fingerprint %016llx",
	         (unsigned long long)data->train);
	snprintf(me->text[SAME_SECOND], sizeof *me->text, "'%.180s' with fingerprint %016llx",
	         data->path ? data->path : "", (unsigned long long)data->second);
	me->part[SAME_PLAN] = plan;
	snprintf(me->text[SAME_PLAN], sizeof *me->text, "fingerprint %016llx (%s)",
	         (unsigned long long)me->part[SAME_PLAN], dev->description);
	config_text(me->config, &me->config_text);
	me->part[SAME_VERSION] = hash_name(me->text[SAME_VERSION]);
	me->part[SAME_CONFIG] = hash_name(me->config_text.data);
	me->part[SAME_DEVICE] = hash_name(me->text[SAME_DEVICE]);
	me->part[SAME_DATA] = data->train;
	me->part[SAME_SECOND] = data->second;
}

int ranks_compare(struct comm *c, const struct run_config *config, const struct device *dev,
                  const struct ranks_data *data, uint64_t plan)
{
	struct self me = { .config = config, .config_text = BUF_INIT };
	int rc = 0;
	if (!comm_many(c))
		return 0;
	introduce(&me, dev, data, plan);
	uint64_t *all = mem_calloc((size_t)c->size, sizeof me.part);
	comm_all_gather(c, me.part, sizeof me.part, all, "comparing plans");
	for (int i = 0; i < NPARTS && rc == 0; i++)
		rc = compare_part(c, &me, all, (enum part)i);
	mem_free(all);
	buf_release(&me.config_text);
	return rc;
}
