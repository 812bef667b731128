/* SPDX-License-Identifier: BSD-3-Clause
 *
 * comm.h with one process, where every collective leaves things as they are, and what launchers
 * leave in the environment. Several ranks: test/comm/. */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "cases.h"
#include "base/buf.h"
#include "base/err.h"
#include "comm/liveness.h"
#include "comm/comm.h"
#include "comm/launched.h"
#include "comm/linkmodel.h"
#include "comm/ranks_text.h"

static const char *const variables[] = {
	"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
	"PMI_RANK", "PMI_SIZE", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "PALS_RANKID", "PMIX_RANK",
	"SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID",
	"SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", "SLURM_LOCALID", "FLUX_TASK_RANK", "FLUX_JOB_SIZE",
	"MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_LOCAL_RANK",
	"PMI_LOCAL_SIZE",
};

static int clean(void **state)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		unsetenv(variables[i]);
	err_clear();
	return 0;
}

static void one_process(void **state)
{
	struct comm *c;
	double v[2] = { 1.5, -2 };
	int mine = 7, all = 0;
	assert_int_equal(comm_open(&c, 0), 0);
	assert_int_equal(c->rank, 0);
	assert_int_equal(c->size, 1);
	assert_int_equal(c->local_size, 1);
	assert_int_equal(c->hosts, 1);
	assert_null(c->library);
	assert_true(comm_prints(c));
	comm_sum(c, v, 2, "a sum");
	comm_max(c, v, 2, "a maximum");
	assert_true(v[0] == 1.5 && v[1] == -2);
	comm_broadcast(c, v, sizeof v, 0, "a value");
	comm_all_gather(c, &mine, sizeof mine, &all, "a number");
	assert_int_equal(all, 7);
	comm_barrier(c, "nothing");
	assert_int_equal(comm_agree(c, 0, "nothing"), 0);
	assert_int_equal(comm_agree(c, ERR(E_DATA, NULL, "bad"), "nothing"), E_DATA);
	assert_int_equal(err_count(), 1);
	assert_true(comm_prints(c));
	assert_int_equal(comm_counts(c).setup_collectives, 0);
	comm_close(c);
	comm_close(NULL);
}

static void is(const char *by, int size, bool interface)
{
	struct launched l;
	launched_find(&l);
	if (by)
		assert_string_equal(l.by, by);
	else
		assert_null(l.by);
	assert_int_equal(l.size, size);
	assert_int_equal(l.interface, interface);
}

static void launchers(void **state)
{
	is(NULL, 1, false);
	setenv("PMI_RANK", "3", 1);
	setenv("PMI_SIZE", "8", 1);
	is("pmi", 8, true);
	setenv("OMPI_COMM_WORLD_RANK", "0", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
	is("open mpi", 2, true);
}

static void slurm(void **state)
{
	struct comm *c;
	setenv("SLURM_JOB_ID", "17", 1);
	setenv("SLURM_PROCID", "0", 1);
	setenv("SLURM_NTASKS", "4", 1);
	is(NULL, 1, false);                      /* the shell of a batch script */
	assert_int_equal(comm_open(&c, 0), 0);
	comm_close(c);
	setenv("SLURM_STEP_NUM_TASKS", "1", 1);
	is("slurm", 1, false);
	assert_int_equal(comm_open(&c, 0), 0);
	comm_close(c);
	setenv("SLURM_STEP_NUM_TASKS", "4", 1);
	is("slurm", 4, false);
	assert_int_equal(comm_open(&c, 0), E_UNAVAILABLE);
	assert_non_null(strstr(err_get(0)->text, "--mpi=pmi2"));
	err_clear();
	setenv("PMIX_RANK", "1", 1);
	is("slurm", 4, true);
	clean(NULL);
	setenv("PMIX_RANK", "1", 1);
	is("a launcher with PMIx", 0, true);
}

/* A launcher's variables, but no other process: a program
 * started by another MPI's mpirun sees itself alone. */
static void another_mpi(void **state)
{
	struct comm *c;
	setenv("OMPI_COMM_WORLD_RANK", "0", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
	if (comm_library() && strncmp(comm_library(), "MPICH", 5) != 0)
		skip();
	assert_int_equal(comm_open(&c, 0), E_UNAVAILABLE);
	assert_non_null(strstr(err_get(0)->text,
	                       comm_library() ? "start them with its own mpiexec" : "without MPI"));
}

static void says(const int *rank, int n, const char *text)
{
	struct buf b = BUF_INIT;
	ranks_text(&b, rank, n);
	assert_string_equal(b.data, text);
	buf_release(&b);
}

static void ranks(void **state)
{
	int few[] = { 0, 2, 3, 4, 9 }, odd[12];
	for (int i = 0; i < 12; i++)
		odd[i] = 2 * i + 1;
	says(few, 0, "");
	says(few, 1, "0");
	says(few, 5, "0, 2-4, 9");
	says(odd, 8, "1, 3, 5, 7, 9, 11, 13, 15");
	says(odd, 12, "1, 3, 5, 7, 9, 11, 13, 15 and 4 more");
}

static void costs(void **state)
{
	struct linkmodel m;
	struct comm *c;
	linkmodel_flat(&m, 1e-5, 1e10);
	assert_true(linkmodel_seconds(&m, 0) == 1e-5 && linkmodel_seconds(&m, 1e10) == 1 + 1e-5);
	assert_int_equal(comm_open(&c, 0), 0);
	linkmodel_of_hosts(&m, 1, 1, 0, false, 1);
	assert_int_equal(linkmodel_measure(&m, c), 0);
	assert_true(linkmodel_seconds(&m, 1e9) == 0);      /* one process */
	comm_close(c);
}

/* A process that is stopped when the liveness table is gone is ended; one that runs is not. */
static void halted(void **state)
{
	struct liveness_slot *seat = NULL;
	const int rank[] = { 0, 1, 2 };
	pid_t child[2];
	int status;
	assert_int_equal(posix_memalign((void **)&seat, 128, liveness_bytes(3)), 0);
	memset(seat, 0, liveness_bytes(3));
	struct liveness b = { .slots = seat, .rank = rank, .n = 3, .host = "here" };
	liveness_register(&b);
	for (int i = 0; i < 2; i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		if (child[i] == 0) {
			sleep(60);
			_exit(0);
		}
		seat[i + 1].pid_namespace = (uint64_t)seat[0].pid_namespace;
		seat[i + 1].pid = child[i];
	}
	kill(child[0], SIGSTOP);
	assert_int_equal(waitpid(child[0], &status, WUNTRACED), child[0]);
	liveness_remember(&b);
	free(seat);
	liveness_end_halted();
	assert_int_equal(waitpid(child[0], &status, 0), child[0]);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(waitpid(child[1], &status, WNOHANG), 0);
	kill(child[1], SIGKILL);
	waitpid(child[1], &status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_process, clean, clean),
		cmocka_unit_test_setup_teardown(launchers, clean, clean),
		cmocka_unit_test_setup_teardown(slurm, clean, clean),
		cmocka_unit_test_setup_teardown(another_mpi, clean, clean),
		cmocka_unit_test(halted),
		cmocka_unit_test(ranks),
		cmocka_unit_test(costs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
