/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An open store, for writer.c, which is its owner's side, and writer_save.c, which is the
 * background thread's. */
#ifndef DLX_CKPT_WRITER_STATE_H
#define DLX_CKPT_WRITER_STATE_H

#include <pthread.h>

#include "base/err.h"
#include "base/pool.h"
#include "ckpt/packs.h"
#include "ckpt/plain.h"
#include "ckpt/version_list.h"

/* What a save needs: the manifest to be, all of it copied, and the tensors' data, borrowed. */
struct staged {
	struct arena *a;
	struct manifest manifest;      /* without serial, chunks and hash */
	struct manifest_tensor *tensor;
	const void **data;             /* of each tensor */
	int (*fill)(void *arg);
	void *fill_arg;
	uint64_t raw;                  /* bytes of all tensors */
	struct plain plain;            /* checkpoint.plain, on rank 0 */
	double start, seconds;         /* when the save began; that filling the data took */
};

struct ckpt_store {
	struct disk *disk;
	char *dir;                     /* RUN/checkpoints */
	int lock_fd;
	bool unlocked;                 /* another process that saves in dir would not be noticed */
	struct ckpt_config config;
	int rank, ranks;               /* that write together; ckpt_alone: 1 */
	int world;                     /* all ranks */
	char save[64];                 /* names packs and holds, with the run and a number */
	struct arena *a;               /* of link */
	struct run_link link;
	struct pool *pool;

	/* The background thread's while a save is in flight. */
	struct staged staged;
	struct packs *packs;
	struct version_list versions;
	int number;                    /* of saves begun by this process */
	uint64_t added;                /* bytes on disk of the save under way */

	char parent[CKPT_ID];          /* "" if none */

	pthread_mutex_t mutex;         /* guards the rest */
	bool busy;                     /* a save is in flight */
	int rc;                        /* outcome of the last save, until it is reported */
	struct err_record error;
	char saved[CKPT_ID];           /* the id of the last save that succeeded */
	struct ckpt_done *done;        /* not yet polled */
	int ndone, done_cap;
};

/* Runs on the background thread: writes s->staged, then applies the keep policy. */
void save_job(void *store);

#endif
