/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of an open store, shared by writer.c (the caller's thread) and writer_save.c (the
 * background thread). */
#ifndef DLX_CKPT_WRITER_STATE_H
#define DLX_CKPT_WRITER_STATE_H

#include <pthread.h>

#include "base/err.h"
#include "base/pool.h"
#include "ckpt/packs.h"
#include "ckpt/plain.h"
#include "ckpt/version_list.h"

/* The input of a save: its future manifest, which is copied, and the tensors' data, which are
 * borrowed. */
struct staged {
	struct arena *a;
	struct manifest manifest;      /* without serial, chunks and hash */
	struct manifest_tensor *tensor;
	const void **data;             /* of each tensor */
	int (*fill)(void *arg);
	void *fill_arg;
	uint64_t raw;                  /* bytes of all tensors */
	struct plain plain;            /* checkpoint.plain, on rank 0 */
	double start, seconds;         /* time when the save began; seconds that filling the data
	                                * took */
};

struct ckpt_store {
	struct disk *disk;
	char *dir;                     /* RUN/checkpoints */
	int lock_fd;
	bool unlocked;                 /* dir could not be locked: another process that saves in it
	                                * would not be noticed */
	struct ckpt_config config;
	int rank, ranks;               /* this rank, and the number of ranks that write together (1
	                                * after ckpt_alone) */
	int world;                     /* number of all ranks */
	char save[64];                 /* part of the names of packs and holds, with the run and a
	                                * number */
	struct arena *a;               /* of link */
	struct run_link link;
	struct pool *pool;

	/* Used only by the background thread while a save is in flight: */
	struct staged staged;
	struct packs *packs;
	struct version_list versions;
	int number;                    /* number of saves that this process has begun */
	uint64_t added;                /* bytes on disk of the save under way */

	char parent[CKPT_ID];          /* "" if none */

	pthread_mutex_t mutex;         /* guards the rest */
	bool busy;                     /* a save is in flight */
	int rc;                        /* outcome of the last save, until it is reported */
	struct err_record error;
	char saved[CKPT_ID];           /* the id of the last save that succeeded */
	struct ckpt_done *done;        /* completed saves that ckpt_poll has not returned yet */
	int ndone, done_cap;
};

/* Runs on the background thread: writes s->staged, then applies the keep policy. */
void save_job(void *store);

#endif
