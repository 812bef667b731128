/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The debugging switches, set by the environment variable DLX_DEBUG=WORD=VALUE,..., for tests and
 * comparisons. The table of words is in debug_read.c; "dlx-train --help-debug" prints it. */
#ifndef DLX_BASE_DEBUG_H
#define DLX_BASE_DEBUG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define DEBUG_FAULTS 8

struct debug_fault {
	const char *kind;            /* one of DEBUG_FAULT_KINDS; NULL: the entry is empty */
	uint64_t n;                  /* the number of the call that fails, from 1 over the whole
	                              * process */
	bool on;                     /* all later calls fail as well */
};

/* Rates given in place of measured ones: flop/s of products in float32 and bfloat16, bytes/s of
 * memory. */
struct debug_rates {
	double f32, bf16, bytes;
};

/* The simulated link by which messages and sums are delayed (comm/link_delay.h). */
struct debug_link {
	double latency, bandwidth;   /* seconds, bytes/s; bandwidth 0: no delay */
};

/* One member for each word; --help-debug prints what they do. NULL and 0: not given. */
struct debug {
	const char *conv, *way, *engines, *input, *isa, *proof, *skip, *spoil, *crash_at, *host_root;
	uint64_t crash_time;         /* crash_at's #N, or 1 */
	int64_t ranks_per_host, ranks;
	double join_timeout, measure_seconds, compile_seconds, proof_seconds;
	int64_t stage_extent, read_share, band_pixels;
	bool no_trials, nccl_alone, no_locks, sleep, strict, slow, stage_counts;
	struct debug_rates rates;
	struct debug_link link;
	struct debug_fault fault[DEBUG_FAULTS];
};

/* All switches are off until debug_read, which is called once, before threads exist. */
extern struct debug debug;

/* Whether `what` is one of the words of skip=WORD+WORD. pass_run calls this with the name of each
 * pass. */
bool debug_skips(const char *what);
/* Reads DLX_DEBUG; every program of dlx does so first. E_USAGE for an unknown word or value, with a
 * suggestion; all switches are off then. */
int debug_read(void);
/* The same for a text in place of the variable's value; NULL: the variable is unset. */
int debug_parse(const char *text);
/* The table, for --help-debug. */
void debug_help(FILE *out);

#endif
