/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ops of Task Bench's plans, in place of op/table.c's, so that dlx-bench contains no op of
 * networks:
 *
 *   task       (step, payload...) -> payload            a task: validates its inputs and computes
 *   task_kept  (step, payload..., state) -> state       a task whose output the next run reads
 *   post       (payload...) ->                          sends payloads to a rank, as one message
 *   take       () -> payload...                         the payloads of a rank's next message
 *   take_kept  (state...) -> state...                   the same for the next run
 *
 * `step` is the step of the whole graph at which a run of the plan begins. A task that does not
 * exist at its step does nothing, and its payload is read by none. */
#ifndef DLX_BENCH_TASK_NODES_H
#define DLX_BENCH_TASK_NODES_H

#include "bench/tb_app.h"
#include "comm/exchange.h"
#include "comm/reducer.h"
#include "yaml/schema.h"

struct task_attr {
	int64_t graph, column;
	int64_t step;                /* of the plan, from 0 */
	struct ints from;            /* the columns of the inputs; none at the first step of all */
};

struct message_attr {
	int64_t edge;                /* index in the exchange */
	int64_t bytes;               /* of each payload */
	int64_t n;                   /* payloads */
};

/* Where the time of a rank goes. Every nanosecond belongs to one part. */
enum task_part {
	PART_KERNEL,
	PART_PAYLOAD,                /* validating inputs and writing outputs */
	PART_WAIT,                   /* for other ranks */
	PART_COPY,                   /* packing and unpacking messages */
	PART_DISPATCH,               /* between nodes */
	PARTS
};
struct task_record {
	int64_t last;                /* end of the last part, io_nanoseconds */
	int64_t time[PARTS];         /* nanoseconds */
	int64_t stamps[PARTS];       /* times that the clock was read at the end of this part */
};

/* What the nodes of a rank share. */
struct task_rank {
	struct links links;          /* its messages */
	const struct tb_app *app;
	int64_t steps;               /* the most of all graphs */
	char *scratch[TB_GRAPHS];    /* of the rank's columns; NULL: none */
	struct tb_range columns[TB_GRAPHS];
	double sink;                 /* results of kernels, so that they are computed */
	struct task_record *record;  /* NULL: nothing is recorded */
	uint64_t tasks;              /* counted on the rank where faults are injected */
	bool faults;                 /* DLX_DEBUG=fault=payload:N */
};

/* Nodes that are planned in this thread from now on belong to r. */
void task_nodes_of(struct task_rank *r);
void task_record_begin(struct task_record *c);
/* Counts the time since the end of the last part, or the beginning, to this part. */
void task_record_end(struct task_record *c, enum task_part part);

#endif
