/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tree of files of a disk in memory, and the changes that calls make to it. A change names its
 * files by number, so that any subset of a list of changes can be applied to an image: what a crash
 * leaves of changes that were not synced. */
#ifndef DLX_TEST_CRASH_SIM_IMAGE_H
#define DLX_TEST_CRASH_SIM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define SIM_NAME 128
#define SIM_ROOT 0

struct sim_entry {
	char name[SIM_NAME];
	int file;                      /* number in the image */
};

struct sim_file {
	bool folder;
	int parent;                    /* of a folder, for ".." */
	int64_t changed;
	uint8_t *data;                 /* of a file */
	size_t size, cap;
	struct sim_entry *entry;       /* of a folder, sorted by name */
	int nentries, entries_cap;
};

struct sim_image {
	struct sim_file *file;         /* number 0: the root folder */
	int n;
};

enum sim_change_kind { SIM_MAKE, SIM_UNLINK, SIM_RENAME, SIM_WRITE, SIM_CUT };

struct sim_change {
	enum sim_change_kind kind;
	bool folder;                   /* whether the file is one */
	int dir, file;                 /* entries: in which folder, what; data: of which file */
	char name[SIM_NAME], from[SIM_NAME];   /* the entry; SIM_RENAME: its name before */
	int from_dir;
	uint64_t at;                   /* of a write; the size that is left by a cut */
	uint8_t *data;                 /* of a write, owned */
	size_t n;
	int64_t time;
	int call;                      /* number of the call that made it */
	int durable;                   /* number of the call that synced it; INT32_MAX: none */
	bool lost;                     /* a sync of it failed: no later one makes it durable */
};

/* A write of which only the first n bytes reached the disk, and the contents of the rest. */
enum sim_tail { SIM_TAIL_NONE, SIM_TAIL_OLD, SIM_TAIL_ZERO, SIM_TAIL_GARBAGE };
struct sim_tear {
	size_t n;
	enum sim_tail tail;            /* SIM_TAIL_NONE: the file ends after n bytes */
};

void sim_image_init(struct sim_image *m);
void sim_image_copy(struct sim_image *to, const struct sim_image *from);
void sim_image_release(struct sim_image *m);
/* Applies c; tear: of a write, NULL for all of it. */
void sim_image_apply(struct sim_image *m, const struct sim_change *c, const struct sim_tear *tear);
/* Forgets files that no name leads to; numbers stay. */
void sim_image_sweep(struct sim_image *m);

/* 0 or an errno. *dir: the folder of the last part of path, whose name is put into name; *file:
 * what it leads to, -1 if there is none. */
int sim_image_find(const struct sim_image *m, const char *path, int *dir, char name[SIM_NAME],
                   int *file);
/* The place of a name in a folder; *there: whether it is. */
int sim_image_entry(const struct sim_file *dir, const char *name, bool *there);
/* A hash of all names and bytes, but those of files with this name (NULL: of all). */
struct hash128 sim_image_hash(const struct sim_image *m, const char *except);
/* Calls f with each file's path and number, in the order of names. */
void sim_image_walk(const struct sim_image *m, void (*f)(void *arg, const char *path, int file),
                    void *arg);

#endif
