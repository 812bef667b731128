/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of a loader; private to loader*.c. Only the training loop's thread advances the ring of
 * slots and the order of samples. A background thread touches only the slot of its job and its own
 * scratch memory, and the slot's `pending` and error under the lock. */
#ifndef DLX_DATA_LOADER_STATE_H
#define DLX_DATA_LOADER_STATE_H

#include <pthread.h>

#include "base/err.h"
#include "data/dataset.h"
#include "data/draws.h"
#include "data/epoch_order.h"
#include "data/labels_stored.h"
#include "data/loader_chains.h"

struct slot;

struct first_error {                /* the first error, by number, of tasks that threads run in any
                                     * order */
	int rc;                         /* error code; 0: none has failed */
	int64_t at;                     /* number of the failed task; the error with the smallest number
	                                 * is kept */
	struct err_record error;
};

struct job {                        /* one sample of one batch */
	struct slot *slot;
	int64_t at;                     /* index of the sample in the batch */
	int64_t sample;                 /* i + w n: window w of sample i of n */
	int64_t partner;                /* the sample that mixup blends in, numbered likewise */
	int64_t walk, partner_walk;     /* number of the walk of their source (draws.h), which seeds
	                                 * random transforms */
};

struct slot {
	struct loader *l;
	struct batch batch;
	char *input, *target;
	char *other;                    /* NULL: no mixup */
	char *further;                  /* the loader's further arrays, one after another */
	struct job *job;
	int64_t pending;                /* number of unfinished jobs; protected by the lock */
	struct first_error first;       /* first error of a sample; protected by the lock */
};

/* A sample that several threads decode together, in the memory of one of them: idle threads take
 * pieces of it. Protected by the lock, except for members that are only read while pieces are
 * pending. */
struct shared {
	struct loader *l;
	int64_t sample;
	struct dataset_place to;
	struct record_taker taker;
	const struct transform_chain *chain;   /* transforms of the sample */
	int64_t n, next, pending;       /* number of pieces; the next to be taken; those not decoded
	                                 * yet */
	struct first_error first;       /* first error of a piece */
};

struct worker {                     /* scratch memory that a running job borrows */
	struct dataset_scratch *decode;
	struct shared shared;
	struct transform_scratch **transform;  /* scratch for each size */
	float *partner;                 /* memory for the input that is blended in; NULL: no mixup */
	char *input, *target;           /* memory for a whole sample, of which the batch takes windows;
	                                 * NULL: batches have whole samples */
	struct worker *next;
};

#define LOADER_FURTHER (BATCH_ARRAYS - BATCH_FURTHER)
struct further {                    /* an array of the record other than input and target */
	const char *name;
	struct dataset_array array;
	int64_t each;                   /* elements of a sample */
	size_t sample_bytes, bytes;     /* bytes of a sample; of a batch, rounded up to a multiple of
	                                 * 64 */
};

struct loader {
	struct dataset *d;
	struct transform_chain **chain;        /* a chain for each size of stored samples, or only for
	                                        * `size` */
	int nsizes, size;                      /* number of sizes; one size that has a chain */
	bool one_size;                         /* only samples of `size` are used */
	struct loader_end *end;                /* kinds of batches; more than one only in training */
	int nends, *end_of;                    /* number of kinds; end_of: kind for each stored size */
	struct label_rule labels;
	struct mixup_config mixup;
	bool training, shuffle, within_host, mixes;
	bool windows;                          /* batches have windows of samples
	                                        * (loader_set_windows) */
	struct loader_window input, target;
	int threads;                           /* number of decode threads wanted */
	int64_t prefetch;                      /* batches to decode ahead; 0: chosen by their size */
	uint64_t seed;
	int64_t like, micro_asked;             /* number of values of loader_options.like, or 0;
	                                        * loader_options.micro */
	int64_t batch_size;
	int64_t rank, ranks, micro;
	struct epoch_order order;
	struct draws *draws;                   /* NULL: the order is that of `order` */
	int64_t *walk;                         /* walk numbers by position; NULL: that of the epoch */
	int64_t epoch, index;                  /* the batch to start next */
	int64_t first_epoch, first_index;      /* batch of the last loader_seek; -1: nothing is started
	                                        * yet */
	int nslots, head;                      /* head: the slot that loader_next returns next */
	struct slot *slot;
	bool taken;                            /* the caller still uses the slot before head */
	int behind;                            /* number of slots before that one which the caller has
	                                        * returned and which are not started again yet */
	struct batch_memory from;
	void *memory;
	size_t bytes;
	struct further further[LOADER_FURTHER];
	int nfurther;
	size_t further_bytes;                  /* bytes of all further arrays of a batch */
	double waited;
	struct pool *pool;
	pthread_mutex_t lock;
	pthread_cond_t done;                   /* signalled when some slot's pending becomes 0 */
	pthread_cond_t decoded;                /* signalled when some shared sample's pending becomes
	                                        * 0 */
	int64_t helped;                        /* number of pieces that helping threads have decoded */
	struct worker *idle, *worker;
	int nworkers;
};

/* --- loader_further.c --- */

/* Finds the arrays o->further in the set. The batch size and the transforms must be known. */
int loader_further_find(struct loader *l, const struct loader_options *o);
/* Adds those arrays to a batch of the slot. */
void loader_further_list(const struct slot *s, struct batch *b);
/* Copies those arrays of a decoded sample to index `at` of the slot's batch. */
void loader_further_copy(const struct slot *s, int64_t at, int64_t sample, const void *raw);

/* --- loader_windows.c --- */

/* The number of elements of a window of an array of shape `whole`. */
int64_t loader_window_count(const struct shape *whole, const struct loader_window *w);
/* Copies that window, with elements of `size` bytes: runs along the last axis, one by one. */
void loader_store_window(const struct shape *whole, const struct loader_window *w, size_t size,
                         const char *from, char *to);

/* --- loader_jobs.c --- */

/* Allocates n workers and their scratch memory. */
void loader_make_workers(struct loader *l, int n);
void loader_free_workers(struct loader *l);
/* A job of the pool; arg: a struct job. */
void loader_run_job(void *arg);

#endif
