/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
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

/* Signals that end the parent go to the child, which removes what it has begun; SIGKILL cannot, so
 * that the child has it from the kernel. */
static const int forwarded[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };

static void block(sigset_t *old)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, old);
}

static int await(pid_t child)
{
	sigset_t set;
	int status = 0, which;
	pid_t ended;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
		sigaddset(&set, forwarded[i]);
	while ((ended = waitpid(child, &status, WNOHANG)) == 0)
		if (sigwait(&set, &which) == 0 && which != SIGCHLD)
			kill(child, which);
	return ended == child ? status : 0;
}

static bool is_request(int sig)
{
	bool is = sig == SIGKILL || sig == SIGPIPE;
	for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
		is |= sig == forwarded[i];
	return is;
}

int guard_run(const char *program, int (*work)(void *arg), void *arg, void (*crashed)(void))
{
	sigset_t old;
	block(&old);
	const pid_t parent = getpid(), child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_SETMASK, &old, NULL);
		exit(getppid() == parent ? work(arg) : 1);
	}
	if (child < 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		return work(arg);
	}
	const int status = await(child);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (is_request(WTERMSIG(status))) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	crashed();
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
