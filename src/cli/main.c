/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-train: arguments in, exit status out. The only place that prints an error and chooses the status. */
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "cli/commands.h"

/* Output that could not be written (a full disk, a closed pipe) is an error too. */
static int flush_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return ERR(E_IO, NULL, "cannot write to standard output");
}

int main(int argc, char **argv)
{
	struct options o;
	int status = 0;
	log_init("dlx-train", 0, 1);
	int rc = options_parse(&o, argc, argv);
	if (rc == 0) {
		log_quiet(o.quiet);
		rc = command_run(&o, &status);
	}
	if (rc == 0)
		rc = flush_output();
	if (rc < 0) {
		fflush(stdout);
		err_print(stderr, "dlx-train");
		status = err_exit_status(rc);
	}
	err_clear();
	return status;
}
