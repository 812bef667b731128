/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reading half of io.h: files read whole or mapped; and the clocks and crash points. Every
 * system call is repeated when a signal interrupts it. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/err.h"

#define READ_STEP ((size_t)64 << 10)
#define TEXT_LIMIT ((size_t)64 << 20)

int io_fail(int code, const char *verb, const char *path)
{
	char reason[128];
	return ERR(code, NULL, "cannot %s '%s': %s", verb, path,
	           strerror_r(errno, reason, sizeof reason));
}

int io_open(const char *path, int flags, mode_t mode)
{
	int fd;
	do
		fd = open(path, flags | O_CLOEXEC, mode);
	while (fd < 0 && errno == EINTR);
	return fd;
}

int io_open_code(void)
{
	switch (errno) {
	case ENOENT: case ENOTDIR: case EACCES: case EPERM:
	case ELOOP: case ENAMETOOLONG: case EISDIR: case ENXIO:
		return E_NOINPUT;
	}
	return E_IO;
}

/* --- whole files --- */

/* A device such as /dev/zero has no end. */
static int check_kind(int fd, const char *path)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return io_fail(E_IO, "read", path);
	if (S_ISDIR(st.st_mode))
		errno = EISDIR;
	else if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd))
		return 0;
	else
		return ERR(E_NOINPUT, NULL, "cannot read '%s': it is a device", path);
	return io_fail(E_NOINPUT, "read", path);
}

static int read_all(int fd, const char *path, size_t limit, struct buf *out)
{
	const size_t before = out->len;
	ssize_t n;
	do {
		buf_reserve(out, READ_STEP);
		n = read(fd, out->data + out->len, READ_STEP);
		if (n > 0)
			out->len += (size_t)n;
	} while ((n > 0 && out->len - before <= limit) || (n < 0 && errno == EINTR));
	out->data[out->len] = '\0';
	if (n < 0)
		return io_fail(E_IO, "read", path);
	if (out->len - before > limit)
		return ERR(E_DATA, NULL, "'%s' is larger than the %zu MiB that a text may have", path,
		           limit >> 20);
	return 0;
}

static int read_file(const char *path, size_t limit, struct buf *out)
{
	int fd = io_open(path, O_RDONLY, 0), rc;
	if (fd < 0)
		return io_fail(io_open_code(), "open", path);
	rc = check_kind(fd, path);
	if (rc == 0)
		rc = read_all(fd, path, limit, out);
	close(fd);
	return rc;
}

int io_read_file(const char *path, struct buf *out)
{
	return read_file(path, PTRDIFF_MAX, out);
}

int io_read_text(const char *path, struct buf *out)
{
	return read_file(path, TEXT_LIMIT, out);
}

int64_t io_nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double io_seconds(void)
{
	return 1e-9 * (double)io_nanoseconds();
}

void io_sleep_until(int64_t nanoseconds)
{
	const struct timespec at = { (time_t)(nanoseconds / 1000000000), nanoseconds % 1000000000 };
	while (io_nanoseconds() < nanoseconds)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Linux keeps the start in clock ticks since boot: field 22 of a line whose field 2, the program's
 * name, may have spaces and ends in the line's last parenthesis. */
double io_process_age(void)
{
	char line[1024];
	struct timespec now;
	unsigned long long ticks;
	FILE *f = fopen("/proc/self/stat", "r");
	if (!f)
		return 0;
	line[fread(line, 1, sizeof line - 1, f)] = '\0';
	fclose(f);
	const char *p = strrchr(line, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &ticks) != 1 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return 0;
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec -
	       (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

void io_crash_point(const char *point)
{
	static atomic_uint_fast64_t passed;   /* of the one point that DLX_DEBUG names */
	if (!debug.crash_at || strcmp(debug.crash_at, point) != 0)
		return;
	if (atomic_fetch_add(&passed, 1) + 1 == debug.crash_time)
		kill(getpid(), SIGKILL);
}
