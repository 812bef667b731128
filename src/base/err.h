/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors. A function that can fail returns int: 0, or one negative code of ERR_LIST.
 * The code is for the caller; the message for the user is kept in a thread-local record:
 * up to ERR_MAX entries, each a message, the place in the user's text, and context lines
 * added on the way out. Only cli/main.c prints the record and chooses the exit status.
 *
 * Text rules: lower case, no final stop, the culprit in single quotes, say what was expected.
 * A caller that recovers from a failure must drop its entries: mark = err_count() before,
 * err_truncate(mark) after. Worker threads hand over with err_take/err_give.
 *
 * BUG() is only for broken invariants of dlx itself; user input can never reach it. */
#ifndef DLX_BASE_ERR_H
#define DLX_BASE_ERR_H

#include <stdio.h>

#include "base/types.h"

/*   code            exit  text */
#define ERR_LIST(X)                                           \
	X(E_USAGE,        64, "usage error")                      \
	X(E_DATA,         65, "bad data")                         \
	X(E_NOINPUT,      66, "input missing")                    \
	X(E_UNAVAILABLE,  69, "device or service unavailable")    \
	X(E_NOMEM,        69, "out of memory")                    \
	X(E_BUG,          70, "bug in dlx")                       \
	X(E_TOO_LARGE,    71, "the plan does not fit")            \
	X(E_CANTCREATE,   73, "cannot write output")              \
	X(E_IO,           74, "i/o error")                        \
	X(E_STOPPED,      75, "stopped")                          \
	X(E_DIVERGED,     76, "the training diverged")            \
	X(E_CONFIG,       78, "config error")                     \
	X(E_SHAPE,        78, "shapes do not fit")                \
	X(E_UNSUPPORTED,  78, "not supported")

enum err_code {
	ERR_OK_ = 0,
#define X(id, exit, text) id##_POS_,
	ERR_LIST(X)
#undef X
	ERR_END_
};
enum {
#define X(id, exit, text) id = -(int)id##_POS_,
	ERR_LIST(X)
#undef X
};

#define ERR_MAX 20      /* entries kept; later ones are only counted */
#define ERR_CONTEXT 20  /* context lines kept per entry */

struct err_entry {
	int code;
	struct loc loc;              /* .file NULL if unknown */
	char *text;                  /* malloc'd */
	char *context[ERR_CONTEXT];  /* innermost first, malloc'd */
	int ncontext;
	const char *src_file;        /* where in dlx it was raised: printed with E_BUG */
	int src_line;
};

struct err_record {
	struct err_entry entry[ERR_MAX];
	int n;          /* entries kept */
	int total;      /* entries raised, >= n */
};

/* Appends an entry to this thread's record and returns code. loc may be NULL. */
int err_raise(int code, const struct loc *loc, const char *src_file, int src_line,
              const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Adds a context line to the newest entry and returns code (so that it can be in a return). */
int err_context(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a context line to every entry from number `mark` on. */
void err_context_since(int mark, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Gives the newest entry the place loc, unless it has one already. Returns code. */
int err_locate(int code, const struct loc *loc);

#define ERR(code, loc, ...) err_raise((code), (loc), __FILE__, __LINE__, __VA_ARGS__)
#define TRY(expr)                         \
	do {                                  \
		int try_rc_ = (expr);             \
		if (try_rc_ < 0)                  \
			return try_rc_;               \
	} while (0)
#define TRYC(expr, ...)                                     \
	do {                                                    \
		int try_rc_ = (expr);                               \
		if (try_rc_ < 0)                                    \
			return err_context(try_rc_, __VA_ARGS__);       \
	} while (0)

int err_count(void);                     /* entries in this thread's record */
const struct err_entry *err_get(int i);  /* 0 <= i < err_count() */
void err_truncate(int mark);             /* drops entries mark.. */
void err_clear(void);
/* Moves this thread's record out / appends a record to this thread's (and empties it). */
void err_take(struct err_record *out);
void err_give(struct err_record *in);

/* Prints the record: entries with a place sorted by file and line first, each as
 *   PROGRAM: FILE:LINE:COL: TEXT
 *     LINE | the user's line
 *          | ^~~~
 *     CONTEXT                         (such as "while planning layer 'stem'")
 * (FILE:LINE:COL left out where unknown), then "... and N more" if total > n. */
void err_print(FILE *out, const char *program);
int err_exit_status(int code);           /* sysexits number; 0 for 0 */
const char *err_name(int code);          /* the text of ERR_LIST */

/* Stores a copy of a text under a name, so that err_print can show its lines without reading a file
 * again (config files, '--set' overrides). */
void err_source_add(const char *file, const char *text);

/* One copy of s for the life of the process. */
const char *str_intern(const char *s);

_Noreturn void bug_at(const char *src_file, int src_line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define BUG_IF(cond, ...)      \
	do {                       \
		if (cond)              \
			BUG(__VA_ARGS__);  \
	} while (0)

#endif
