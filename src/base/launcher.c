/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two tables: launchers, which start processes and number them, and schedulers, which give jobs
 * their time. Launchers come first
 * that others start: an mpiexec inside a Slurm job has its daemons started by srun, whose numbers
 * are the daemons'.
 *
 * LSF and PBS have no documented variable with the end of a job; scripts set DLX_JOB_END there. */
#include "base/launcher.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

#include "base/host.h"
#include "base/log.h"
#include "base/signals.h"

#define PATIENCE 5             /* seconds to wait for a scheduler's answer */

extern char **environ;

/* --- launchers --- */

struct launcher {
	const char *name, *rank, *size, *local_rank, *local_size, *host, *hosts;
	const char *per_host;        /* the processes of each host, in Slurm's form: "4(x3),2" */
};
static const struct launcher launchers[] = {
	{ "open mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	  "OMPI_COMM_WORLD_LOCAL_SIZE", NULL, NULL, NULL },
	{ "mvapich", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
	  "MV2_COMM_WORLD_LOCAL_SIZE", NULL, NULL, NULL },
	/* LSF's jsrun. */
	{ "jsm", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
	  "JSM_NAMESPACE_LOCAL_SIZE", NULL, NULL, NULL },
	{ "flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL, NULL,
	  "FLUX_JOB_NNODES", NULL },
	/* Before Slurm, but only with the numbers on the host, which srun's PMI does not give. */
	{ "hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL, NULL, NULL },
	/* A batch script has SLURM_PROCID too; only what srun started has a step with tasks. */
	{ "slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, "SLURM_NODEID",
	  "SLURM_STEP_NUM_NODES", "SLURM_STEP_TASKS_PER_NODE" },
	{ "pmi", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", NULL, NULL, NULL },
};
#define NLAUNCHERS (sizeof launchers / sizeof *launchers)

/* Entry `at` of a list such as "4(x3),2", or -1. */
static int entry(const char *list, int at)
{
	while (list && *list >= '0' && *list <= '9') {
		char *end;
		long n = strtol(list, &end, 10), times = 1;
		if (strncmp(end, "(x", 2) == 0) {
			times = strtol(end + 2, &end, 10);
			end += *end == ')';
		}
		if (n > INT_MAX || times < 1 || times > INT_MAX)
			return -1;
		if (at < times)
			return (int)n;
		at -= (int)times;
		list = *end == ',' ? end + 1 : NULL;
	}
	return -1;
}

static bool place_by(const struct launcher *l, struct launcher_place *p)
{
	*p = (struct launcher_place){ l->name, host_number(l->rank), host_number(l->size),
		host_number(l->local_rank), host_number(l->local_size), host_number(l->host),
		host_number(l->hosts), l->rank };
	if (l->per_host && p->host >= 0)
		p->local_size = entry(getenv(l->per_host), p->host);
	if (p->local_rank < 0 || (p->local_size >= 0 && p->local_rank >= p->local_size))
		p->local_rank = p->local_size = -1;
	return p->rank >= 0 && p->rank < p->size && (strcmp(l->name, "hydra") != 0 ||
	                                             p->local_rank >= 0);
}

void launcher_place(struct launcher_place *out)
{
	for (size_t i = 0; i < NLAUNCHERS; i++)
		if (place_by(&launchers[i], out))
			return;
	*out = (struct launcher_place){ NULL, 0, 1, 0, 1, 0, 1, NULL };
}

/* --- schedulers --- */

struct scheduler {
	const char *name, *id, *element;
	const char *restarts;        /* variable: the number of restarts, or "Y" */
	const char *end;             /* variable: when the job ends, seconds since 1970 */
	const char *ask[7];          /* command that prints the time left; "" stands for the job's id */
};
static const struct scheduler schedulers[] = {
	/* Slurm provides the end from version 23 on. */
	{ "slurm", "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_JOB_END_TIME",
	  { "squeue", "-h", "-j", "", "-o", "%L", NULL } },
	{ "flux", "FLUX_JOB_ID", NULL, NULL, NULL, { "flux", "job", "timeleft", NULL } },
	{ "lsf", "LSB_JOBID", "LSB_JOBINDEX", "LSB_RESTART", NULL, { NULL } },
	{ "pbs", "PBS_JOBID", "PBS_ARRAY_INDEX", NULL, NULL, { NULL } },
};
#define NSCHEDULERS (sizeof schedulers / sizeof *schedulers)

static const struct scheduler *scheduler(void)
{
	for (size_t i = 0; i < NSCHEDULERS; i++)
		if (getenv(schedulers[i].id))
			return &schedulers[i];
	return NULL;
}

bool launcher_job(struct launcher_job *out)
{
	const struct scheduler *s = scheduler();
	if (!s)
		return false;
	const char *element = s->element ? getenv(s->element) : NULL,
	           *again = s->restarts ? getenv(s->restarts) : NULL;
	/* LSF has element 0 for what is no array. */
	bool array = element && *element && !(strcmp(s->name, "lsf") == 0 && strcmp(element, "0") == 0);
	int n = host_number(s->restarts);
	*out = (struct launcher_job){ s->name, getenv(s->id), array ? element : NULL,
		n > 0 ? n : again && *again == 'Y' };
	return true;
}

/* --- time --- */

/* [days-][hours:]minutes:seconds, or seconds alone;
 * INFINITY for what is none of it ("UNLIMITED"). */
static double duration(const char *text)
{
	char *end;
	double n = strtod(text, &end), days = 0;
	if (end == text || !(n >= 0))
		return INFINITY;
	if (*end == '-') {
		days = n;
		n = strtod(end + 1, &end);
	}
	while (*end == ':')
		n = 60 * n + strtod(end + 1, &end);
	return *end && *end != '\n' ? INFINITY : 86400 * days + n;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One line from a file descriptor, until `deadline`. */
static void read_line(int fd, char *line, size_t size, double deadline)
{
	size_t have = 0;
	while (have + 1 < size && !memchr(line, '\n', have)) {
		struct pollfd p = { fd, POLLIN, 0 };
		double left = deadline - now();
		ssize_t n = left > 0 && poll(&p, 1, (int)(1000 * left) + 1) > 0 ?
		            read(fd, line + have, size - 1 - have) : 0;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	line[have] = '\0';
}

/* The first line that a command prints; "" if it cannot be had in time. */
static void ask(char *const argv[], char *line, size_t size)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	int fd[2], status;
	pid_t pid;
	line[0] = '\0';
	if (pipe2(fd, O_CLOEXEC) < 0)
		return;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	signals_spawn(&how);
	int failed = posix_spawnp(&pid, argv[0], &files, &how, argv, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	close(fd[1]);
	if (!failed) {
		read_line(fd[0], line, size, now() + PATIENCE);
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(fd[0]);
}

static double asked(const struct scheduler *s)
{
	char *argv[8] = { NULL }, line[64];
	for (int i = 0; s->ask[i]; i++)
		argv[i] = (char *)(s->ask[i][0] ? s->ask[i] : getenv(s->id));
	if (!argv[0])
		return INFINITY;
	ask(argv, line, sizeof line);
	return duration(line);
}

/* Seconds until the time in a variable; -1 if it has none. */
static double until(const char *name)
{
	const char *text = name ? getenv(name) : NULL;
	char *end;
	double t = text ? strtod(text, &end) : NAN;
	return t > 0 && *end == '\0' ? fmax(0, t - now()) : -1;
}

double launcher_time_left(void)
{
	const struct scheduler *s = scheduler();
	const char *said = getenv("DLX_JOB_END");
	double left = until("DLX_JOB_END");
	if (left < 0 && said && *said)
		warn("DLX_JOB_END is '%s', not the seconds since 1970 at which the job ends: it does not "
		     "count", said);
	if (left < 0 && s)
		left = until(s->end);
	return left >= 0 ? left : s ? asked(s) : INFINITY;
}
