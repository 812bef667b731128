/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Of the time between two looks, only the share counts in which threads that were ready had a
 * processor; if no thread was ready, all of it counts. */
#include "backend/proof/proof_watch.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/io.h"

/* Seconds of all threads; 0 if that is not known. */
static double processor_time(pid_t pid)
{
	clockid_t clock;
	struct timespec t;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		return 0;
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether a thread runs, is ready to, waits for a disk, or was stopped. */
static bool is_busy(pid_t pid, const char *thread)
{
	char path[300], text[512];
	snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, thread);
	FILE *f = fopen(path, "r");
	const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	const char *name = strrchr(text, ')');   /* whose end this is; the state follows it */
	return name && name[1] && strchr("RDTt", name[2]) && name[2];
}

static int busy_threads(pid_t pid)
{
	char path[64];
	int n = 0;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d)) != NULL;)
		n += e->d_name[0] != '.' && is_busy(pid, e->d_name);
	if (d)
		closedir(d);
	return n;
}

void proof_watch_begin(struct proof_watch *w, pid_t pid)
{
	*w = (struct proof_watch){ pid, io_seconds(), processor_time(pid), 0 };
}

double proof_watch_spent(struct proof_watch *w)
{
	const double now = io_seconds(), used = processor_time(w->pid), wall = now - w->at;
	const int busy = busy_threads(w->pid);
	w->spent += busy ? fmin(wall, (used - w->used) / busy) : wall;
	w->at = now;
	w->used = used;
	return w->spent;
}
