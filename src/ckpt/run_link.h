/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RUN/checkpoints/run.json: which run this is, and where its store is.
 *
 *   {
 *     "format": "dlx run 1",
 *     "run": "<32 digits>",              made at random once
 *     "folder": "<32 digits>",           of this folder; see run_claim.h
 *     "store": ".",                      or the path of a store that runs share
 *     "hash": "<32 digits>"              see sealed.h
 *   } */
#ifndef DLX_CKPT_RUN_LINK_H
#define DLX_CKPT_RUN_LINK_H

#include "base/arena.h"
#include "base/disk.h"

#define RUN_LINK_FILE "run.json"
#define RUNS_FOLDER "runs"             /* folder of claims in a shared store: see run_claim.h */

struct run_link {
	const char *run;
	const char *store;             /* root of the store: dir itself, or the path that was given */
	const char *folder;            /* id of the folder; "": the link was written by an earlier
	                                * dlx */
};

/* Reads the link in the folder dir (RUN/checkpoints, or a store itself). If there is no run.json,
 * dir is a store without a run: run is "" and store is dir. Strings are allocated in a. E_DATA,
 * E_IO. */
int run_link_read(struct run_link *out, struct arena *a, struct disk *d, const char *dir);
/* Creates dir and the link of a new run, whose store is at `store` (NULL, or dir: dir itself). */
int run_link_new(struct run_link *out, struct arena *a, struct disk *d, const char *dir,
                 const char *store);
/* Reads the link, or creates one if there is none. E_CONFIG if the existing link names another
 * store or run than `store` and `run` (NULL: any). */
int run_link_get(struct run_link *out, struct arena *a, struct disk *d, const char *dir,
                 const char *store, const char *run);

/* Rewrites the link with a new folder id. */
int run_link_rename(struct run_link *link, struct disk *d, const char *dir, const char *folder);
/* 32 random digits, a unique id; allocated in a. */
const char *run_link_random(struct arena *a, struct disk *d, const char *dir);

#endif
