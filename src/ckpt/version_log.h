/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RUN/checkpoints/log: the history of the run's versions, one JSON object per line:
 *
 *   {"time": 1764000000, "event": "saved", "id": "000000000040-9f3c2a51"}
 *
 * saved: the version became durable; removed: by the keep policy; resumed: a process continues from
 * it; ended: a process has completed all its work. Lines are only appended, and each is synced. A
 * line that a crash has left incomplete is ended by the next line and ignored. */
#ifndef DLX_CKPT_VERSION_LOG_H
#define DLX_CKPT_VERSION_LOG_H

#include "base/disk.h"

#define VERSION_LOG_FILE "log"

enum version_log_event {
	VERSION_LOG_SAVED, VERSION_LOG_REMOVED, VERSION_LOG_RESUMED, VERSION_LOG_ENDED
};

/* id: NULL if the event has none. */
int version_log_add(struct disk *d, const char *dir, enum version_log_event event, const char *id);
/* How many processes have continued from version id since a process of the run last saved or
 * completed; 0 if there is no log. */
int version_log_failures(struct disk *d, const char *dir, const char *id);
/* Whether the log says that version id (NULL: any) was saved. */
bool version_log_saved(struct disk *d, const char *dir, const char *id);

#endif
