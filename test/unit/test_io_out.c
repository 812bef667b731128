/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Outputs of io.h that are more than a new file: links, modes, devices, pipes, and files that are
 * read. None may lose what it leads to. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "files.h"

static char dir[] = "/tmp/dlx-test-io-out-XXXXXX";

static int start(void **state)
{
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int end(void **state)
{
	return io_remove_tree(dir);
}

static mode_t mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode;
}

static void modes_are_kept(void **state)
{
	const mode_t mask = umask(022);
	io_write_file("private", "a", 1);
	assert_int_equal(mode_of("private") & 07777, 0644);
	chmod("private", 0640);
	assert_int_equal(io_write_file("private", "b", 1), 0);
	assert_int_equal(mode_of("private") & 07777, 0640);
	assert_content("private", "b");
	umask(mask);
}

static void links_stay(void **state)
{
	assert_int_equal(io_mkdirs("there"), 0);
	io_write_file("there/file", "old", 3);
	assert_int_equal(link("there/file", "hard"), 0);
	assert_int_equal(symlink("there/file", "one"), 0);
	assert_int_equal(symlink("one", "two"), 0);
	assert_int_equal(io_write_file("two", "new", 3), 0);
	assert_true(S_ISLNK(mode_of("one")) && S_ISLNK(mode_of("two")) &&
	            S_ISREG(mode_of("there/file")));
	assert_content("there/file", "new");
	assert_content("hard", "old");

	assert_int_equal(symlink("../made", "there/dangling"), 0);
	assert_int_equal(io_write_file("there/dangling", "x", 1), 0);
	assert_content("made", "x");
	assert_true(S_ISLNK(mode_of("there/dangling")));
	assert_int_equal(symlink("circle", "circle"), 0);
	assert_error(io_write_file("circle", "x", 1), E_CANTCREATE, "'circle'");
}

static void inputs_are_refused(void **state)
{
	io_write_file("input", "data", 4);
	assert_int_equal(symlink("input", "soft"), 0);
	assert_int_equal(link("input", "other"), 0);
	io_input("input");
	io_input("not there");
	assert_error(io_write_file("input", "x", 1), E_USAGE, "it is 'input', which is read");
	assert_error(io_write_file("soft", "x", 1), E_USAGE, "'input'");
	assert_error(io_check_output("other"), E_USAGE, "'input'");
	assert_error(io_check_output("./there/../input"), E_USAGE, "'input'");
	assert_content("input", "data");
	io_input_forget("other");
	assert_int_equal(io_write_file("soft", "x", 1), 0);
}

/* A file system may give the number of a removed input to the next file. */
static void numbers_of_removed_inputs(void **state)
{
	const struct timespec later[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 2000000000 } };
	io_write_file("removed", "data", 4);
	io_input("removed");
	assert_int_equal(rename("removed", "reused"), 0);
	assert_error(io_check_output("reused"), E_USAGE, "'removed'");     /* not written since */
	assert_int_equal(utimensat(AT_FDCWD, "reused", later, 0), 0);
	assert_int_equal(io_write_file("reused", "x", 1), 0);
	assert_content("reused", "x");
}

static void outputs_are_checked_first(void **state)
{
	assert_int_equal(io_check_output("new"), 0);
	assert_int_equal(io_check_output("/dev/null"), 0);
	assert_error(io_check_output("nowhere/new"), E_CANTCREATE, "'nowhere/new'");
	assert_error(io_check_output("there"), E_CANTCREATE, "Is a directory");
	assert_false(io_exists("new"));
}

static void devices_are_written_in_place(void **state)
{
	struct io_file *f;
	assert_error(io_write_file("/dev/full", "x", 1), E_IO, "No space left");
	assert_true(S_ISCHR(mode_of("/dev/full")));
	assert_int_equal(symlink("/dev/null", "null"), 0);
	assert_int_equal(io_create(&f, "null"), 0);
	assert_null(io_temporary(f));
	assert_int_equal(io_write(f, "x", 1), 0);
	assert_int_equal(io_commit(f), 0);
	assert_true(S_ISCHR(mode_of("/dev/null")));
}

/* Reads the pipe `name` to its end in a child, which ends with 0 if it had `expected`. */
static pid_t reader(const char *name, const char *expected, size_t most)
{
	pid_t pid = fork();
	if (pid == 0) {
		char got[64] = { 0 };
		size_t n = 0;
		int fd = open(name, O_RDONLY);
		for (ssize_t k = 1; k > 0 && n < most; n += (size_t)(k > 0 ? k : 0))
			k = read(fd, got + n, most - n);
		_exit(strcmp(got, expected) == 0 ? 0 : 1);
	}
	return pid;
}

