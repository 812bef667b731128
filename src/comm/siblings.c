/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Siblings have the same parent, which is the launcher's process on the host: it has no rank in
 * its environment itself, as a shell between the two has. */
#include "comm/siblings.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/launcher.h"

struct sibling {
	int pid, rank;               /* rank: -1 if its environment does not contain it */
	char state;                  /* state letter of /proc/PID/stat */
	char program[256];           /* "" where it cannot be seen */
};

/* Reads a file of /proc, whose text may hold '\0'. False where there is none, or it is another
 * user's. */
static bool read_proc(int pid, const char *file, struct buf *out)
{
	char path[64];
	int mark = err_count();
	snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
	buf_clear(out);
	int rc = io_read_file(path, out);
	err_truncate(mark);
	return rc == 0;
}

static void read_program(int pid, char *out, size_t n)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	ssize_t length = readlink(path, out, n - 1);
	out[length > 0 ? length : 0] = '\0';
}

static int read_rank(int pid, const char *variable, struct buf *text)
{
	size_t n = strlen(variable);
	if (!read_proc(pid, "environ", text))
		return -1;
	for (const char *p = text->data; p < text->data + text->len; p += strlen(p) + 1)
		if (strncmp(p, variable, n) == 0 && p[n] == '=')
			return atoi(p + n + 1);
	return -1;
}

/* False if the process is no child of `parent`, or a zombie. */
static bool read_sibling(int pid, int parent, const char *variable, struct sibling *out,
                         struct buf *text)
{
	int its;
	if (!read_proc(pid, "stat", text))
		return false;
	const char *end = strrchr(text->data, ')');
	if (!end || sscanf(end + 1, " %c %d", &out->state, &its) != 2 || its != parent ||
	    out->state == 'Z')
		return false;
	out->pid = pid;
	out->rank = read_rank(pid, variable, text);
	read_program(pid, out->program, sizeof out->program);
	return true;
}

static void tell(const struct sibling *s, const char *mine, struct buf *out)
{
	bool stopped = s->state == 'T' || s->state == 't', other = s->program[0] &&
	               strcmp(s->program, mine) != 0;
	if (!stopped && !other)
		return;
	buf_printf(out, "; rank %d (process %d) is ", s->rank, s->pid);
	if (other)
		buf_printf(out, "'%s'%s", s->program, stopped ? " and " : "");
	if (stopped)
		buf_puts(out, "stopped");
}

/* Appends how many of the processes that the launcher started on this host have ended. all is 0 if
 * the launcher does not say how many it started; then nothing is appended. */
static void tell_ended(int there, int all, struct buf *out)
{
	int ended = all - there;
	if (ended > 0)
		buf_printf(out, "; %d of the %d ranks of this host ha%s ended", ended, all,
		           ended == 1 ? "s" : "ve");
}

void siblings_text(struct buf *out)
{
	struct launcher_place place;
	struct buf text = BUF_INIT;
	struct sibling s;
	struct dirent *e;
	char mine[sizeof s.program];
	int there = 1, parent = getppid();
	launcher_place(&place);
	DIR *proc = place.variable && read_rank(parent, place.variable, &text) < 0 ? opendir("/proc") :
	            NULL;
	read_program(getpid(), mine, sizeof mine);
	while (proc && (e = readdir(proc)) != NULL) {
		int pid = atoi(e->d_name);
		if (pid <= 0 || pid == getpid() || !read_sibling(pid, parent, place.variable, &s, &text) ||
		    s.rank < 0)
			continue;
		there++;
		tell(&s, mine, out);
	}
	if (proc) {
		tell_ended(there, place.local_size, out);
		closedir(proc);
	}
	buf_release(&text);
}
