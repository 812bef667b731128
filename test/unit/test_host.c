/* SPDX-License-Identifier: BSD-3-Clause
 *
 * host.h on made-up /proc and /sys: control groups of both
 * versions, limits further up, containers, none at all. */
#include <math.h>
#include <sched.h>

#include "cases.h"
#include "base/debug.h"
#include "base/host.h"
#include "base/io.h"

static char root[64];

static void file(const char *path, const char *text)
{
	char full[256];
	snprintf(full, sizeof full, "%s%s", root, path);
	*strrchr(full, '/') = '\0';
	assert_int_equal(io_mkdirs(full), 0);
	full[strlen(full)] = '/';
	assert_int_equal(io_write_file(full, text, strlen(text)), 0);
}

static int start(void **state)
{
	snprintf(root, sizeof root, "/tmp/dlx-host-%ld", (long)getpid());
	debug.host_root = root;
	return io_mkdirs(root);
}

static int end(void **state)
{
	return io_remove_tree(root);
}

static void says(int64_t bytes, const char *by)
{
	const char *who;
	assert_true(host_memory(&who) == bytes);
	if (bytes)
		assert_string_equal(who, by);
}

static void says_whole(int64_t bytes, const char *by)
{
	const char *who;
	assert_true(host_memory_whole(&who) == bytes);
	assert_string_equal(who, by);
}

static void nothing_known(void **state)
{
	says(0, NULL);
}

static void machine(void **state)
{
	file("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n");
	file("/proc/self/cgroup", "0::/a/b\n");
	file("/sys/fs/cgroup/a/b/memory.max", "max\n");
	says(4000 * 1024, "machine");
	says_whole(9000 * 1024, "machine");
	file("/sys/fs/cgroup/a/b/memory.max", "99000000\n");
	says(4000 * 1024, "machine");
	says_whole(9000 * 1024, "machine");
	file("/sys/fs/cgroup/a/b/memory.max", "5000000\n");
	says(4000 * 1024, "machine");
	says_whole(5000000, "control group");
}

static void version_2(void **state)
{
	file("/proc/meminfo", "MemAvailable:    4000 kB\n");
	file("/proc/self/cgroup", "0::/a/b\n");
	file("/sys/fs/cgroup/a/b/memory.max", "3000000\n");
	says(3000000, "control group");
	file("/sys/fs/cgroup/a/memory.max", "2000000\n");
	says(2000000, "control group");
}

static void version_1(void **state)
{
	file("/proc/self/cgroup", "4:cpu,cpuacct:/job\n9:memory:/job/7\n");
	file("/sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "9223372036854771712\n");
	file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000000\n");
	says(1000000, "control group");
}

static void container(void **state)
{
	file("/proc/self/cgroup", "0::/\n");
	file("/sys/fs/cgroup/memory.max", "5000000\n");
	says(5000000, "control group");
}

static void processors(void **state)
{
	assert_int_equal(host_processor_quota(), 0);
	file("/proc/self/cgroup", "0::/a/b\n");
	file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	assert_int_equal(host_processor_quota(), 0);
	file("/sys/fs/cgroup/a/b/cpu.max", "350000 100000\n");
	assert_int_equal(host_processor_quota(), 3);       /* whole ones */
	file("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
	assert_int_equal(host_processor_quota(), 2);
	file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
	assert_int_equal(host_processor_quota(), 1);
	file("/sys/fs/cgroup/cpu.max", "nonsense\n");
	assert_int_equal(host_processor_quota(), 2);
}

/* Of those that it may run on, each of several processes has its share, and one at least. */
static void own_processors(void **state)
{
	cpu_set_t set;
	assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
	const int all = CPU_COUNT(&set);
	unsetenv("SLURM_CPUS_PER_TASK");
	assert_int_equal(host_processors(), all);
	host_share(2);
	assert_int_equal(host_processors(), all > 1 ? all / 2 : 1);
	host_share(1);
	file("/proc/self/cgroup", "0::/a/b\n");
	file("/sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
	assert_int_equal(host_processors(), 1);
	file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	setenv("SLURM_CPUS_PER_TASK", "1", 1);
	assert_int_equal(host_processors(), 1);
	unsetenv("SLURM_CPUS_PER_TASK");
	assert_int_equal(host_processors(), all);
}

static void processors_version_1(void **state)
{
	file("/proc/self/cgroup", "9:memory:/job\n5:cpuset:/job\n4:cpu,cpuacct:/job/7\n");
	file("/sys/fs/cgroup/cpu/job/7/cpu.cfs_quota_us", "-1\n");
	file("/sys/fs/cgroup/cpu/job/7/cpu.cfs_period_us", "100000\n");
	assert_int_equal(host_processor_quota(), 0);
	file("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "800000\n");
	file("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
	assert_int_equal(host_processor_quota(), 8);
}

static void load_of_nothing(void **state)
{
	struct host_load l;
	host_load(&l);
	assert_true(l.cpu_seconds >= 0 && l.involuntary >= 0);       /* the process's own */
	assert_true(isnan(l.queued_seconds) && isnan(l.periods) && isnan(l.throttled_periods));
	assert_true(isnan(l.throttled_seconds) && isnan(l.load));
}

/* Of all threads; of the group and of those above it. */
static void load_version_2(void **state)
{
	struct host_load l;
	file("/proc/loadavg", "6.25 1.00 0.50 3/400 77\n");
	file("/proc/self/task/7/schedstat", "5000 2000000000 9\n");
	file("/proc/self/task/8/schedstat", "5000 500000000 9\n");
	file("/proc/self/task/9/other", "5000 1000000000 9\n");
	file("/proc/self/cgroup", "0::/a/b\n");
	file("/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 9\nuser_usec 8\nnr_periods 40\n"
	     "nr_throttled 10\nthrottled_usec 3000000\n");
	file("/sys/fs/cgroup/a/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_usec 500000\n");
	host_load(&l);
	assert_true(l.load == 6.25 && fabs(l.queued_seconds - 2.5) < 1e-9);
	assert_true(l.periods == 42 && l.throttled_periods == 11);
	assert_true(fabs(l.throttled_seconds - 3.5) < 1e-9);
	file("/sys/fs/cgroup/a/b/cpu.stat", "nonsense\n");
	host_load(&l);
	assert_true(l.periods == 2);
}

static void load_version_1(void **state)
{
	struct host_load l;
	file("/proc/self/cgroup", "9:memory:/job\n4:cpu,cpuacct:/job/7\n");
	file("/sys/fs/cgroup/cpu/job/7/cpu.stat", "nr_periods 40\nnr_throttled 10\n"
	     "throttled_time 3000000000\n");
	host_load(&l);
	assert_true(l.periods == 40 && l.throttled_periods == 10);
	assert_true(fabs(l.throttled_seconds - 3) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_known, start, end),
		cmocka_unit_test_setup_teardown(machine, start, end),
		cmocka_unit_test_setup_teardown(version_2, start, end),
		cmocka_unit_test_setup_teardown(version_1, start, end),
		cmocka_unit_test_setup_teardown(container, start, end),
		cmocka_unit_test_setup_teardown(processors, start, end),
		cmocka_unit_test_setup_teardown(own_processors, start, end),
		cmocka_unit_test_setup_teardown(processors_version_1, start, end),
		cmocka_unit_test_setup_teardown(load_of_nothing, start, end),
		cmocka_unit_test_setup_teardown(load_version_2, start, end),
		cmocka_unit_test_setup_teardown(load_version_1, start, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
