/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The debugging switches: what the environment variable DLX_DEBUG=WORD=VALUE,... says, for tests
 * and for comparisons. The table of words is in debug_read.c; "dlx-train --help-debug" prints
 * it. */
#ifndef DLX_BASE_DEBUG_H
#define DLX_BASE_DEBUG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define DEBUG_FAULTS 8

struct debug_fault {
	const char *kind;            /* one of DEBUG_FAULT_KINDS; NULL: none */
	uint64_t n;                  /* the Nth call fails, counted from 1 over the whole process, */
	bool on;                     /* and all after it */
};

/* What a processor that is described reaches: flop/s of products in two types, bytes/s. */
struct debug_rates {
	double f32, bf16, bytes;
};

/* What a link is modelled by, for messages and sums that are held back. */
struct debug_link {
	double latency, bandwidth;   /* seconds, bytes/s; 0: nothing is held back */
};

/* A member for each word of the table, where --help-debug says what it does. NULL and 0: not
 * given. */
struct debug {
	const char *conv, *way, *engines, *input, *isa, *proof, *skip, *spoil, *crash_at, *host_root;
	uint64_t crash_time;         /* crash_at's #N, or 1 */
	int64_t ranks_per_host;
	double join_timeout, measure_seconds, compile_seconds, proof_seconds;
	int64_t stage_extent, read_share, band_pixels;
	bool no_trials, nccl_alone, no_locks, strict, slow, stage_counts;
	struct debug_rates rates;
	struct debug_link link;
	struct debug_fault fault[DEBUG_FAULTS];
};

/* All are off until debug_read, which writes them once, before there are threads. */
extern struct debug debug;

/* Whether `what` is one of the words of skip=WORD+WORD. pass_run asks for each pass by its name. */
bool debug_skips(const char *what);
/* Reads DLX_DEBUG; every program of dlx does so first. E_USAGE for an unknown word or value, with a
 * suggestion; all switches are off then. */
int debug_read(void);
/* The same of a text in the place of the variable's, NULL: of none. */
int debug_parse(const char *text);
/* The table, for --help-debug. */
void debug_help(FILE *out);

#endif
