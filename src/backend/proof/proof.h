/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proofs: that a kernel, which was chosen by what the machine has (struct kernel_choice), is right
 * for a problem, on the machine and with the threads that will run it. It makes random inputs into
 * a result in memory that was poisoned before, with guards around results and workspace, and
 *
 *   picked elements, at borders among them, are as float64 has them, within the type's tolerance;
 *   every element is written, and finite; padding is 0; nothing is written outside;
 *   it has the same bits a second time, from memory that was poisoned otherwise, and where the run
 *   wants that (plan_env.any_threads) on one thread.
 *
 * A kernel that is not right may end its process or never return. So proofs of a CPU's run in a
 * process of their own: this program, started again (proof_main), which has no other ranks and no
 * GPU. Those of a GPU's run in this process (proof_device_run), with wider tolerances; bits are
 * compared where a plan wants the same ones each time (plan_env.deterministic). */
#ifndef DLX_BACKEND_PROOF_PROOF_H
#define DLX_BACKEND_PROOF_PROOF_H

#include "backend/plan_env.h"
#include "graph/op.h"

/* What was seen of a kernel. */
enum proof_fault {
	PROOF_NONE,                  /* it is right */
	PROOF_VALUE,                 /* wrong values */
	PROOF_UNWRITTEN,             /* values that are not written, or not finite */
	PROOF_PADDING,               /* padding that is not 0 */
	PROOF_BITS,                  /* other bits the second time */
	PROOF_THREADS,               /* other bits with one thread */
	PROOF_OUTSIDE,               /* memory is written outside of the result and the workspace */
	PROOF_CRASH,                 /* it ends the process */
	PROOF_HANG,                  /* it does not return */
	PROOF_REFUSED,               /* its library refuses to run it, now */
	PROOF_UNKNOWN,               /* it could not be proven: another kernel was chosen, say */
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

/* A node whose kernel made a choice: all that its kernel depends on, in bytes that another process
 * of this program can read and that are the same for the same problem. */
struct proof_case {
	char op[32], impl[64], attr[512];
	uint64_t problem;
	int threads;                 /* of a CPU */
	enum dtype compute;
	int gpu, tf32, winograd, deterministic, any_threads, any_extent;
	double bf16_ratio;
	int nin, nout;
	struct proof_tensor in[PROOF_IN], out[PROOF_OUT];
};

/* The case of a planned kernel. False: it made no choice, or one that no proof is for. */
bool proof_case_of(struct proof_case *c, const struct kplan *k);
/* "conv 2x4x8x8, 16x4x3x3 bf16 (stride: 2)" */
void proof_case_text(const struct proof_case *c, struct buf *out);
/* The node of a case as a graph of its own, and what its kernel is chosen by. */
int proof_case_graph(const struct proof_case *c, struct graph **g, struct plan_env *env);

/* --- proving --- */

struct proof_verdict {
	enum proof_fault fault;
	int64_t wrong, of;           /* of PROOF_VALUE: picked elements */
	double worst;                /* the largest error, in tolerances */
};

/* The kernel of c in this process, in memory that is kept for the next call. */
struct proof_bench;
struct proof_bench *proof_bench_new(void);
void proof_bench_free(struct proof_bench *b);
int proof_bench_run(struct proof_bench *b, struct device *dev, const struct proof_case *c,
                    struct proof_verdict *out);

/* k, which is planned, itself, on its device, which has memory of its own. What cannot be seen
 * there: a kernel that ends the device's work ends the run with it, and one that does not return
 * is waited for. */
int proof_device_run(const struct kplan *k, const struct proof_case *c, struct proof_verdict *out);

/* The kernels of n cases in processes of their own: verdict[i] of case i. E_UNAVAILABLE with the
 * reason: no process can be started. */
int proof_run(const struct proof_case *c, int n, struct proof_verdict *verdict);
/* Says that this program calls proof_main where PROOF_OPTION is its first argument. Others prove
 * nothing, since what they started would be themselves once more. Before threads. */
void proof_enable(void);
bool proof_enabled(void);
#define PROOF_OPTION "--prove-kernels"
/* Such a process, from case `first` on, which is the argument of PROOF_OPTION. Returns its exit
 * status. */
int proof_main(int first);

#endif
