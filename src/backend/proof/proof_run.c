/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both sides of proofs in separate processes: the run that starts them, and the process that tests
 * kernels. The cases are in a file without a name, which the process has as its standard input; its
 * third descriptor is a pipe of lines, one before each case ("begin 5") and one after it ("end 5 0
 * 0 64 0.02": fault, wrong, of, worst). Whatever a kernel does to its process, the case that was
 * begun last has done it, and another process goes on after it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/device.h"
#include "backend/proof/passed.h"
#include "backend/proof/proof.h"
#include "backend/proof/proof_watch.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/isa.h"
#include "base/mem.h"
#include "base/signals.h"

static bool enabled;

void proof_enable(void)
{
	enabled = true;
}

bool proof_enabled(void)
{
	return enabled;
}

#define RESULTS 3                /* the descriptor of the pipe */

struct head {
	int64_t bytes;               /* size of a case in bytes, to check that both processes run the
	                              * same program */
	int ncase, npassed, isa;
};

struct given {
	uint64_t problem;
	char impl[64];
};

/* --- the cases as a file --- */

static void write_cases(struct buf *out, const struct proof_case *c, int n)
{
	const struct head h = { sizeof *c, n, passed_count(), (int)isa_cap() };
	buf_add(out, &h, sizeof h);
	for (int i = 0; i < h.npassed; i++) {
		struct given g = { passed_at(i)->problem, "" };
		snprintf(g.impl, sizeof g.impl, "%s", passed_at(i)->impl);
		buf_add(out, &g, sizeof g);
	}
	buf_add(out, c, sizeof *c * (size_t)n);
}

/* A descriptor of a file with these bytes. */
static int nameless_file(const struct buf *text, int *fd)
{
	*fd = memfd_create("dlx-proof", MFD_CLOEXEC);
	if (*fd < 0)
		return ERR(E_UNAVAILABLE, NULL, "no file for it: %m");
	if (write(*fd, text->data, text->len) == (ssize_t)text->len)
		return 0;
	close(*fd);
	*fd = -1;
	return ERR(E_UNAVAILABLE, NULL, "no room for it: %m");
}

/* --- the run, which starts the process --- */

struct prover {
	pid_t pid;
	int fd;                      /* read end of the pipe of its results */
	struct buf text;             /* results that are not parsed yet */
};

/* This process's variables, with the threads of the run. Freed by mem_free, as is threads. */
static char **variables(int n, char **threads)
{
	static const char name[] = "OMP_NUM_THREADS=";
	struct buf text = BUF_INIT;
	int count = 0, k = 0;
	while (environ[count])
		count++;
	char **v = mem_calloc((size_t)count + 2, sizeof *v);
	buf_printf(&text, "%s%d", name, n);
	v[k++] = *threads = buf_detach(&text);
	for (int i = 0; i < count; i++)
		if (strncmp(environ[i], name, sizeof name - 1) != 0)
			v[k++] = environ[i];
	return v;
}

static int spawn(struct prover *p, int cases, int results, int first, int threads)
{
	char from[16], *setting;
	char *argv[] = { (char *)"dlx-train", (char *)PROOF_OPTION, from, NULL };
	char **env = variables(threads, &setting);
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	snprintf(from, sizeof from, "%d", first);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, cases, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, results, RESULTS);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	signals_spawn(&how);
	const int failed = lseek(cases, 0, SEEK_SET) < 0 ? errno :
	                   posix_spawn(&p->pid, "/proc/self/exe", &files, &how, argv, env);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	mem_free(env);
	mem_free(setting);
	return failed ? ERR(E_UNAVAILABLE, NULL, "%s", strerror(failed)) : 0;
}

static int start(struct prover *p, int cases, int first, int threads)
{
	int fd[2];
	if (pipe2(fd, O_CLOEXEC) < 0)
		return ERR(E_UNAVAILABLE, NULL, "no pipe: %m");
	const int rc = spawn(p, cases, fd[1], first, threads);
	close(fd[1]);
	p->fd = fd[0];
	if (rc < 0)
		close(fd[0]);
	return rc;
}

/* Ends it if it has not ended. Returns how it ended. */
static int finish(struct prover *p, bool hangs)
{
	int status = 0;
	if (hangs)
		kill(p->pid, SIGKILL);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(p->fd);
	buf_clear(&p->text);
	return status;
}

#define LOOK 0.5                 /* seconds between two looks at what it does, at most */

/* The next line; false: it has ended, or *hangs. */
static bool next_line(struct prover *p, double seconds, char *line, size_t n, bool *hangs)
{
	struct proof_watch watch;
	char *newline;
	proof_watch_begin(&watch, p->pid);
	while (!p->text.len || !(newline = memchr(p->text.data, '\n', p->text.len))) {
		char part[512];
		struct pollfd in = { .fd = p->fd, .events = POLLIN };
		const bool waits = poll(&in, 1, (int)(1e3 * fmin(LOOK, seconds / 4)) + 1) == 0;
		*hangs = waits && proof_watch_spent(&watch) > seconds;
		if (*hangs)
			return false;
		if (waits)
			continue;
		const ssize_t got = read(p->fd, part, sizeof part);
		if (got > 0)
			buf_add(&p->text, part, (size_t)got);
		else if (got == 0 || errno != EINTR)
			return false;
	}
	const size_t length = (size_t)(newline - p->text.data);
	snprintf(line, n, "%.*s", (int)length, p->text.data);
	memmove(p->text.data, newline + 1, p->text.len - length - 1);
	p->text.len -= length + 1;
	return true;
}

