/* SPDX-License-Identifier: BSD-3-Clause */
#include "guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

/* bytes that a library reads and unpacks in a second of processor time */
#define SLOWEST 1000000
#define TEMPORARIES 4

/* What io_create of the child has left. */
static void remove_temporaries(const char *output, long child)
{
	char name[4200], *whole = output ? realpath(output, NULL) : NULL;
	for (int i = 0; output && i < TEMPORARIES; i++) {
		snprintf(name, sizeof name, "%s.tmp-%ld-%d", whole ? whole : output, child, i);
		unlink(name);
	}
	free(whole);
}

int guard_run(const char *program, int (*work)(void *arg), void *arg, const char *const *output)
{
	const pid_t parent = getpid(), child = fork();
	int status = 0;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		exit(getppid() == parent ? work(arg) : 1);
	}
	if (child < 0)
		return work(arg);
	while (waitpid(child, &status, 0) < 0)
		;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	remove_temporaries(*output, (long)child);
	if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGPIPE ||
	    WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGHUP) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	ERR(E_DATA, NULL, "a source is damaged: reading it ended by signal %d (%s)", WTERMSIG(status),
	    strsignal(WTERMSIG(status)));
	err_print(stderr, program);
	return err_exit_status(E_DATA);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int calls, threads = 1;
static rlim_t latest;              /* the limit that is set */

void guard_threads(int n)
{
	threads = n;
}

static void set_limit(rlim_t until)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	limit.rlim_cur = until < limit.rlim_max ? until : limit.rlim_max;
	setrlimit(RLIMIT_CPU, &limit);
	latest = until;
}

/* What other threads compute meanwhile counts as well. */
void guard_begin(int64_t seconds, int64_t bytes)
{
	struct rusage used;
	pthread_mutex_lock(&lock);
	if (getrusage(RUSAGE_SELF, &used) == 0) {
		const rlim_t now = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec),
		             until = now + (rlim_t)((seconds + bytes / SLOWEST) * threads);
		if (calls == 0 || until > latest)
			set_limit(until);
	}
	calls++;
	pthread_mutex_unlock(&lock);
}

void guard_end(void)
{
	pthread_mutex_lock(&lock);
	if (--calls == 0)
		set_limit(RLIM_INFINITY);
	pthread_mutex_unlock(&lock);
}
