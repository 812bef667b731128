/* SPDX-License-Identifier: BSD-3-Clause
 *
 * launcher.h in environments such as launchers and schedulers
 * make, with programs that stand in for squeue and flux. */
#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "cases.h"
#include "base/io.h"
#include "base/launcher.h"

static char bin[64];

/* NAME=VALUE ..., and nothing else. */
static void environment(const char *text)
{
	char copy[1024];
	snprintf(copy, sizeof copy, "%s", text);
	clearenv();
	for (char *s = strtok(copy, " "); s; s = strtok(NULL, " ")) {
		char *value = strchr(s, '=');
		*value++ = '\0';
		setenv(s, value, 1);
	}
	setenv("PATH", bin, 1);
}

static void program(const char *name, const char *script)
{
	char path[160], text[400];
	snprintf(path, sizeof path, "%s/%s", bin, name);
	int n = snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
	assert_int_equal(io_write_file(path, text, (size_t)n), 0);
	assert_int_equal(chmod(path, 0755), 0);
}

static int start(void **state)
{
	snprintf(bin, sizeof bin, "/tmp/dlx-launcher-%ld", (long)getpid());
	return io_mkdirs(bin);
}

static int end(void **state)
{
	return io_remove_tree(bin);
}

static void is_at(const char *env, struct launcher_place want)
{
	struct launcher_place p;
	environment(env);
	launcher_place(&p);
	if (want.launcher)
		assert_string_equal(p.launcher, want.launcher);
	else
		assert_null(p.launcher);
	assert_int_equal(p.rank, want.rank);
	assert_int_equal(p.size, want.size);
	assert_int_equal(p.local_rank, want.local_rank);
	assert_int_equal(p.local_size, want.local_size);
	assert_int_equal(p.host, want.host);
	assert_int_equal(p.hosts, want.hosts);
}

static const struct launcher_place alone = { NULL, 0, 1, 0, 1, 0, 1 };

static void no_launcher(void **state)
{
	is_at("", alone);
	/* A batch script itself is one process, whatever the job requested. */
	is_at("SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LOCALID=0 SLURM_NODEID=0", alone);
	is_at("LSB_JOBID=3 PBS_JOBID=1.x", alone);
}

static void launchers(void **state)
{
	const char *slurm = "SLURM_PROCID=13 SLURM_STEP_NUM_TASKS=14 SLURM_LOCALID=1 SLURM_NODEID=3 "
	                    "SLURM_STEP_NUM_NODES=4 SLURM_STEP_TASKS_PER_NODE=4(x3),2";
	is_at(slurm, (struct launcher_place){ "slurm", 13, 14, 1, 2, 3, 4 });
	is_at("SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=12 SLURM_LOCALID=1 "
	      "SLURM_NODEID=1 SLURM_STEP_NUM_NODES=3 "
	      "SLURM_STEP_TASKS_PER_NODE=4(x3)", (struct launcher_place){ "slurm", 5, 12, 1, 4, 1, 3 });
	/* MPICH under srun. */
	is_at("PMI_RANK=1 PMI_SIZE=2 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 "
	      "SLURM_NODEID=1 SLURM_STEP_NUM_NODES=2 "
	      "SLURM_STEP_TASKS_PER_NODE=1(x2)", (struct launcher_place){ "slurm", 1, 2, 0, 1, 1, 2 });
	/* mpiexec in a job: srun's numbers are those of its daemons. */
	is_at("PMI_RANK=5 PMI_SIZE=8 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=4 SLURM_PROCID=1 "
	      "SLURM_STEP_NUM_TASKS=2 SLURM_NODEID=1", (struct launcher_place){ "hydra", 5, 8, 1, 4,
		-1, -1 });
	is_at("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 "
	      "OMPI_COMM_WORLD_LOCAL_SIZE=2", (struct launcher_place){ "open mpi", 2, 4, 0, 2,
		-1, -1 });
	is_at("JSM_NAMESPACE_RANK=6 JSM_NAMESPACE_SIZE=12 JSM_NAMESPACE_LOCAL_RANK=0 "
	      "JSM_NAMESPACE_LOCAL_SIZE=6 LSB_JOBID=1", (struct launcher_place){ "jsm", 6, 12, 0, 6,
		-1, -1 });
	is_at("FLUX_TASK_RANK=3 FLUX_JOB_SIZE=4 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_NNODES=2",
	      (struct launcher_place){ "flux", 3, 4, 1, -1, -1, 2 });
	is_at("PMI_RANK=0 PMI_SIZE=3", (struct launcher_place){ "pmi", 0, 3, -1, -1, -1, -1 });
}

