/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A proof is a test of an implementation whose choice depends on the machine (struct
 * kernel_choice): it runs the kernel on the actual problem, machine and number of threads, with
 * random inputs, into memory that was filled with a pattern (poisoned), with guards around results
 * and workspace. Then
 *
 *   picked elements, some of them at borders, must agree with float64 within the type's tolerance;
 *   every element must be written and finite, padding be 0, and nothing be written outside;
 *   a second run, with another pattern, must give the same bits, and if the run requires it
 *   (plan_env.any_threads) so must a run on one thread.
 *
 * A wrong kernel may end its process or never return. So CPU kernels are tested in a separate
 * process: this program, started again (proof_main), without other ranks or a GPU. GPU kernels are
 * tested in this process (proof_device_run), with wider tolerances, and bits are compared only if
 * the plan requires reproducible bits (plan_env.deterministic). */
#ifndef DLX_BACKEND_PROOF_PROOF_H
#define DLX_BACKEND_PROOF_PROOF_H

#include "backend/plan_env.h"
#include "graph/op.h"

/* The result of a proof. */
enum proof_fault {
	PROOF_NONE,                  /* it is right */
	PROOF_VALUE,                 /* wrong values */
	PROOF_UNWRITTEN,             /* elements were not written, or are not finite */
	PROOF_PADDING,               /* padding that is not 0 */
	PROOF_BITS,                  /* the second run gave other bits */
	PROOF_THREADS,               /* the run on one thread gave other bits */
	PROOF_OUTSIDE,               /* the kernel wrote outside of its result and workspace */
	PROOF_CRASH,                 /* it ends the process */
	PROOF_HANG,                  /* it does not return */
	PROOF_REFUSED,               /* its library refuses to run it, now */
	PROOF_UNKNOWN,               /* the test was not possible, for instance because another kernel
	                              * was chosen */
	PROOF_FAULTS
};
const char *proof_fault_text(enum proof_fault f);       /* "wrong values" */
enum proof_fault proof_fault_find(const char *text);    /* PROOF_FAULTS: there is none */

/* --- problems --- */

#define PROOF_IN 4
#define PROOF_OUT 2

struct proof_tensor {
	int there;
	enum dtype dtype;
	struct shape shape;
	struct layout layout;
};

/* The problem of one proof: all that the kernel of a node depends on, without pointers, so that it
 * can be sent to another process and compared bytewise. */
struct proof_case {
	char op[32], impl[64], attr[512];
	uint64_t problem;
	int threads;                 /* of a CPU kernel */
	enum dtype compute;
	int gpu, tf32, winograd, deterministic, any_threads, any_extent;
	double bf16_ratio;
	int nin, nout;
	struct proof_tensor in[PROOF_IN], out[PROOF_OUT];
};

/* Fills *c from a planned kernel. False: the kernel made no choice, or one that cannot be
 * tested. */
bool proof_case_of(struct proof_case *c, const struct kplan *k);
/* "conv 2x4x8x8, 16x4x3x3 bf16 (stride: 2)" */
void proof_case_text(const struct proof_case *c, struct buf *out);
/* Builds a graph of the case's single node, and the settings under which its kernel is chosen. */
int proof_case_graph(const struct proof_case *c, struct graph **g, struct plan_env *env);

/* --- proving --- */

struct proof_verdict {
	enum proof_fault fault;
	int64_t wrong, of;           /* with PROOF_VALUE: numbers of wrong elements and of picked
	                              * elements */
	double worst;                /* the largest error, in units of the tolerance */
};

/* Tests the kernel of c in this process; the bench keeps its buffers for the next call. */
struct proof_bench;
struct proof_bench *proof_bench_new(void);
void proof_bench_free(struct proof_bench *b);
int proof_bench_run(struct proof_bench *b, struct device *dev, const struct proof_case *c,
                    struct proof_verdict *out);

/* Tests the planned kernel k on its device, which has its own memory. Crashes and hangs are not
 * detected here: a kernel that breaks the device ends the run, and one that never returns blocks
 * it. */
int proof_device_run(const struct kplan *k, const struct proof_case *c, struct proof_verdict *out);

/* Tests the kernels of n cases in separate processes; verdict[i] is for case i. E_UNAVAILABLE with
 * the reason if no process can be started. */
int proof_run(const struct proof_case *c, int n, struct proof_verdict *verdict);
/* Declares that this program's main calls proof_main if its first argument is PROOF_OPTION. Without
 * this call nothing is tested, since the program would start itself without end. Call it before
 * threads exist. */
void proof_enable(void);
bool proof_enabled(void);
#define PROOF_OPTION "--prove-kernels"
/* The main function of the testing process: tests the cases from `first` on (the argument of
 * PROOF_OPTION). Returns the exit status. */
int proof_main(int first);

#endif
