/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RUN/checkpoints/log: what happened to the run's versions, a line of JSON each:
 *
 *   {"time": 1764000000, "event": "saved", "id": "000000000040-9f3c2a51"}
 *
 * saved: became durable; removed: by the keep policy; resumed: a process goes on from it; ended: a
 * process has done all that it was to do. Lines are only added, each synced; one that a crash has
 * torn is ended by the next one and means nothing. */
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
