/* SPDX-License-Identifier: BSD-3-Clause
 *
 * io.h: what is read is what was written, a file appears whole or not at all, and every failure
 * has its code and names the path. */
#include <signal.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cases.h"
#include "base/cache_dir.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/log.h"
#include "base/mem.h"
#include "files.h"

static char dir[] = "/tmp/dlx-test-io-XXXXXX";

/* dir/name, until the next call. */
static const char *in_dir(const char *name)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static int entries(void)
{
	DIR *d = opendir(dir);
	int n = -2;   /* . and .. */
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int start(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	return io_remove_tree(dir);
}

static void whole_files(void **state)
{
	struct buf b = BUF_INIT;
	char *big = mem_calloc(1, 300000);
	struct stat st;
	assert_int_equal(io_write_file(in_dir("a"), "hello", 5), 0);
	assert_int_equal(io_write_file(in_dir("a"), "hallo", 5), 0);
	assert_content(in_dir("a"), "hallo");
	stat(in_dir("a"), &st);
	assert_int_equal(st.st_mode & 0400, 0400);
	assert_int_equal(io_write_file(in_dir("a"), "", 0), 0);
	assert_content(in_dir("a"), "");
	memset(big, 'x', 299999);
	assert_int_equal(io_write_file(in_dir("a"), big, 299999), 0);
	buf_puts(&b, "before");
	assert_int_equal(io_read_file(in_dir("a"), &b), 0);
	assert_int_equal(b.len, 300005);
	assert_string_equal(b.data + 6, big);
	buf_release(&b);
	mem_free(big);
	assert_int_equal(entries(), 1);
}

#define LONG (1 << 20)

/* What is read of a file that changes: its bytes as they were, or an error that names it. */
static void reading(void **state)
{
	struct io_reader f, thousands[24];
	struct rlimit few = { 32, 32 }, before;
	char *p = calloc(1, LONG), q[8];
	io_write_file(in_dir("r"), p, LONG);
	assert_int_equal(io_reader_open(&f, in_dir("r")), 0);
	assert_int_equal(f.size, LONG);
	assert_int_equal(io_reader_read(&f, LONG - 8, q, 8), 0);
	assert_int_equal(io_reader_unchanged(&f), 0);
	assert_int_equal(truncate(in_dir("r"), LONG - 4), 0);
	assert_error(io_reader_read(&f, LONG - 8, q, 8), E_IO,
	             "/r' ends at byte 1048572 or before; it had 1048576 when it was opened");
	assert_error(io_reader_unchanged(&f), E_IO, "/r' was changed while it was in use");
	assert_int_equal(io_reader_read(&f, 0, p, LONG / 2), 0);
	io_reader_close(&f);
	io_reader_close(&f);
	assert_error(io_reader_open(&f, "/nonexistent/x"), E_NOINPUT, "'/nonexistent/x'");
	assert_error(io_reader_open(&f, dir), E_NOINPUT, "not a regular file");

	/* More files than half of the descriptors: some are opened for each read, and may not become
	 * others. */
	getrlimit(RLIMIT_NOFILE, &before);
	few.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	for (int i = 0; i < 24; i++)
		assert_int_equal(io_reader_open(&thousands[i], in_dir("r")), 0);
	assert_int_equal(thousands[23].fd, -1);
	assert_int_equal(io_reader_read(&thousands[23], 0, q, 8), 0);
	io_write_file(in_dir("r"), p, LONG - 4);
	assert_error(io_reader_read(&thousands[23], 0, q, 8), E_IO, "was changed");
	for (int i = 0; i < 24; i++)
		io_reader_close(&thousands[i]);
	setrlimit(RLIMIT_NOFILE, &before);
	unlink(in_dir("r"));
	free(p);
}

static atomic_bool enough;

/* As cp does to a file that is there. */
static void *overwrite(void *path)
{
	char block[4096] = { 1 };
	while (!atomic_load(&enough)) {
		int fd = open(path, O_WRONLY | O_TRUNC);
		for (int i = 0; i < LONG; i += 4096)
			if (write(fd, block, sizeof block) < 0)
				break;
		close(fd);
	}
	return NULL;
}

static void reading_whole(void **state)
{
	struct io_image m;
	pthread_t t;
	char *p = calloc(1, LONG), path[256];
	int refused = 0;
	snprintf(path, sizeof path, "%s", in_dir("w"));
	io_write_file(path, p, LONG);
	assert_int_equal(io_image_read(&m, path), 0);
	assert_int_equal(m.size, LONG);
	assert_memory_equal(m.data, p, LONG);
	io_image_release(&m);
	io_image_release(&m);
	pthread_create(&t, NULL, overwrite, path);
	for (int i = 0; i < 1000000 && refused < 20; i++) {
		int rc = io_image_read(&m, path);
		assert_true(rc == 0 || rc == E_IO);
		refused += rc == E_IO;
		err_clear();
		io_image_release(&m);
	}
	atomic_store(&enough, true);
	pthread_join(t, NULL);
	assert_int_equal(refused, 20);
	unlink(path);
	free(p);
}

static void nothing_to_read(void **state)
{
	struct buf b = BUF_INIT;
	assert_error(io_read_file("/nonexistent/x", &b), E_NOINPUT, "'/nonexistent/x': No such file");
	assert_error(io_read_file(dir, &b), E_NOINPUT, dir);
	buf_release(&b);
}

static void visible_after_commit_only(void **state)
{
	struct io_file *f;
	assert_int_equal(io_create(&f, in_dir("late")), 0);
	assert_int_equal(io_write(f, "....body", 8), 0);
	assert_int_equal(io_tell(f), 8);
	assert_int_equal(io_write(f, "tail", 4), 0);
	assert_int_equal(io_tell(f), 12);
	assert_false(io_exists(in_dir("late")));
	assert_int_equal(io_commit(f), 0);
	assert_content(in_dir("late"), "....bodytail");

	io_create(&f, in_dir("late"));
	io_write(f, "never", 5);
	io_discard(f);
	io_discard(NULL);
	assert_content(in_dir("late"), "....bodytail");
	unlink(in_dir("late"));
}

static void two_writers(void **state)
{
	struct io_file *f, *g;
	int before = entries();
	assert_int_equal(io_create(&f, in_dir("both")), 0);
	assert_int_equal(io_create(&g, in_dir("both")), 0);
	io_write(f, "f", 1);
	io_write(g, "g", 1);
	assert_int_equal(io_commit(g), 0);
	assert_int_equal(io_commit(f), 0);
	assert_content(in_dir("both"), "f");
	unlink(in_dir("both"));
	assert_int_equal(entries(), before);
}

static void cannot_create(void **state)
{
	struct io_file *f;
	assert_error(io_create(&f, "/nonexistent/x"), E_CANTCREATE, "'/nonexistent/x'");
	assert_null(f);
	io_mkdirs(in_dir("folder/in"));
	assert_error(io_write_file(in_dir("folder"), "x", 1), E_CANTCREATE, "folder");
	assert_int_equal(io_remove_tree(in_dir("folder")), 0);
	io_write_file(in_dir("file"), "x", 1);
	assert_error(io_mkdirs(in_dir("file/sub")), E_CANTCREATE, "/file': Not a directory");
	assert_error(io_mkdirs(in_dir("file")), E_CANTCREATE, "Not a directory");
	unlink(in_dir("file"));
}

static void full_disk(void **state)
{
	struct io_file *f;
	int before;
	io_write_file(in_dir("good"), "old", 3);
	before = entries();
	assert_int_equal(debug_parse("fault=write:1+"), 0);
	assert_error(io_write_file(in_dir("good"), "new", 3), E_IO, "No space left");
	assert_int_equal(entries(), before);
	assert_content(in_dir("good"), "old");
	io_create(&f, in_dir("good"));
	assert_error(io_write(f, "new", 3), E_IO, "good");
	debug_parse(NULL);
	assert_int_equal(io_write(f, "more", 4), 0);
	assert_error(io_commit(f), E_IO, "earlier write");   /* a caller that ignored it gets no file */
	assert_content(in_dir("good"), "old");
	assert_int_equal(entries(), before);
	unlink(in_dir("good"));
}

static void a_fault_hits_its_call_only(void **state)
{
	assert_int_equal(debug_parse("fault=write:1"), 0);   /* long past: must not hit */
	assert_int_equal(io_write_file(in_dir("w"), "x", 1), 0);
	debug_parse(NULL);
	unlink(in_dir("w"));
}

/* With a limit on the file's size the kernel writes a part of what it is given, then refuses. */
static void short_writes(void **state)
{
	pid_t pid = fork();
	int status;
	if (pid == 0) {
		struct rlimit limit = { 1000, 1000 };
		struct io_file *f = NULL;
		char data[1500] = { 0 };
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(io_create(&f, in_dir("short")) == 0 && io_write(f, data, 900) == 0 &&
		      io_write(f, data, sizeof data) == E_IO && io_commit(f) == E_IO ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_false(io_exists(in_dir("short")));
}

static void folders(void **state)
{
	char *s;
	assert_int_equal(io_mkdirs(in_dir("deep/b//c/")), 0);
	assert_int_equal(io_mkdirs(in_dir("deep/b/c")), 0);
	assert_true(io_exists(in_dir("deep/b/c")));
	assert_int_equal(io_mkdirs("/"), 0);
	io_write_file(in_dir("deep/b/file"), "x", 1);
	assert_int_equal(symlink("/nonexistent", in_dir("deep/link")), 0);
	assert_int_equal(io_sync_dir(in_dir("deep")), 0);
	assert_error(io_sync_dir(in_dir("none")), E_IO, "none");
	assert_int_equal(io_remove_tree(in_dir("deep")), 0);
	assert_false(io_exists(in_dir("deep")));
	assert_int_equal(io_remove_tree(in_dir("deep")), 0);
	s = io_join("runs", "x");
	assert_string_equal(s, "runs/x");
	mem_free(s);
	s = io_join("runs/", "x");
	assert_string_equal(s, "runs/x");
	mem_free(s);
	s = io_join("runs", "/x");
	assert_string_equal(s, "/x");
	mem_free(s);
	s = io_join("", "x");
	assert_string_equal(s, "x");
	mem_free(s);
}

/* The signal that ends a process which passes the point `times` times. */
static int crash(const char *at, int times)
{
	pid_t pid = fork();
	int status;
	if (pid == 0) {
		if (debug_parse(at) < 0)
			_exit(1);
		for (int i = 0; i < times; i++) {
			io_crash_point("ckpt_pack");
			io_crash_point("ckpt_durable");
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void crash_points(void **state)
{
	assert_int_equal(crash("crash_at=ckpt_pack", 1), SIGKILL);
	assert_int_equal(crash("crash_at=ckpt_pack#3", 3), SIGKILL);
	assert_int_equal(crash("crash_at=ckpt_pack#3", 2), 0);
	assert_int_equal(crash("crash_at=ckpt_chunk", 5), 0);
	assert_int_equal(crash("crash_at=ckpt_durable#2", 2), SIGKILL);
}

static int hook_calls;

static void hook(void *arg)
{
	hook_calls += *(int *)arg;
}

static void messages(void **state)
{
	int fd = dup(2), one = 1;
	FILE *f = freopen(in_dir("log"), "w", stderr);
	assert_non_null(f);
	log_init("dlx-test", 3, 8);
	log_hook(hook, &one);
	warn("disk %d%% full", 99);
	note("all ranks would say so");
	log_quiet(1);
	note("not seen");
	log_quiet(0);
	log_init("dlx-test", 0, 1);
	note("seen");
	log_hook(NULL, NULL);
	fflush(stderr);
	dup2(fd, 2);
	close(fd);
	assert_content(in_dir("log"), "dlx-test: rank 3: warning: disk 99% full\ndlx-test: seen\n");
	assert_int_equal(hook_calls, 2);
	assert_string_equal(log_program(), "dlx-test");
	unlink(in_dir("log"));
}

/* expected: the end of the folder's path, or NULL where there is none. */
static void assert_cache(const char *xdg, const char *home, const char *expected)
{
	struct buf b = BUF_INIT;
	xdg ? setenv("XDG_CACHE_HOME", xdg, 1) : unsetenv("XDG_CACHE_HOME");
	home ? setenv("HOME", home, 1) : unsetenv("HOME");
	buf_puts(&b, "in ");
	int rc = cache_dir(&b);
	if (expected) {
		assert_int_equal(rc, 0);
		assert_string_equal(b.data + 3, in_dir(expected));
		assert_true(io_is_folder(b.data + 3));
	} else {
		assert_error(rc, E_UNAVAILABLE, "no folder for a cache");
		assert_string_equal(b.data, "in ");
	}
	buf_release(&b);
}

static void cache_folder(void **state)
{
	char at[256];
	snprintf(at, sizeof at, "%s", in_dir("user"));
	assert_cache(NULL, at, "user/.cache/dlx");
	assert_cache("", at, "user/.cache/dlx");
	assert_cache("not/absolute", at, "user/.cache/dlx");
	assert_cache(at, NULL, "user/dlx");
	assert_cache(at, "/nowhere", "user/dlx");
	assert_cache(NULL, NULL, NULL);
	assert_int_equal(io_write_file(in_dir("plain"), "x", 1), 0);
	snprintf(at, sizeof at, "%s", in_dir("plain"));
	assert_cache(at, NULL, NULL);                   /* also as root, which may write anywhere */
}

static void clock_runs(void **state)
{
	double t = io_seconds();
	usleep(2000);
	assert_true(io_seconds() - t >= 0.002 && io_seconds() - t < 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_files), cmocka_unit_test(reading),
		cmocka_unit_test(reading_whole), cmocka_unit_test(nothing_to_read),
		cmocka_unit_test(visible_after_commit_only), cmocka_unit_test(two_writers),
		cmocka_unit_test(cannot_create), cmocka_unit_test(full_disk),
		cmocka_unit_test(a_fault_hits_its_call_only),
		cmocka_unit_test(short_writes), cmocka_unit_test(folders), cmocka_unit_test(crash_points),
		cmocka_unit_test(messages), cmocka_unit_test(cache_folder),
		cmocka_unit_test(clock_runs),
	};
	return cmocka_run_group_tests(tests, start, end);
}
