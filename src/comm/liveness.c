/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Only the owner of a slot writes it, and any rank may read it. Every word is atomic, so
 * that a text that changes meanwhile is at worst mixed. /proc shows whether a process is alive;
 * unlike kill(pid, 0), it distinguishes a running process from a zombie. */
#include "comm/liveness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

static uint64_t pid_namespace_of_self(void)
{
	struct stat s;
	return stat("/proc/self/ns/pid", &s) == 0 ? (uint64_t)s.st_ino : 0;
}

void liveness_register(struct liveness *b)
{
	struct liveness_slot *s = liveness_slot(b, b->me);
	atomic_store(&s->entered, 0);
	atomic_store(&s->reporter, 0);
	atomic_store(&s->waits_for, 0);
	atomic_store(&s->since, io_nanoseconds());
	atomic_store(&s->pid_namespace, pid_namespace_of_self());
	atomic_store(&s->pid, (int64_t)getpid());
}

void liveness_text_set(_Atomic uint64_t word[LIVENESS_TEXT / 8], const char *text)
{
	uint64_t plain[LIVENESS_TEXT / 8] = { 0 };
	size_t n = strlen(text);
	memcpy(plain, text, n < LIVENESS_TEXT ? n : LIVENESS_TEXT - 1);
	for (int i = 0; i < LIVENESS_TEXT / 8; i++)
		atomic_store_explicit(&word[i], plain[i], memory_order_relaxed);
}

void liveness_text_get(const _Atomic uint64_t word[LIVENESS_TEXT / 8], char out[LIVENESS_TEXT])
{
	uint64_t plain[LIVENESS_TEXT / 8];
	for (int i = 0; i < LIVENESS_TEXT / 8; i++)
		plain[i] = atomic_load_explicit(&word[i], memory_order_relaxed);
	memcpy(out, plain, sizeof plain);
	out[LIVENESS_TEXT - 1] = '\0';
}

void liveness_enter(struct liveness *b, const char *what)
{
	struct liveness_slot *s = liveness_slot(b, b->me);
	liveness_text_set(s->what, what);
	atomic_store_explicit(&s->since, io_nanoseconds(), memory_order_relaxed);
	atomic_fetch_add_explicit(&s->entered, 1, memory_order_release);
}

void liveness_collective(const struct liveness *b, int local, char out[LIVENESS_TEXT])
{
	liveness_text_get(liveness_slot(b, local)->what, out);
}

/* The letter of /proc/PID/stat, after the name, which is in brackets and may hold anything. */
static char letter(int64_t pid)
{
	char path[64], line[512];
	snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return '\0';
	size_t n = fread(line, 1, sizeof line - 1, f);
	fclose(f);
	line[n] = '\0';
	const char *end = strrchr(line, ')');
	return end && end[1] == ' ' ? end[2] : '\0';
}

enum slot_state liveness_state(const struct liveness *b, int local)
{
	const struct liveness_slot *s = liveness_slot(b, local), *mine = liveness_slot(b, b->me);
	int64_t pid = atomic_load(&s->pid);
	uint64_t pid_namespace = atomic_load(&s->pid_namespace);
	if (pid == 0 || pid_namespace == 0 || pid_namespace != atomic_load(&mine->pid_namespace))
		return SLOT_UNKNOWN;
	char c = letter(pid);
	if (c == 'Z' || c == 'X' || (!c && kill((pid_t)pid, 0) != 0))
		return SLOT_GONE;
	return c == 'T' || c == 't' ? SLOT_STOPPED : SLOT_RUNS;
}

int liveness_gone(const struct liveness *b)
{
	for (int i = 0; i < b->n; i++)
		if (i != b->me && liveness_state(b, i) == SLOT_GONE)
			return i;
	return -1;
}

bool liveness_halted(const struct liveness *b)
{
	for (int i = 0; i < b->n; i++) {
		enum slot_state s = liveness_state(b, i);
		if (i != b->me && (s == SLOT_GONE || s == SLOT_STOPPED))
			return true;
	}
	return false;
}

/* If a whole host is lost, the first of the other hosts reports it. */
double liveness_patience(int host)
{
	return 1 + 0.3 * (host < 10 ? host : 10);
}

int liveness_reporter(struct liveness *b, int rank)
{
	int first = 0;
	atomic_compare_exchange_strong(&b->slots[0].reporter, &first, rank + 1);
	return first ? first - 1 : rank;
}

const char *liveness_name(const struct liveness *b, int local, char *buf, size_t n)
{
	static const char *const text[] = {
		[SLOT_RUNS] = ", runs",
		[SLOT_STOPPED] = ", stopped",
		[SLOT_GONE] = ", ended",
		[SLOT_UNKNOWN] = "",
	};
	snprintf(buf, n, "rank %d (host %s, process %" PRId64 "%s)", b->rank[local], b->host,
	         atomic_load(&liveness_slot(b, local)->pid), text[liveness_state(b, local)]);
	return buf;
}

static int64_t *remembered;
static int nremembered;

void liveness_remember(const struct liveness *b)
{
	mem_free(remembered);
	remembered = mem_calloc((size_t)b->n + 1, sizeof *remembered);
	nremembered = 0;
	for (int i = 0; i < b->n; i++)
		if (i != b->me && liveness_state(b, i) != SLOT_UNKNOWN)
			remembered[nremembered++] = atomic_load(&liveness_slot(b, i)->pid);
}

void liveness_end_halted(void)
{
	for (int i = 0; i < nremembered; i++)
		if (letter(remembered[i]) == 'T')
			kill((pid_t)remembered[i], SIGKILL);
}
