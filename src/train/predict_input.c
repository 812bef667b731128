/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-convert is found beside this program, else by PATH. What it says is said again: its notes and
 * warnings as they are, and, where it fails, the rest as the error. */
#include "train/predict_input.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file_kind.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "train/ranks.h"

#define PROGRAM "dlx-convert"
#define RECORDS "samples.dlx"
#define FIRST_RECORD "samples-000000.dlx"
#define PATTERN "samples-*.dlx"

extern char **environ;

/* --- the command --- */

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

struct command {
	int n;
	char **v;
};

static void add(struct command *c, const char *word)
{
	c->v = mem_realloc(c->v, ((size_t)c->n + 2) * sizeof *c->v);
	c->v[c->n++] = mem_strdup(word);
	c->v[c->n] = NULL;
}

static void release(struct command *c)
{
	for (int i = 0; i < c->n; i++)
		mem_free(c->v[i]);
	mem_free(c->v);
}

/* Its inputs are told from options by '='. */
static void add_option(struct command *c, const char *name, const char *value)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, "--%s=%s", name, value);
	add(c, b.data);
	buf_release(&b);
}

static int describe(const struct session *s, const char *folder, char **path)
{
	struct buf text = BUF_INIT;
	*path = NULL;
	if (!s->train_set)
		return 0;
	dataset_describe(s->train_set, &text);
	*path = io_join(folder, "trained-on.json");
	int rc = io_write_file(*path, text.data, text.len);
	buf_release(&text);
	return rc;
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

static int run(struct command *c)
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

/* Into the records of a new folder. */
static int convert(const struct session *s, const struct texts *given, const char *layout,
                   bool quiet, char **folder)
{
	char program[4096], *like;
	const char *scratch;
	struct command c = { 0 };
	TRY(io_scratch(&scratch));
	*folder = mem_strdup(scratch);
	TRY(describe(s, scratch, &like));
	find_program(program);
	add(&c, program);
	add(&c, "--separate");
	for (int i = 0; i < given->n; i++)
		add_option(&c, "input", given->v[i]);
	if (like)
		add_option(&c, "like", like);
	if (layout)
		add_option(&c, "input-layout", layout);
	if (dataset_matches_by_index())
		add_option(&c, "match", "index");
	if (quiet)
		add(&c, "--quiet");
	add_option(&c, "level", "1");
	char *out = io_join(scratch, RECORDS);
	add_option(&c, "output", out);
	int rc = run(&c);
	mem_free(out);
	mem_free(like);
	release(&c);
	return rc;
}

/* --- what is given --- */

/* Whether the first file that a text stands for is a record; missing files are taken for some, for
 * the message. */
static bool is_record(const char *given)
{
	struct io_paths found = { 0 };
	enum file_use use;
	const int mark = err_count();
	bool record = io_ends_in(given, ".dlx");
	if (!record && io_expand(&found, given) == 0 && found.n)
		record = file_kind_of(found.v[0], &use) && use == FILE_RECORD;
	io_paths_release(&found);
	err_truncate(mark);
	return record;
}

static int count_records(const struct texts *given)
{
	int n = 0;
	for (int i = 0; i < given->n; i++)
		n += is_record(given->v[i]);
	return n;
}

bool predict_converts(const struct texts *files)
{
	return count_records(files) < files->n;
}

static int check_given(const struct texts *given, int records, const char *layout)
{
	if (records > 0 && records < given->n)
		return ERR(E_USAGE, NULL, "'--predict': record files and others cannot be mixed");
	if (records > 0 && layout)
		return ERR(E_USAGE, NULL, "'--input-layout' is for files that are no records, which say "
		           "themselves what their axes are");
	return 0;
}

/* Rank 0's folder, which this rank may see. */
static void share_folder(struct comm *c, char **folder)
{
	char path[4096] = "";
	if (!comm_many(c))
		return;
	if (*folder)
		snprintf(path, sizeof path, "%s", *folder);
	comm_broadcast(c, path, sizeof path, 0, "the temporary folder");
	char *first = io_join(path, FIRST_RECORD);
	if (!comm_first(c) && io_exists(first))
		*folder = mem_strdup(path);
	mem_free(first);
}

/* Of the records in a folder, whose own name is no pattern; mem_free. */
static char *records_pattern(const char *folder)
{
	struct buf b = BUF_INIT;
	for (const char *p = folder; *p; p++)
		buf_printf(&b, "%s%c", strchr("*?[\\", *p) ? "\\" : "", *p);
	char *pattern = io_join(b.data, PATTERN);
	buf_release(&b);
	return pattern;
}

static int add_records(struct texts *out, const char *pattern)
{
	struct io_paths found = { 0 };
	int rc = io_expand(&found, pattern);
	if (rc == 0)
		out->v = mem_realloc(out->v, ((size_t)out->n + found.n + 1) * sizeof *out->v);
	for (size_t i = 0; rc == 0 && i < found.n; i++)
		out->v[out->n++] = mem_strdup(found.v[i]);
	io_paths_release(&found);
	return rc;
}

int predict_input(struct session *s, const struct texts *given, const char *layout, bool quiet,
                  struct texts *out)
{
	struct comm *c = s->comm;
	char *folder = NULL;
	const int records = comm_first(c) ? count_records(given) : 0;
	int converted = comm_first(c) && records < given->n, rc;
	rc = comm_first(c) ? check_given(given, records, layout) : 0;
	if (rc == 0 && converted)
		rc = convert(s, given, layout, quiet, &folder);
	rc = ranks_agree(c, rc, "reading the files to predict from");
	if (rc == 0 && comm_many(c))
		comm_broadcast(c, &converted, sizeof converted, 0, "the kind of the files");
	if (rc == 0 && converted) {
		share_folder(c, &folder);
		rc = folder ? 0 : convert(s, given, layout, true, &folder);
		rc = ranks_agree(c, rc, "reading the files to predict from");
	}
	if (rc == 0 && converted) {
		char *pattern = records_pattern(folder);
		rc = add_records(out, pattern);
		mem_free(pattern);
	}
	for (int i = 0; rc == 0 && !converted && i < given->n; i++)
		rc = add_records(out, given->v[i]);
	mem_free(folder);
	return ranks_agree(c, rc, "the files to predict from");
}

void predict_input_release(struct texts *records)
{
	for (int i = 0; i < records->n; i++)
		mem_free((char *)(uintptr_t)records->v[i]);
	mem_free(records->v);
	*records = (struct texts){ 0 };
}
