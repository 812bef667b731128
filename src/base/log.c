/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines for the user on stderr. A line is put together first and written by one call under a lock,
 * so lines of several threads and ranks never mix. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/shown.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *name = "dlx";
static int my_rank, quiet;
static void (*hook)(void *);
static void *hook_arg;

void log_init(const char *program, int rank, int size)
{
	const char *kept = str_intern(program);
	pthread_mutex_lock(&lock);
	name = kept;
	my_rank = size > 1 ? rank : 0;
	pthread_mutex_unlock(&lock);
}

void log_quiet(int on)
{
	pthread_mutex_lock(&lock);
	quiet = on;
	pthread_mutex_unlock(&lock);
}

const char *log_program(void)
{
	return name;
}

void log_hook(void (*before)(void *), void *arg)
{
	pthread_mutex_lock(&lock);
	hook = before;
	hook_arg = arg;
	pthread_mutex_unlock(&lock);
}

/* Notes that all ranks have in common are printed by the first. A warning may be one rank's own. */
static void line(const char *kind, int needed, const char *fmt, va_list ap)
{
	struct buf b = BUF_INIT, text = BUF_INIT;
	pthread_mutex_lock(&lock);
	if (needed || (!quiet && my_rank == 0)) {
		buf_printf(&b, "%s: ", name);
		if (my_rank > 0)
			buf_printf(&b, "rank %d: ", my_rank);
		buf_puts(&b, kind);
		buf_vprintf(&text, fmt, ap);
		buf_shown(&b, text.data);
		buf_putc(&b, '\n');
		if (hook)
			hook(hook_arg);
		fwrite(b.data, 1, b.len, stderr);
		fflush(stderr);
	}
	pthread_mutex_unlock(&lock);
	buf_release(&b);
	buf_release(&text);
}

void note(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	line("", 0, fmt, ap);
	va_end(ap);
}

void warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	line("warning: ", 1, fmt, ap);
	va_end(ap);
}
