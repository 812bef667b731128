/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The error record of a thread: raised, extended on the way out, handed over, dropped.
 * err_print.c shows it. Entries beyond ERR_MAX are counted, and a context or place meant for one
 * of them is ignored rather than given to an older entry. */
#include "base/err.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

static _Thread_local struct err_record record;

static char *format(const char *fmt, va_list ap)
{
	struct buf b = BUF_INIT;
	buf_vprintf(&b, fmt, ap);
	return buf_detach(&b);
}

/* The entry raised last, or NULL if there is none or it was not kept. */
static struct err_entry *newest(void)
{
	return record.n > 0 && record.n == record.total ? &record.entry[record.n - 1] : NULL;
}

int err_raise(int code, const struct loc *loc, const char *src_file, int src_line,
              const char *fmt, ...)
{
	struct err_entry *e;
	va_list ap;
	BUG_IF(code >= 0 || code <= -(int)ERR_END_, "error code %d raised at %s:%d", code, src_file,
	       src_line);
	record.total++;
	if (record.n == ERR_MAX)
		return code;
	e = &record.entry[record.n++];
	memset(e, 0, sizeof *e);
	e->code = code;
	if (loc)
		e->loc = *loc;
	e->src_file = src_file;
	e->src_line = src_line;
	va_start(ap, fmt);
	e->text = format(fmt, ap);
	va_end(ap);
	return code;
}

int err_context(int code, const char *fmt, ...)
{
	struct err_entry *e = newest();
	va_list ap;
	if (!e || e->ncontext == ERR_CONTEXT)
		return code;
	va_start(ap, fmt);
	e->context[e->ncontext++] = format(fmt, ap);
	va_end(ap);
	return code;
}

void err_context_since(int mark, const char *fmt, ...)
{
	va_list ap;
	for (int i = mark; i < record.n; i++) {
		struct err_entry *e = &record.entry[i];
		if (e->ncontext == ERR_CONTEXT)
			continue;
		va_start(ap, fmt);
		e->context[e->ncontext++] = format(fmt, ap);
		va_end(ap);
	}
}

int err_locate(int code, const struct loc *loc)
{
	struct err_entry *e = newest();
	if (e && !e->loc.file && loc)
		e->loc = *loc;
	return code;
}

int err_count(void)
{
	return record.n;
}

const struct err_entry *err_get(int i)
{
	BUG_IF(i < 0 || i >= record.n, "error entry %d of %d", i, record.n);
	return &record.entry[i];
}

static void entry_release(struct err_entry *e)
{
	mem_free(e->text);
	for (int i = 0; i < e->ncontext; i++)
		mem_free(e->context[i]);
}

/* When the record is full, further errors are only counted. They are newer than all entries, so
 * dropping any entry drops their count too. If no entry is newer than the mark, the count stays,
 * since a mark of a full record does not tell which of them are older. */
void err_truncate(int mark)
{
	BUG_IF(mark < 0, "error mark %d", mark);
	if (mark >= record.n && mark > 0)
		return;
	while (record.n > mark)
		entry_release(&record.entry[--record.n]);
	record.total = record.n;
}

void err_clear(void)
{
	err_truncate(0);
}

void err_take(struct err_record *out)
{
	*out = record;
	record.n = record.total = 0;
}

void err_give(struct err_record *in)
{
	for (int i = 0; i < in->n; i++) {
		if (record.n < ERR_MAX)
			record.entry[record.n++] = in->entry[i];
		else
			entry_release(&in->entry[i]);
	}
	record.total += in->total;
	in->n = in->total = 0;
}

int err_exit_status(int code)
{
	switch (code) {
	case 0: return 0;
#define X(id, exit, text) case id: return exit;
	ERR_LIST(X)
#undef X
	}
	return err_exit_status(E_BUG);
}

const char *err_name(int code)
{
	switch (code) {
	case 0: return "success";
#define X(id, exit, text) case id: return text;
	ERR_LIST(X)
#undef X
	}
	return "unknown error";
}

_Noreturn void bug_at(const char *src_file, int src_line, const char *fmt, ...)
{
	va_list ap;
	fprintf(stderr, "%s: BUG at %s:%d: ", log_program(), src_file, src_line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\n", stderr);
	fflush(stderr);
	abort();
}
