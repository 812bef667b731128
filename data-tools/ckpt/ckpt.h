/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of dlx-ckpt, the store that it works on, and functions shared by its commands. */
#ifndef DLX_DATA_TOOLS_CKPT_H
#define DLX_DATA_TOOLS_CKPT_H

#include "ckpt/history.h"
#include "ckpt/packs.h"

struct ckpt_tool {
	/* The parsed options. */
	bool json, help, version;
	bool config, drop, dry_run, weights, state, all, first;
	int64_t count;                 /* largest number of lines of `log`; 0: all */
	const char *dir;
	int n;                         /* number of arguments after the command */
	char **arg;
	bool may_be_new;               /* dir need not exist */

	/* The store. */
	struct arena *a;
	struct disk *disk;
	const char *folder;            /* the checkpoints folder of a run; NULL: dir is a store without
	                                * a run */
	const char *run;               /* id of the run; NULL: none */
	const char *root;              /* path of the store; NULL: dir does not exist yet */
	struct history history;
	struct packs *packs;           /* NULL until tool_packs */

	int status;                    /* exit status of a command that succeeded */
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

/* Opens dir, which is a run's folder, its checkpoints folder, or a store. E_NOINPUT if it is none
 * of these; E_DATA. */
int tool_open(struct ckpt_tool *t);
void tool_close(struct ckpt_tool *t);
/* Reads t->packs, on the first call. */
int tool_packs(struct ckpt_tool *t);
/* The store's path for use in another run's config. */
const char *tool_store(const struct ckpt_tool *t);
/* E_USAGE if the folder of a new run would be within the store. */
int tool_check_folder(const struct ckpt_tool *t, const char *folder);
/* Sets *out to the index of the version that the user's word names. E_NOINPUT, E_USAGE. */
int tool_find(struct ckpt_tool *t, const char *word, int *out);
/* Reads the whole manifest of version i into arena t->a. E_DATA if it is damaged. */
int tool_manifest(struct ckpt_tool *t, int i, struct manifest *out);
/* Whether version i still exists: a running training may remove old versions. */
bool tool_has(const struct ckpt_tool *t, int i);
/* Reads chunk k of a tensor to p, and sets *n to its bytes. E_DATA with the tensor, the file and
 * the damage. */
int tool_read_chunk(struct ckpt_tool *t, const struct manifest_tensor *x, int64_t k, void *p,
                    size_t *n);
/* Writes a version's config to folder/config.yaml, unless that exists. *written: whether it was
 * written. */
int tool_write_config(const struct ckpt_tool *t, const char *folder, const char *config,
                      bool *written);

/* --- text and JSON of a version --- */

/* Appends "2026-11-23 03:20", in local time; "-" if not known. */
void put_time(struct buf *b, int64_t seconds);
/* Appends "1.3 GiB". */
void put_bytes(struct buf *b, uint64_t n);
/* Appends metrics like "mean_iou 0.76", each after two spaces: first the metric that chooses the
 * best version, then the others. */
void put_metrics(const struct manifest *m, struct buf *b);
/* Appends the other names of version i, as "(last, tag: paper, pinned)" after two spaces; nothing
 * if it has none. */
void put_names(const struct ckpt_tool *t, int i, struct buf *b);
/* Appends a line about version i, without a line break. */
void put_version(const struct ckpt_tool *t, int i, struct buf *b);
/* Appends members of a JSON object, without braces. */
void put_version_json(const struct ckpt_tool *t, int i, struct buf *b);
void put_json_text(struct buf *b, const char *key, const char *text);   /* , "key": "text" */
/* Writes b to the standard output and clears it. */
void print_buf(struct buf *b);

#endif
