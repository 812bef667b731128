/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Engines by problem: equal convolutions, of one plan or of several, ask once and share what was
 * built. cuDNN compiles some engines at run time, which takes the better part of a second each. */
#ifndef DLX_BACKEND_CUDNN_SHARED_H
#define DLX_BACKEND_CUDNN_SHARED_H

#include "backend/cudnn_engine.h"

/* What was answered to one question. */
struct cudnn_shared {
	char *question;
	bool found;                  /* false: no engine */
	int users;                   /* of the engine */
	struct cudnn_set graph;
	struct cudnn_engine engine;  /* plan NULL: it is not there, only what is known of it */
};

struct cudnn_table {
	struct cudnn_shared **line;  /* in order */
	int n, cap;
};

/* NULL: nobody has asked. */
struct cudnn_shared *cudnn_shared_find(const struct cudnn_table *t, const char *question);
/* A new line, or the one that is there. */
struct cudnn_shared *cudnn_shared_add(struct cudnn_table *t, const char *question);
/* Its engine stays for others who ask, until the table is trimmed. */
void cudnn_shared_leave(struct cudnn_shared *s);
/* Its engine goes; what is known of it stays. */
void cudnn_shared_drop(struct cudnn_shared *s);
/* Engines without users go. */
void cudnn_table_trim(struct cudnn_table *t);
void cudnn_table_release(struct cudnn_table *t);

#endif
