/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict/convert_program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"

#define PROGRAM "dlx-convert"

extern char **environ;

static void find_program(char path[4096])
{
	const ssize_t n = readlink("/proc/self/exe", path, 4096 - sizeof PROGRAM);
	char *slash;
	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		strcpy(slash + 1, PROGRAM);
	if (!slash || access(path, X_OK) != 0)
		strcpy(path, PROGRAM);
}

void convert_program_add(struct convert_program *c, const char *word)
{
	c->v = mem_realloc(c->v, ((size_t)c->n + 2) * sizeof *c->v);
	c->v[c->n++] = mem_strdup(word);
	c->v[c->n] = NULL;
}

void convert_program_release(struct convert_program *c)
{
	for (int i = 0; i < c->n; i++)
		mem_free(c->v[i]);
	mem_free(c->v);
	*c = (struct convert_program){ 0 };
}

void convert_program_option(struct convert_program *c, const char *name, const char *value)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, "--%s=%s", name, value);
	convert_program_add(c, b.data);
	buf_release(&b);
}

void convert_program_new(struct convert_program *c)
{
	char program[4096];
	*c = (struct convert_program){ 0 };
	find_program(program);
	convert_program_add(c, program);
}

/* --- what it says --- */

static const char *without_name(const char *line)
{
	const size_t n = sizeof PROGRAM ": " - 1;
	return strncmp(line, PROGRAM ": ", n) == 0 ? line + n : NULL;
}

static int failure_code(int status)
{
	static const int codes[] = { E_USAGE, E_DATA, E_NOINPUT, E_UNAVAILABLE, E_CANTCREATE, E_IO };
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (WIFEXITED(status) && err_exit_status(codes[i]) == WEXITSTATUS(status))
			return codes[i];
	return E_DATA;
}

/* The last line with the program's name is the error; lines without it are its context. */
static int tell(char *text, int status)
{
	static const char warning[] = "warning: ";
	const bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	char *error = NULL, *next;
	int rc = 0;
	for (char *line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		const char *said = without_name(line);
		if (said && strncmp(said, warning, sizeof warning - 1) == 0) {
			warn("%s", said + sizeof warning - 1);
			continue;
		}
		if (said && error)
			note("%s", error);
		if (said)
			error = line + (said - line);
		else if (rc == 0 && failed && error)
			rc = ERR(failure_code(status), NULL, "%s", error);
		if (!said && rc < 0)
			err_context(rc, "%s", line + strspn(line, " "));
	}
	if (!failed && error)
		note("%s", error);
	if (failed && rc == 0)
		rc = ERR(failure_code(status), NULL, "%s", error ? error : PROGRAM " has failed");
	return rc;
}

static void read_all(int fd, struct buf *out)
{
	char part[4096];
	ssize_t n;
	while ((n = read(fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			buf_add(out, part, (size_t)n);
}

/* Until the child has ended; its number stays taken. */
static void await_end(pid_t pid)
{
	siginfo_t info;
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
}

int convert_program_run(struct convert_program *c)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	struct buf said = BUF_INIT;
	int fd[2], status = 0, rc;
	pid_t pid;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return ERR(E_UNAVAILABLE, NULL, "cannot start " PROGRAM ": %m");
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd[1], STDERR_FILENO);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	signals_spawn(&how);
	const int failed = posix_spawnp(&pid, c->v[0], &files, &how, c->v, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	close(fd[1]);
	if (failed) {
		rc = ERR(E_UNAVAILABLE, NULL, "cannot start '%s', which reads files that are no records: "
		         "%s", c->v[0], strerror(failed));
	} else {
		io_scratch_writer(pid);
		read_all(fd[0], &said);
		await_end(pid);
		io_scratch_writer(0);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (status)
			signals_await_end(WIFSIGNALED(status));
		rc = tell(said.data, status);
	}
	close(fd[0]);
	buf_release(&said);
	return rc;
}

void convert_program_text(const struct convert_program *c, struct buf *out)
{
	buf_puts(out, PROGRAM);
	for (int i = 1; i < c->n; i++) {
		buf_putc(out, ' ');
		buf_shell_word(out, c->v[i]);
	}
}