#define PATIENCE 30.0            /* seconds that a case may take, */
#define SLOWEST 1e9              /* and in addition its flops at this rate */

static double patience(const struct proof_case *c)
{
	struct graph *g;
	struct plan_env env;
	const int mark = err_count();
	double flops = 0;
	if (proof_case_graph(c, &g, &env) == 0) {
		flops = op_cost(g, g->node[0]).flops;
		graph_free(g);
	}
	err_truncate(mark);
	return debug.proof_seconds > 0 ? debug.proof_seconds : PATIENCE + 4 * flops / SLOWEST;
}

/* SIGKILL comes from the system, for instance when memory runs out, and an exit is dlx's own:
 * neither is a fault of the kernel. */
static enum proof_fault how_ended(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL ? PROOF_CRASH : PROOF_UNKNOWN;
}

/* Reads one process's results from case *at on; *at: the first that has none. E_UNAVAILABLE: it
 * began no case. */
static int read_results(struct prover *p, const struct proof_case *c, int n,
                        struct proof_verdict *verdict, int *at)
{
	char line[160];
	bool hangs = false, began = false;
	const int first = *at;
	while (*at < n && next_line(p, patience(&c[*at]), line, sizeof line, &hangs)) {
		struct proof_verdict v = { PROOF_NONE, 0, 0, 0 };
		int i, fault;
		if (sscanf(line, "begin %d", &i) == 1)
			began = i == *at;
		if (sscanf(line, "end %d %d %" SCNd64 " %" SCNd64 " %lf", &i, &fault, &v.wrong, &v.of,
		           &v.worst) != 5 || i != *at || fault < 0 || fault >= PROOF_FAULTS)
			continue;
		v.fault = (enum proof_fault)fault;
		verdict[(*at)++] = v;
		began = false;
	}
	const int status = finish(p, *at < n);
	if (*at == n)
		return 0;
	if (!began && *at == first)
		return ERR(E_UNAVAILABLE, NULL, "it ended with status %d before the first kernel",
		           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (began)
		verdict[(*at)++].fault = hangs ? PROOF_HANG : how_ended(status);
	return 0;
}

int proof_run(const struct proof_case *c, int n, struct proof_verdict *verdict)
{
	struct buf text = BUF_INIT;
	struct prover p = { .text = BUF_INIT };
	int cases, rc;
	BUG_IF(!enabled, "this program cannot prove kernels");
	write_cases(&text, c, n);
	rc = nameless_file(&text, &cases);
	buf_release(&text);
	for (int at = 0; rc == 0 && at < n;) {
		rc = start(&p, cases, at, c[at].threads);
		if (rc == 0)
			rc = read_results(&p, c, n, verdict, &at);
	}
	if (cases >= 0)
		close(cases);
	buf_release(&p.text);
	return rc < 0 ? err_context(rc, "while starting a process that proves kernels") : 0;
}

/* --- the process that tests --- */

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	char line[160];
	va_list ap;
	va_start(ap, fmt);
	const int n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (write(RESULTS, line, (size_t)n) != n)
		_exit(1);            /* the pipe is closed: the run has ended */
}

static void prove_one(struct proof_bench *b, struct device *dev, const struct proof_case *c, int i)
{
	struct proof_verdict v = { PROOF_NONE, 0, 0, 0 };
	say("begin %d\n", i);
	if (proof_bench_run(b, dev, c, &v) < 0)
		v = (struct proof_verdict){ .fault = PROOF_UNKNOWN };
	err_clear();
	say("end %d %d %" PRId64 " %" PRId64 " %g\n", i, (int)v.fault, v.wrong, v.of,
	    isfinite(v.worst) ? v.worst : 1e300);
}

static int prove_all(const struct buf *text, int first)
{
	const struct head *h = (const void *)text->data;
	struct device *dev;
	if (text->len < sizeof *h || h->bytes != sizeof(struct proof_case) ||
	    text->len != sizeof *h + sizeof(struct given) * (size_t)h->npassed +
	                 sizeof(struct proof_case) * (size_t)h->ncase)
		return ERR(E_DATA, NULL, "the cases are not those of this program");
	const struct given *g = (const void *)(h + 1);
	struct proof_case *c = mem_alloc(sizeof *c * (size_t)h->ncase);
	memcpy(c, g + h->npassed, sizeof *c * (size_t)h->ncase);
	if (debug.spoil && strncmp(debug.spoil, "start:", 6) == 0)
		return ERR(E_UNAVAILABLE, NULL, "a test wants this process to fail");
	isa_lower((enum isa)h->isa);
	for (int i = 0; i < h->npassed; i++)
		passed_add(&(struct passed){ g[i].problem, g[i].impl, "", "" });
	int rc = device_open(&dev, "cpu");
	struct proof_bench *b = proof_bench_new();
	for (int i = first; i < h->ncase && rc == 0; i++)
		prove_one(b, dev, &c[i], i);
	proof_bench_free(b);
	if (rc == 0)
		device_close(dev);
	mem_free(c);
	return rc;
}

int proof_main(int first)
{
	struct buf text = BUF_INIT;
	enabled = false;                 /* it starts no further ones */
	memset(debug.fault, 0, sizeof debug.fault);      /* fault injection is meant for the run, not
	                                                  * for this process */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int rc = io_read_file("/proc/self/fd/0", &text);
	if (rc == 0)
		rc = prove_all(&text, first);
	buf_release(&text);
	return err_exit_status(rc);
}
