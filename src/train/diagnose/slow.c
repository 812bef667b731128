/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The system counts the time in which a thread was ready but had no processor, whatever the reason.
 * So the specific reasons are checked first: an exhausted quota, and more threads than processors.
 * If neither applies, other processes are the reason. If the system does not count this time,
 * frequent preemption on a machine whose load exceeds its processors is taken as evidence. */
#include "train/diagnose/slow.h"

#include <math.h>

#define LARGE 0.25               /* share of the time that is a reason */
#define THROTTLED 0.1            /* of the time, stopped by a control group: all threads wait for
                                  * the one that is stopped */
#define INTERRUPTED 50           /* times in a second of a thread; of a process alone: below 5 */

static const char *const names[] = { [SLOW_THROTTLED] = "throttled", [SLOW_THREADS] = "threads",
	[SLOW_OTHERS] = "other_processes", [SLOW_DATA] = "data", [SLOW_RANKS] = "ranks",
	[SLOW_BETWEEN] = "between_steps" };

bool slow_is(const struct slow_evidence *e)
{
	return e->seconds > 0 && e->sustained < e->best / 2;
}

static double share(double part, double all)
{
	return all > 0 ? part / all : NAN;
}

/* Of the time in which threads wanted a processor, that in which they had none. */
static double queued(const struct slow_evidence *e)
{
	return share(e->host.queued_seconds, e->host.queued_seconds + e->host.cpu_seconds);
}

static double throttled_periods(const struct slow_evidence *e)
{
	return share(e->host.throttled_periods, e->host.periods);
}

/* NaN compares as false. */
static bool crowded(const struct slow_evidence *e)
{
	if (!isnan(e->host.queued_seconds))
		return queued(e) >= LARGE;
	return share(e->host.involuntary, e->host.cpu_seconds) >= INTERRUPTED &&
	       e->host.load > 1.25 * e->processors;
}

unsigned slow_reasons(const struct slow_evidence *e)
{
	unsigned r = 0;
	if (throttled_periods(e) >= LARGE || share(e->host.throttled_seconds, e->seconds) >= THROTTLED)
		r |= 1u << SLOW_THROTTLED;
	else if (crowded(e))
		r |= !e->gpu && e->threads > e->processors ? 1u << SLOW_THREADS : 1u << SLOW_OTHERS;
	if (share(e->data, e->seconds) >= LARGE)
		r |= 1u << SLOW_DATA;
	if (share(e->ranks, e->seconds) >= LARGE)
		r |= 1u << SLOW_RANKS;
	if (share(e->between, e->seconds) >= LARGE)
		r |= 1u << SLOW_BETWEEN;
	return r;
}

/* --- texts --- */

static void put_queued(const struct slow_evidence *e, struct buf *out)
{
	if (isnan(e->host.queued_seconds))
		buf_printf(out, "its threads were interrupted %.0f times in a second of work",
		           share(e->host.involuntary, e->host.cpu_seconds));
	else
		buf_printf(out, "its threads had no processor for %.0f %% of the time that they wanted one",
		           100 * queued(e));
}

static void put_throttled(const struct slow_evidence *e, struct buf *out)
{
	buf_printf(out, "its control group was stopped %.0f times (throttled)",
	           e->host.throttled_periods);
	if (throttled_periods(e) >= 0)
		buf_printf(out, ", in %.0f %% of the periods", 100 * throttled_periods(e));
	buf_printf(out, ": %d compute and %d decode threads use more than its quota; set "
	           "OMP_NUM_THREADS to less, or ask for more processors (Slurm: --cpus-per-task)",
	           e->threads, e->decode_threads);
}

static void put_threads(const struct slow_evidence *e, struct buf *out)
{
	put_queued(e, out);
	buf_printf(out, ": there are %d on %d processor%s; set OMP_NUM_THREADS=%d, or ask for more "
	           "processors (Slurm: --cpus-per-task=%d)", e->threads, e->processors,
	           e->processors == 1 ? "" : "s", e->processors, e->threads);
}

static void put_others(const struct slow_evidence *e, struct buf *out)
{
	put_queued(e, out);
	buf_puts(out, ": other processes use it");
	if (!isnan(e->host.load))
		buf_printf(out, " (the load of the machine is %.1f, this run may use %d processor%s)",
		           e->host.load, e->processors, e->processors == 1 ? "" : "s");
	buf_puts(out, "; ask for processors of its own (Slurm: --exclusive, --cpus-per-task)");
	if (!e->gpu && e->threads > 1)
		buf_printf(out, ", or set OMP_NUM_THREADS=%d: fewer threads wait less for each other",
		           e->threads / 2);
}

static void put_data(const struct slow_evidence *e, struct buf *out)
{
	buf_printf(out, "it waited for data for %.0f %% of the time; set data.threads to more (%d "
	           "decode now, of at most %d processors), use fewer transforms, or put the data on a "
	           "faster disk", 100 * share(e->data, e->seconds), e->decode_threads, e->processors);
}

static void put_ranks(const struct slow_evidence *e, struct buf *out)
{
	buf_printf(out, "it waited for other ranks for %.0f %% of the time; the lines of type 'rates' "
	           "in metrics.jsonl name the slowest", 100 * share(e->ranks, e->seconds));
}

static void put_between(const struct slow_evidence *e, struct buf *out)
{
	buf_printf(out, "validations and checkpoints took %.0f %% of the time; set train.validate or "
	           "checkpoint.every to more", 100 * share(e->between, e->seconds));
}

void slow_text(const struct slow_evidence *e, enum slow_reason reason, struct buf *out)
{
	static void (*const put[])(const struct slow_evidence *, struct buf *) = {
		[SLOW_THROTTLED] = put_throttled, [SLOW_THREADS] = put_threads,
		[SLOW_OTHERS] = put_others, [SLOW_DATA] = put_data, [SLOW_RANKS] = put_ranks,
		[SLOW_BETWEEN] = put_between };
	put[reason](e, out);
}

/* --- JSON --- */

void slow_json(const struct slow_evidence *e, unsigned reasons, struct buf *out)
{
	int n = 0;
	buf_puts(out, ", \"reasons\": [");
	for (int i = 0; i < SLOW_REASONS; i++)
		if (reasons & 1u << i)
			buf_printf(out, "%s\"%s\"", n++ ? ", " : "", names[i]);
	buf_puts(out, "]");
	buf_json_member(out, "looked_at_seconds", e->seconds);
	buf_json_member(out, "sustained", e->sustained);
	buf_json_member(out, "best", e->best);
	buf_json_member(out, "data_seconds", e->data);
	buf_json_member(out, "ranks_seconds", e->ranks);
	buf_json_member(out, "between_seconds", e->between);
	buf_json_member(out, "cpu_seconds", e->host.cpu_seconds);
	buf_json_member(out, "queued_seconds", e->host.queued_seconds);
	buf_json_member(out, "involuntary_switches", e->host.involuntary);
	buf_json_member(out, "throttled_periods", e->host.throttled_periods);
	buf_json_member(out, "throttled_seconds", e->host.throttled_seconds);
	buf_json_member(out, "load", e->host.load);
	buf_printf(out, ", \"threads\": %d, \"decode_threads\": %d, \"processors\": %d", e->threads,
	           e->decode_threads, e->processors);
}
