/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals of a whole program. No thread that computes takes one: while oneDNN's sgemm for AVX2 or
 * AVX-512 runs (2.6.3, the latter also 3.7.2), a signal handler on the thread's own stack
 * overwrites memory of the heap. The program then ends some time later, in malloc or with wrong
 * numbers.
 *
 * So the program's first statement blocks signals, and every thread made later, by OpenMP, MPI
 * and a GPU's driver too, inherits that. One thread of dlx takes all of them: the requests to
 * stop by sigwait, every other as the system would. There are no handlers. One that is added (for
 * SIGSEGV and its kin, which come to the thread that caused them) has SA_ONSTACK, and each thread
 * that it may run on a sigaltstack.
 *
 * A program that uses libdlx without calling these functions keeps its own handling of signals, and
 * must block them in threads that compute. */
#ifndef DLX_BASE_SIGNALS_H
#define DLX_BASE_SIGNALS_H

#include <spawn.h>
#include <stdbool.h>

/* The first statement of main. A program that this one becomes by exec inherits what is blocked,
 * so that it is blocked before any library of it starts threads. */
void signals_block(void);
/* Starts the thread that takes signals, in main. Each has the meaning that it has for any
 * program; one that ends the program removes files that are being written first (io_abandon).
 * E_UNAVAILABLE. */
int signals_begin(void);
/* From now on SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP are requests to stop: the first of
 * them is noted, a second one ends the process at once. SIGHUP that was ignored when the program
 * began (nohup) stays so. A closed pipe (SIGPIPE) becomes an error of writing. Does nothing where
 * signals_begin was not called. */
void signals_watch(void);
/* For one of several processes, all of which a launcher ends as soon as one has ended: when a
 * signal ends this process, it removes its temporary files as usual and then waits this long, so
 * that the others can remove theirs. No effect after signals_watch. */
void signals_linger(int milliseconds);
int signals_pending(void);         /* the signal that came, or 0 */
/* For a caller whose child process has failed, perhaps by a signal that all processes of the
 * terminal receive: if this process is being ended by a signal, does not return; if that is
 * `likely` to follow, waits up to a second for it. */
void signals_await_end(bool likely);
/* Raises SIGALRM, as a request to stop, after this many seconds; replaces an earlier alarm.
 * INFINITY: never. */
void signals_alarm(double seconds);
/* Initialises attributes for posix_spawn with which the new program receives signals as usual. The
 * caller must call posix_spawnattr_destroy. */
void signals_spawn(posix_spawnattr_t *how);

#endif
