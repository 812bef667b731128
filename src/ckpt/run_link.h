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
#define RUNS_FOLDER "runs"             /* of a shared store: see run_claim.h */

struct run_link {
	const char *run;
	const char *store;             /* root of the store: dir itself, or the path that was given */
	const char *folder;            /* "": of an earlier dlx */
};

/* The link in the folder dir (RUN/checkpoints, or a store itself). Without run.json it is a store
 * without a run: run "" and store dir. Strings go to a. E_DATA, E_IO. */
int run_link_read(struct run_link *out, struct arena *a, struct disk *d, const char *dir);
/* Makes dir and the link of a new run, whose store is at `store` (NULL, or dir: dir itself). */
int run_link_new(struct run_link *out, struct arena *a, struct disk *d, const char *dir,
                 const char *store);
/* The link that is there, or else a new one. E_CONFIG if the one that is there names another store
 * or run than these; NULL names none. */
int run_link_get(struct run_link *out, struct arena *a, struct disk *d, const char *dir,
                 const char *store, const char *run);

/* The same link with another folder's id, which it is given. */
int run_link_rename(struct run_link *link, struct disk *d, const char *dir, const char *folder);
/* 32 digits that nothing else has, in a. */
const char *run_link_random(struct arena *a, struct disk *d, const char *dir);

#endif