/* What makes no sense is not believed. */
static void nonsense(void **state)
{
	is_at("PMI_RANK=3 PMI_SIZE=3", alone);
	is_at("PMI_RANK=x PMI_SIZE=3", alone);
	is_at("PMI_RANK=-1 PMI_SIZE=3", alone);
	is_at("PMI_RANK=0 PMI_SIZE=99999999999999999999", alone);
	is_at("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=2 "
	      "OMPI_COMM_WORLD_LOCAL_SIZE=2", (struct launcher_place){ "open mpi", 1, 4, -1, -1,
		-1, -1 });
	is_at("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 "
	      "SLURM_NODEID=5 SLURM_STEP_NUM_NODES=2 "
	      "SLURM_STEP_TASKS_PER_NODE=1(x0),,", (struct launcher_place){ "slurm", 0, 2, 0, -1,
		5, 2 });
}

static void is_job(const char *env, struct launcher_job want)
{
	struct launcher_job j;
	environment(env);
	assert_true(launcher_job(&j));
	assert_string_equal(j.scheduler, want.scheduler);
	assert_string_equal(j.id, want.id);
	if (want.element)
		assert_string_equal(j.element, want.element);
	else
		assert_null(j.element);
	assert_int_equal(j.restarts, want.restarts);
}

static void jobs(void **state)
{
	struct launcher_job j;
	environment("HOME=/");
	assert_false(launcher_job(&j));
	is_job("SLURM_JOB_ID=71", (struct launcher_job){ "slurm", "71", NULL, 0 });
	is_job("SLURM_JOB_ID=72 SLURM_ARRAY_TASK_ID=0 SLURM_RESTART_COUNT=2",
	       (struct launcher_job){ "slurm", "72", "0", 2 });
	is_job("LSB_JOBID=5 LSB_JOBINDEX=0", (struct launcher_job){ "lsf", "5", NULL, 0 });
	is_job("LSB_JOBID=5 LSB_JOBINDEX=4 LSB_RESTART=Y", (struct launcher_job){ "lsf", "5", "4", 1 });
	is_job("PBS_JOBID=9[3].host PBS_ARRAY_INDEX=3",
	       (struct launcher_job){ "pbs", "9[3].host", "3", 0 });
	is_job("FLUX_JOB_ID=f12", (struct launcher_job){ "flux", "f12", NULL, 0 });
}

static double left(const char *env)
{
	environment(env);
	return launcher_time_left();
}

static void told(void **state)
{
	char env[128];
	assert_true(left("") == INFINITY);
	assert_true(left("LSB_JOBID=1") == INFINITY);
	snprintf(env, sizeof env, "LSB_JOBID=1 DLX_JOB_END=%lld", (long long)time(NULL) + 100);
	double s = left(env);
	assert_true(s > 90 && s <= 100);
	snprintf(env, sizeof env, "SLURM_JOB_ID=1 SLURM_JOB_END_TIME=%lld", (long long)time(NULL) + 50);
	s = left(env);
	assert_true(s > 40 && s <= 50);
	assert_true(left("DLX_JOB_END=1") == 0);
	assert_true(left("DLX_JOB_END=soon") == INFINITY);
}

static void asked(void **state)
{
	static const struct { const char *answer; double left; } says[] = {
		{ "1-02:03:04", 93784 }, { "2:03:04", 7384 }, { "3:04", 184 }, { "0:07", 7 },
		{ "UNLIMITED", INFINITY },
		{ "INVALID", INFINITY }, { "", INFINITY }, { "12 apples", INFINITY } };
	assert_true(left("SLURM_JOB_ID=1") == INFINITY); /* no squeue */
	for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
		char script[200];
		snprintf(script, sizeof script, "[ \"$*\" = '-h -j 17 -o %%L' ] || echo 0; echo '%s'",
		         says[i].answer);
		program("squeue", script);
		assert_true(left("SLURM_JOB_ID=17") == says[i].left);
	}
	program("flux", "[ \"$*\" = 'job timeleft' ] && echo 3541");
	assert_true(left("FLUX_JOB_ID=f1") == 3541);
	program("flux", "echo infinity");
	assert_true(left("FLUX_JOB_ID=f1") == INFINITY);
}

/* A scheduler that does not answer does not block for ever. */
static void silent(void **state)
{
	char ended[160];
	program("squeue", "i=0\nwhile [ -f \"$0\" ] && [ $i -lt 600 ]; do /bin/sleep 1; i=$((i + 1)); "
	        "done\necho >\"$0.ended\"");
	snprintf(ended, sizeof ended, "%s/squeue.ended", bin);
	assert_true(left("SLURM_JOB_ID=17") == INFINITY);
	assert_int_not_equal(access(ended, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_launcher), cmocka_unit_test(launchers), cmocka_unit_test(nonsense),
		cmocka_unit_test(jobs), cmocka_unit_test(told), cmocka_unit_test(asked),
		cmocka_unit_test(silent),
	};
	return cmocka_run_group_tests(tests, start, end);
}
