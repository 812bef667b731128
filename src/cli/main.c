/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-train: arguments in, exit status out. The only place
 * that prints an error and chooses the status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/proof/proof.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/signals.h"
#include "cli/commands.h"
#include "train/run/ranks.h"

/* OpenMP threads that wait for the next loop spin; libgomp's do so for milliseconds
 * before they sleep. On a busy machine the spinning threads take CPU time from the
 * very thread that they wait for, and a step takes many times as long. Spinning for
 * some ten microseconds costs nothing elsewhere. libgomp reads its environment before
 * main, hence the second start; if that fails, the run goes on with the default. */
static void limit_spinning(char **argv)
{
	char path[4096];               /* by its own name, which is what ps and pkill go by */
	if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
		return;
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n < 0 || setenv("GOMP_SPINCOUNT", "5000", 1) != 0)
		return;
	path[n] = '\0';
	execv(path, argv);
}

/* Output that could not be written (a full disk, a closed pipe) is an error too. */
static int flush_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return ERR(E_IO, NULL, "cannot write to standard output");
}

/* One of several ranks prints. A rank that has failed alone
 * also ends the others, which do not know of the failure. */
static void print_failure(struct comm *c, int rc)
{
	char program[160] = "dlx-train", name[112];
	enum ranks_failure kind = ranks_failure();
	fflush(stdout);
	if (comm_many(c) && kind != RANKS_ALIKE)
		snprintf(program, sizeof program, "dlx-train: %s", ranks_name(c, name));
	if (!comm_many(c) || (kind == RANKS_ALONE && !comm_told(c)) || comm_prints(c))
		err_print(stderr, program);
	if (comm_many(c) && kind == RANKS_ALONE)
		comm_abort(c, err_exit_status(rc));
}

static int open_ranks(struct invocation *x, int rc)
{
	const struct options *o = x->o;
	char command[OPTIONS_TEXT];
	double timeout = 0;
	log_quiet(o->quiet);
	if (rc == 0 && options_standalone(o))
		return 0;
	if (rc == 0)
		rc = command_read(x, &timeout);
	int joined = comm_open(&x->c, timeout);
	if (joined < 0)
		return rc < 0 ? rc : joined;
	log_init("dlx-train", x->c->rank, x->c->size);
	TRY(ranks_agree(x->c, rc, "the command line and the config"));
	return ranks_same_command(x->c, options_text(o, command));
}

/* What this program is started for by itself (backend/proof/proof.h). */
static int prove(const char *first)
{
	const int rc = debug_read();
	return rc < 0 ? err_exit_status(rc) : proof_main(atoi(first));
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct invocation x = { .o = &o };
	signals_block();
	limit_spinning(argv);
	if (argc == 3 && strcmp(argv[1], PROOF_OPTION) == 0)
		return prove(argv[2]);
	proof_enable();
	log_init("dlx-train", 0, 1);
	int rc = signals_begin();
	if (rc == 0)
		rc = options_parse(&o, argc, argv);
	if (rc == 0 && o.command != COMMAND_HELP_DEBUG)
		rc = debug_read();
	rc = open_ranks(&x, rc);
	if (rc == 0)
		rc = command_run(&x);
	signals_await_end(false);      /* which has removed what is being written */
	io_scratch_remove();
	if (rc == 0)
		rc = flush_output();
	if (rc < 0) {
		print_failure(x.c, rc);
		x.status = err_exit_status(rc);
	}
	err_clear();
	comm_close(x.c);
	options_release(&o);
	return x.status;
}
