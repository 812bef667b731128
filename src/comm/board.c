/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Only the owner of a slot ("seat") writes it, and any rank may read it. Every word is atomic, so
 * that a text that changes meanwhile is at worst mixed. /proc tells whether a process lives: it
 * distinguishes a running process from a zombie, whose id still answers to signals. */
#include "comm/board.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

int64_t board_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t room_of_this_process(void)
{
	struct stat s;
	return stat("/proc/self/ns/pid", &s) == 0 ? (uint64_t)s.st_ino : 0;
}

void board_sit(struct board *b)
{
	struct board_seat *s = &b->seat[b->me];
	atomic_store(&s->entered, 0);
	atomic_store(&s->reporter, 0);
	atomic_store(&s->since, board_now());
	atomic_store(&s->room, room_of_this_process());
	atomic_store(&s->pid, (int64_t)getpid());
}

void board_enter(struct board *b, const char *what)
{
	struct board_seat *s = &b->seat[b->me];
	uint64_t word[BOARD_TEXT / 8];
	char text[BOARD_TEXT] = "";
	snprintf(text, sizeof text, "%s", what);
	memcpy(word, text, sizeof word);
	for (int i = 0; i < BOARD_TEXT / 8; i++)
		atomic_store_explicit(&s->what[i], word[i], memory_order_relaxed);
	atomic_store_explicit(&s->since, board_now(), memory_order_relaxed);
	atomic_fetch_add_explicit(&s->entered, 1, memory_order_release);
}

void board_what(const struct board *b, int local, char out[BOARD_TEXT])
{
	uint64_t word[BOARD_TEXT / 8];
	for (int i = 0; i < BOARD_TEXT / 8; i++)
		word[i] = atomic_load_explicit(&b->seat[local].what[i], memory_order_relaxed);
	memcpy(out, word, sizeof word);
	out[BOARD_TEXT - 1] = '\0';
}

/* The letter of /proc/PID/stat, behind the name, which is in brackets and may hold anything. */
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

enum seat_state board_state(const struct board *b, int local)
{
	const struct board_seat *s = &b->seat[local], *mine = &b->seat[b->me];
	int64_t pid = atomic_load(&s->pid);
	uint64_t room = atomic_load(&s->room);
	if (pid == 0 || room == 0 || room != atomic_load(&mine->room))
		return SEAT_UNKNOWN;
	char c = letter(pid);
	if (c == 'Z' || c == 'X' || (!c && kill((pid_t)pid, 0) != 0))
		return SEAT_GONE;
	return c == 'T' || c == 't' ? SEAT_STOPPED : SEAT_RUNS;
}

int board_gone(const struct board *b)
{
	for (int i = 0; i < b->n; i++)
		if (i != b->me && board_state(b, i) == SEAT_GONE)
			return i;
	return -1;
}

bool board_halted(const struct board *b)
{
	for (int i = 0; i < b->n; i++) {
		enum seat_state s = board_state(b, i);
		if (i != b->me && (s == SEAT_GONE || s == SEAT_STOPPED))
			return true;
	}
	return false;
}

/* If a whole host is lost, the first of the other hosts reports it. */
double board_patience(int host)
{
	return 1 + 0.3 * (host < 10 ? host : 10);
}

int board_reporter(struct board *b, int rank)
{
	int first = 0;
	atomic_compare_exchange_strong(&b->seat[0].reporter, &first, rank + 1);
	return first ? first - 1 : rank;
}

const char *board_who(const struct board *b, int local, char *buf, size_t n)
{
	static const char *const text[] = {
		[SEAT_RUNS] = ", runs",
		[SEAT_STOPPED] = ", stopped",
		[SEAT_GONE] = ", ended",
		[SEAT_UNKNOWN] = "",
	};
	snprintf(buf, n, "rank %d (host %s, process %" PRId64 "%s)", b->rank[local], b->host,
	         atomic_load(&b->seat[local].pid), text[board_state(b, local)]);
	return buf;
}

static int64_t *remembered;
static int nremembered;

void board_remember(const struct board *b)
{
	mem_free(remembered);
	remembered = mem_calloc((size_t)b->n + 1, sizeof *remembered);
	nremembered = 0;
	for (int i = 0; i < b->n; i++)
		if (i != b->me && board_state(b, i) != SEAT_UNKNOWN)
			remembered[nremembered++] = atomic_load(&b->seat[i].pid);
}

void board_end_halted(void)
{
	for (int i = 0; i < nremembered; i++)
		if (letter(remembered[i]) == 'T')
			kill((pid_t)remembered[i], SIGKILL);
}
