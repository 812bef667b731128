/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes trace events. A lane is a thread of the process it
 * shows, several if several threads worked in it. */
#include "report/trace_file.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/trace.h"

#define THREADS 1000             /* of a lane */

static const char *const lane_names[TRACE_LANES] = {
	[TRACE_RUN] = "run", [TRACE_COMPUTE] = "compute", [TRACE_COMMUNICATION] = "communication",
	[TRACE_DATA] = "data", [TRACE_CHECKPOINT] = "checkpoint",
};

static int thread_number(enum trace_lane lane, int thread)
{
	return (int)lane * THREADS + thread % THREADS;
}

static void describe(struct buf *out, int rank, const char *event, int thread, const char *key,
                     const char *text)
{
	buf_printf(out, ",\n{\"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"name\": "
	           "\"%s\", \"args\": {\"%s\": ", rank, thread, event, key);
	buf_json_string(out, text);
	buf_puts(out, "}}");
}

/* Names the threads that have spans, in the order of the lanes. */
static void name_threads(struct buf *out, int rank, int64_t n)
{
	int threads[TRACE_LANES] = { 0 };
	for (int64_t i = 0; i < n; i++) {
		const struct trace_span *s = trace_at(i);
		if (s && s->thread >= threads[s->lane])
			threads[s->lane] = s->thread + 1;
	}
	for (int lane = 0; lane < TRACE_LANES; lane++)
		for (int k = 0; k < threads[lane]; k++) {
			char name[48];
			int id = thread_number((enum trace_lane)lane, k);
			snprintf(name, sizeof name, k ? "%s %d" : "%s", lane_names[lane], k + 1);
			describe(out, rank, "thread_name", id, "name", name);
			buf_printf(out, ",\n{\"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"name\": "
			           "\"thread_sort_index\", \"args\": "
			           "{\"sort_index\": %d}}", rank, id, id);
		}
}

static void argument(struct buf *out, const char *key, const char *text)
{
	if (!text)
		return;
	buf_printf(out, ", \"%s\": ", key);
	buf_json_string(out, text);
}

static void span(struct buf *out, int rank, const struct trace_span *s, double begin)
{
	buf_printf(out, ",\n{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"cat\": \"%s\", \"ts\": %.3f, "
	           "\"dur\": %.3f, \"name\": ", rank, thread_number(s->lane, s->thread),
	           lane_names[s->lane], 1e6 * (s->start - begin), 1e6 * (s->end - s->start));
	buf_json_string(out, s->name);
	buf_printf(out, ", \"args\": {\"step\": %lld", (long long)s->step);
	argument(out, "layer", s->layer);
	argument(out, "phase", s->phase);
	if (s->of)
		buf_printf(out, ", \"%s\": %lld", s->of, (long long)s->number);
	for (int i = 0; i < TRACE_MORE && s->more_of[i]; i++)
		buf_printf(out, ", \"%s\": %.9g", s->more_of[i], s->more[i]);
	buf_puts(out, "}}");
}

int trace_file_write(const char *path, const char *process, int rank, double begin)
{
	struct buf out = BUF_INIT;
	int64_t lost;
	trace_stop();
	trace_unfold(TRACE_COMMUNICATION);
	int64_t n = trace_count(&lost);
	if (lost)
		warn("'%s' lacks %lld spans, for which there was no room", path, (long long)lost);
	buf_printf(&out, "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"lost\": "
	           "%lld}, \"traceEvents\": [\n", (long long)lost);
	buf_printf(&out, "{\"ph\": \"M\", \"pid\": %d, \"name\": \"process_sort_index\", "
	           "\"args\": {\"sort_index\": %d}}", rank, rank);
	describe(&out, rank, "process_name", 0, "name", process);
	name_threads(&out, rank, n);
	for (int64_t i = 0; i < n; i++) {
		const struct trace_span *s = trace_at(i);
		if (s)
			span(&out, rank, s, begin);
	}
	buf_puts(&out, "\n]}\n");
	int rc = io_write_file(path, out.data, out.len);
	buf_release(&out);
	return rc;
}