static void pipes_are_written_in_place(void **state)
{
	int status;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	pid_t pid = reader("pipe", "through the pipe", sizeof "through the pipe" - 1);
	assert_int_equal(io_write_file("pipe", "through the pipe", 16), 0);
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(S_ISFIFO(mode_of("pipe")));
}

/* More than a pipe holds, to a reader that ends: an error, not SIGPIPE. */
static void a_reader_that_ends_is_an_error(void **state)
{
	static char much[1 << 20];
	pid_t pid = reader("pipe", "", 0);
	struct io_file *f;
	assert_int_equal(io_create(&f, "pipe"), 0);
	waitpid(pid, NULL, 0);
	assert_error(io_write(f, much, sizeof much), E_IO, "Broken pipe");
	io_discard(f);
	assert_true(S_ISFIFO(mode_of("pipe")));
}

static void logs_are_regular_files(void **state)
{
	int fd = io_open_log("log", true);
	assert_true(fd >= 0);
	assert_int_equal(io_append(fd, "log", "a\n", 2), 0);
	close(fd);
	fd = io_open_log("log", false);
	assert_int_equal(io_append(fd, "log", "b\n", 2), 0);
	close(fd);
	assert_content("log", "a\nb\n");
	assert_int_equal(symlink("log", "linked"), 0);
	assert_error(io_open_log("linked", true), E_CANTCREATE, "no regular file");
	assert_error(io_open_log("pipe", true), E_CANTCREATE, "no regular file");
	assert_error(io_open_log("/dev/null", false), E_CANTCREATE, "no regular file");
	assert_content("log", "a\nb\n");
}

static void endless_inputs_are_refused(void **state)
{
	struct buf b = BUF_INIT;
	assert_error(io_read_file("/dev/zero", &b), E_NOINPUT, "it is a device");
	assert_int_equal(io_write_file("large", "x", 1), 0);
	assert_int_equal(truncate("large", (off_t)1 << 40), 0);
	assert_error(io_read_text("large", &b), E_DATA, "larger than the 64 MiB");
	buf_release(&b);
}

static void patterns(void **state)
{
	struct io_paths p;
	assert_int_equal(io_mkdirs("g/1"), 0);
	assert_int_equal(io_mkdirs("g/2"), 0);
	io_write_file("g/2/a.x", "", 0);
	io_write_file("g/1/b.x", "", 0);
	assert_int_equal(io_expand(&p, "g/*/*.x"), 0);
	assert_true(p.is_pattern && p.n == 2);
	assert_string_equal(p.v[0], "g/1/b.x");
	io_paths_release(&p);
	assert_int_equal(io_expand(&p, "nothing"), 0);
	assert_true(!p.is_pattern && p.n == 1);
	io_paths_release(&p);
	assert_error(io_expand(&p, "g/*/*.y"), E_NOINPUT, "no file matches");
	io_paths_release(&p);
	assert_int_equal(io_expand(&p, "g/{2/*,{1,2}/?}.x"), 0);
	assert_true(p.is_pattern && p.n == 3);
	assert_string_equal(p.v[0], "g/2/a.x");
	assert_string_equal(p.v[1], "g/1/b.x");
	assert_string_equal(p.v[2], "g/2/a.x");
	io_paths_release(&p);
	assert_error(io_expand(&p, "g/{1/b.x,2/b.x}"), E_NOINPUT, "no file matches 'g/2/b.x'");
	io_paths_release(&p);
	assert_int_equal(io_expand(&p, "g/{a}/{b"), 0);
	assert_true(!p.is_pattern && p.n == 1);
	io_paths_release(&p);
	io_write_file("g/{1,2}", "", 0);
	assert_int_equal(io_expand(&p, "g/{1,2}"), 0);
	assert_true(!p.is_pattern && p.n == 1);
	io_paths_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_are_kept), cmocka_unit_test(links_stay),
		cmocka_unit_test(inputs_are_refused), cmocka_unit_test(numbers_of_removed_inputs),
		cmocka_unit_test(outputs_are_checked_first),
		cmocka_unit_test(devices_are_written_in_place),
		cmocka_unit_test(pipes_are_written_in_place),
		cmocka_unit_test(a_reader_that_ends_is_an_error), cmocka_unit_test(logs_are_regular_files),
		cmocka_unit_test(endless_inputs_are_refused), cmocka_unit_test(patterns),
	};
	return cmocka_run_group_tests(tests, start, end);
}
