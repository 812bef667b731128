/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A loader's parts; private to loader*.c. The loop's thread alone walks the ring and the order of
 * samples; a background thread touches only the slot of its job, its own scratch, and under the
 * lock the slot's `pending` and error. */
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

struct first_error {                /* of things that threads do in any order */
	int rc;                         /* 0: none has failed */
	int64_t at;                     /* which of them; that with the least number is kept */
	struct err_record error;
};

struct job {                        /* one sample of one batch */
	struct slot *slot;
	int64_t at;                     /* in the batch */
	int64_t sample;                 /* i + w n: window w of sample i of n */
	int64_t partner;                /* the sample that mixup blends in, numbered likewise */
	int64_t walk, partner_walk;     /* of their source, by which they are transformed */
};

struct slot {
	struct loader *l;
	struct batch batch;
	char *input, *target;
	char *other;                    /* NULL: no mixup */
	char *further;                  /* the loader's further arrays, one after the other */
	struct job *job;
	int64_t pending;                /* jobs not done; under the lock */
	struct first_error first;       /* of a sample; under the lock */
};

/* A sample that several threads decode, in the memory of one: others that have nothing to do take
 * pieces too. Under the lock, but for what is only read while pieces are pending. */
struct shared {
	struct loader *l;
	int64_t sample;
	struct dataset_place to;
	struct record_taker taker;
	const struct transform_chain *chain;   /* of the sample */
	int64_t n, next, pending;       /* pieces; the next to take; those that are not decoded */
	struct first_error first;       /* of a piece */
};

struct worker {                     /* what a running job borrows */
	struct dataset_scratch *decode;
	struct shared shared;
	struct transform_scratch **transform;  /* of each size */
	float *partner;                 /* an input to blend with; NULL: no mixup */
	struct worker *next;
};

#define LOADER_FURTHER (BATCH_ARRAYS - BATCH_FURTHER)
struct further {                    /* an array of the record next to input and target */
	const char *name;
	struct dataset_array array;
	int64_t each;                   /* elements of a sample */
	size_t sample_bytes, bytes;     /* of a sample; of a batch, a multiple of 64 */
};

struct loader {
	struct dataset *d;
	struct transform_chain **chain;        /* of each size of samples as stored, or of `size`
	                                        * alone */
	int nsizes, size;                      /* size: one that has a chain */
	bool one_size;                         /* there are no samples but of `size` */
	struct loader_end *end;                /* what batches are of; several in training alone */
	int nends, *end_of;                    /* end_of: by size as stored */
	struct label_rule labels;
	struct mixup_config mixup;
	bool training, shuffle, within_host, mixes;
	uint64_t seed;
	int64_t like, micro_asked;             /* values of loader_options.like, or 0; its micro */
	int64_t batch_size;
	int64_t rank, ranks, micro;
	struct epoch_order order;
	struct draws *draws;                   /* NULL: the order is that of `order` */
	int64_t *walk;                         /* by place; NULL: the epoch's */
	int64_t epoch, index;                  /* the batch to start next */
	int64_t first_epoch, first_index;      /* where it was sent last; -1: nothing is started yet */
	int nslots, head;                      /* head: the slot loader_next takes */
	struct slot *slot;
	bool taken;                            /* the slot before head is the caller's */
	int behind;                            /* slots before it that the caller has given back and
	                                        * that are not started yet */
	struct batch_memory from;
	void *memory;
	size_t bytes;
	struct further further[LOADER_FURTHER];
	int nfurther;
	size_t further_bytes;                  /* of all of a batch */
	double waited;
	struct pool *pool;
	pthread_mutex_t lock;
	pthread_cond_t done;                   /* some slot's pending became 0 */
	pthread_cond_t decoded;                /* some sample's did */
	int64_t helped;                        /* pieces that other threads have decoded */
	struct worker *idle, *worker;
	int nworkers;
};

/* --- loader_further.c --- */

/* Finds o->further in the set; after the batch size and the transforms are known. */
int loader_further_find(struct loader *l, const struct loader_options *o);
/* Adds those arrays to a batch of the slot. */
void loader_further_list(const struct slot *s, struct batch *b);
/* Copies those of a decoded sample to place `at` of the slot's batch. */
void loader_further_copy(const struct slot *s, int64_t at, int64_t sample, const void *raw);

/* --- loader_jobs.c --- */

/* l->nworkers and their scratch memory. */
void loader_make_workers(struct loader *l, int n);
void loader_free_workers(struct loader *l);
/* A job of the pool; arg: a struct job. */
void loader_run_job(void *arg);

#endif
