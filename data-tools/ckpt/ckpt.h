/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What dlx-ckpt was asked for, the store that it works on, and what its commands share. */
#ifndef DLX_DATA_TOOLS_CKPT_H
#define DLX_DATA_TOOLS_CKPT_H

#include "ckpt/history.h"
#include "ckpt/packs.h"

struct ckpt_tool {
	/* The parsed options. */
	bool json, help, version;
	bool config, drop, dry_run, weights, state, all, first;
	int64_t count;                 /* lines of log at most; 0: all */
	const char *dir;
	int n;                         /* arguments after the command */
	char **arg;
	bool may_be_new;               /* dir need not be there */

	/* Where the store is. */
	struct arena *a;
	struct disk *disk;
	const char *folder;            /* the checkpoints folder of a run; NULL: dir is a store alone */
	const char *run;               /* its id; NULL: none */
	const char *root;              /* of the store; NULL: dir is not there yet */
	struct history history;
	struct packs *packs;           /* NULL until tool_packs */

	int status;                    /* the exit status of a command that went well */
};

/* The commands. Each prints to the standard output. */
int ckpt_log(struct ckpt_tool *t);
int ckpt_search(struct ckpt_tool *t);
int ckpt_show(struct ckpt_tool *t);
int ckpt_verify(struct ckpt_tool *t);
int ckpt_diff(struct ckpt_tool *t);
int ckpt_fork(struct ckpt_tool *t);
int ckpt_tag(struct ckpt_tool *t);
int ckpt_pin(struct ckpt_tool *t);
int ckpt_gc(struct ckpt_tool *t);
int ckpt_export(struct ckpt_tool *t);
int ckpt_import(struct ckpt_tool *t);

/* Opens what dir is: a run's folder, its checkpoints folder, or a store. E_NOINPUT if it is none of
 * these, E_DATA. */
int tool_open(struct ckpt_tool *t);
void tool_close(struct ckpt_tool *t);
/* t->packs; once. */
int tool_packs(struct ckpt_tool *t);
/* The store's path as a run elsewhere has it. */
const char *tool_store(const struct ckpt_tool *t);
/* E_USAGE if the folder of a new run would be within the store. */
int tool_check_folder(const struct ckpt_tool *t, const char *folder);
/* The index of the version that a word of the user names. E_NOINPUT, E_USAGE. */
int tool_find(struct ckpt_tool *t, const char *word, int *out);
/* The whole manifest of version i, in t->a. E_DATA if it is damaged. */
int tool_manifest(struct ckpt_tool *t, int i, struct manifest *out);
/* Whether version i is still there: a run that goes on removes old ones. */
bool tool_has(const struct ckpt_tool *t, int i);
/* Chunk k of a tensor, which *n bytes of p take. E_DATA with tensor, file and what is wrong. */
int tool_read_chunk(struct ckpt_tool *t, const struct manifest_tensor *x, int64_t k, void *p,
                    size_t *n);
/* The config of a version as folder/config.yaml, for the user to change; one that is there stays.
 * *written: whether it is this one. */
int tool_write_config(const struct ckpt_tool *t, const char *folder, const char *config,
                      bool *written);

/* --- text and JSON of a version --- */

/* "2026-11-23 03:20", local time; "-" if not known. */
void put_time(struct buf *b, int64_t seconds);
/* "1.3 GiB" */
void put_bytes(struct buf *b, uint64_t n);
/* "  mean_iou 0.76  loss 0.3": the metric that decides, then the others. */
void put_metrics(const struct manifest *m, struct buf *b);
/* "  (last, tag: paper, pinned)": what else version i is called; nothing if it is not. */
void put_names(const struct ckpt_tool *t, int i, struct buf *b);
/* A line about version i, without its end. */
void put_version(const struct ckpt_tool *t, int i, struct buf *b);
/* Members of an object, without its braces. */
void put_version_json(const struct ckpt_tool *t, int i, struct buf *b);
void put_json_text(struct buf *b, const char *key, const char *text);   /* , "key": "text" */
/* Writes b to the standard output and clears it. */
void print_buf(struct buf *b);

#endif
