/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The path of the process's folder is in static memory, since the signal thread may remove the
 * folder at any time. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"

static char folder[4096];
static pid_t writer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int io_scratch(const char **out)
{
	const char *where = getenv("TMPDIR");
	int rc = 0;
	pthread_mutex_lock(&lock);
	if (!folder[0]) {
		snprintf(folder, sizeof folder, "%s/dlx-XXXXXX", where && *where ? where : "/tmp");
		if (!mkdtemp(folder)) {
			rc = ERR(errno == ENOSPC || errno == EDQUOT ? E_IO : E_CANTCREATE, NULL,
			         "cannot make a folder '%s' for temporary files ($TMPDIR): %m", folder);
			folder[0] = '\0';
		}
	}
	pthread_mutex_unlock(&lock);
	*out = folder;
	return rc;
}

void io_scratch_writer(pid_t pid)
{
	pthread_mutex_lock(&lock);
	writer = pid;
	pthread_mutex_unlock(&lock);
}

void io_scratch_remove(void)
{
	const int mark = err_count();
	pthread_mutex_lock(&lock);
	if (writer > 0)
		kill(writer, SIGTERM);
	writer = 0;
	if (folder[0])
		io_remove_tree(folder);
	folder[0] = '\0';
	pthread_mutex_unlock(&lock);
	err_truncate(mark);
}
