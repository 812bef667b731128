/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk in memory (base/disk.h) that keeps apart what is durable and what is not, records every
 * call, can fail any call, and gives the states that a crash may leave.
 *
 * The model is that of ALICE (Pillai et al., OSDI 2014), which allows what any common file system
 * does and no more:
 *   - A synced file has its bytes and its size. A file system may lose any write or truncation that
 *     was not synced, whatever became of later ones, and may keep a part of a write: its first
 *     bytes, with the old content, zeros or garbage after them.
 *   - Syncing a file says nothing of its name. The entries of a folder are durable after a sync of
 *     the folder; until then each of its changes may be lost for itself, and none waits for the
 *     data of the file.
 *   - A rename is one change: the new name leads to the old file or to the new one, and the old
 * name
 *     goes in the same moment. So is each other change of an entry.
 *   - Data whose sync failed is never durable: the system may have dropped its pages, and a later
 * sync
 *     says nothing of them. Entries of a folder whose sync failed wait for the next one.
 * Files that no name leads to are gone after a crash, as are locks and descriptors.
 *
 * A process (sim_process) has descriptors and locks of its own. A process that is killed loses
 * nothing but these. Every function may be called by any thread. */
#ifndef DLX_TEST_CRASH_SIM_DISK_H
#define DLX_TEST_CRASH_SIM_DISK_H

#include "base/disk.h"
#include "sim_image.h"

enum sim_kind {
	SIM_CALL_OPEN, SIM_CALL_MAKE, SIM_CALL_CLOSE, SIM_CALL_PREAD, SIM_CALL_PWRITE,
	SIM_CALL_APPEND, SIM_CALL_SYNC, SIM_CALL_RENAME, SIM_CALL_UNLINK, SIM_CALL_MKDIR,
	SIM_CALL_LOCK, SIM_CALL_STAT, SIM_CALL_LIST, SIM_CALL_CLOCK, SIM_CALLS
};
#define SIM_BIT(kind) (1u << SIM_CALL_##kind)
/* Calls that change the disk; open counts where it makes or empties a file (SIM_CALL_MAKE). */
#define SIM_CHANGES (SIM_BIT(MAKE) | SIM_BIT(PWRITE) | SIM_BIT(APPEND) | SIM_BIT(SYNC) | \
	SIM_BIT(RENAME) | SIM_BIT(UNLINK) | SIM_BIT(MKDIR))
#define SIM_TRANSFERS (SIM_BIT(PREAD) | SIM_BIT(PWRITE) | SIM_BIT(APPEND))
#define SIM_ANY ((1u << SIM_CALLS) - 1 - SIM_BIT(CLOSE) - SIM_BIT(CLOCK))

struct sim_call {
	enum sim_kind kind;
	int process;
	int error;                     /* errno that it returned */
	char path[SIM_NAME];           /* the end of it */
	size_t n;                      /* bytes that it requested */
};

/* Which of a process's calls fail: of those in `kinds` the first `after` succeed, then `times`
 * calls fail. */
struct sim_fault {
	unsigned kinds;
	int after, times;
	int error;                     /* 0: transfers are short instead */
	bool drop;                     /* a sync that fails drops what it should have saved at once */
};

/* What the disk only pretends to do: a test of the tests. */
enum sim_lie {
	SIM_LIE_FOLDERS = 1,           /* a sync of a folder does nothing */
	SIM_LIE_FILES = 2,             /* a sync of a file does nothing */
	SIM_LIE_PACKS = 4,             /* a sync of a pack does nothing: manifests go before them */
};

struct sim {
	struct sim_image base, now;    /* the files before all calls; the files as
	                                * processes see them now */
	struct sim_call *call;
	int ncalls, calls_cap;
	struct sim_change *change;
	int nchanges, changes_cap;
	struct sim_process *process;   /* a list */
	int nprocesses;
	unsigned lies;
	int lock_error;                /* what lock returns without locks; 0: it locks */
	int64_t time, tick;            /* the clock, and what each look at it adds */
	unsigned pause[4];             /* of processes 0..3: microseconds before a call, at most */
	void *mutex;
};

struct sim *sim_new(void);
void sim_free(struct sim *s);      /* and its processes; NULL is fine */
/* A disk as it is now, all of it durable, without processes and without a record of calls. */
struct sim *sim_copy(const struct sim *s);
/* A process's view of the disk, of the sim. */
struct disk *sim_process(struct sim *s);
/* The process has ended: its descriptors and locks are gone. */
void sim_end(struct disk *d);
/* From its call number `calls` on (0: the next) the process is dead: calls fail and do nothing. */
void sim_die_after(struct disk *d, int calls);
void sim_set_fault(struct disk *d, const struct sim_fault *f);    /* NULL: none */
int sim_faults_met(const struct disk *d);                         /* calls that failed by it */

/* What is left by a crash after the first `calls` calls. Of the changes that are pending then,
 * pending[i] = number of a change, those with kept[i] are on the disk; the write `torn` (-1: none)
 * in part. */
struct sim_crash {
	int calls;
	int npending;
	const int *pending;
	const bool *kept;
	int torn;                      /* an index of pending */
	struct sim_tear tear;
	bool backwards;                /* writes of data reach the disk in the opposite order */
};
/* The changes of the first `calls` calls that are not durable then; returns how many. */
int sim_pending(const struct sim *s, int calls, int *out, int max);
struct sim *sim_after(const struct sim *s, const struct sim_crash *c);
/* Says in words what a crash left. */
void sim_describe(struct buf *out, const struct sim *s, const struct sim_crash *c);
/* All files with sizes, a line each. */
void sim_list(struct buf *out, const struct sim *s);

#endif
