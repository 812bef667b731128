/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads /proc and the files of control groups. A group's limit applies to all groups below it, so
 * all ancestors up to the root are read. In a container the group's path may not exist; the root is
 * then the container's own group. Memory that a group already uses is not subtracted, since most of
 * it is page cache, which the system can reclaim. */
#include "base/host.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/debug.h"

/* Prepends the root (host_root) to path; false if the result is too long. */
static bool full_path(char full[1200], const char *path)
{
	const char *root = debug.host_root;
	return snprintf(full, 1200, "%s%s", root ? root : "", path) < 1200;
}

static FILE *open_file(const char *path)
{
	char full[1200];
	return full_path(full, path) ? fopen(full, "r") : NULL;
}

/* The number that is the content of a file; 0 if it is none ("max"). */
static int64_t number_in(const char *path)
{
	FILE *f = open_file(path);
	int64_t n = 0;
	if (!f)
		return 0;
	if (fscanf(f, "%" SCNd64, &n) != 1 || n < 0)
		n = 0;
	fclose(f);
	return n;
}

static int64_t less(int64_t a, int64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The smallest limit in this control group's folder and in its parents', up to the root. */
static int64_t least_upwards(const char *mount, const char *group,
                             int64_t (*limit)(const char *folder))
{
	char folder[1024], at[512];
	int64_t least = 0;
	snprintf(at, sizeof at, "%s", strcmp(group, "/") == 0 ? "" : group);
	for (;;) {
		char *slash = strrchr(at, '/');
		snprintf(folder, sizeof folder, "%s%s", mount, at);
		least = less(least, limit(folder));
		if (!slash)
			return least;
		*slash = '\0';
	}
}

static int64_t number_of(const char *folder, const char *file)
{
	char path[1100];
	snprintf(path, sizeof path, "%s/%s", folder, file);
	return number_in(path);
}

static int64_t memory_v2(const char *folder)
{
	return number_of(folder, "memory.max");
}

static int64_t memory_v1(const char *folder)
{
	return number_of(folder, "memory.limit_in_bytes");
}

static int64_t limit_of_groups(void)
{
	FILE *f = open_file("/proc/self/cgroup");
	char line[600], group[500];
	int64_t least = 0;
	while (f && fgets(line, sizeof line, f)) {
		char *v1 = strstr(line, ":memory:");
		if (sscanf(line, "0::%499[^\n]", group) == 1)
			least = less(least, least_upwards("/sys/fs/cgroup", group, memory_v2));
		else if (v1 && sscanf(v1, ":memory:%499[^\n]", group) == 1)
			least = less(least, least_upwards("/sys/fs/cgroup/memory", group, memory_v1));
	}
	if (f)
		fclose(f);
	return least;
}

static int64_t whole_processors(int64_t quota, int64_t period)
{
	if (quota <= 0 || period <= 0)
		return 0;
	return quota < period ? 1 : quota / period;
}

/* "QUOTA PERIOD", or "max PERIOD" where nothing limits. */
static int64_t processors_v2(const char *folder)
{
	char path[1100];
	int64_t quota = 0, period = 0;
	snprintf(path, sizeof path, "%s/cpu.max", folder);
	FILE *f = open_file(path);
	if (f && fscanf(f, "%" SCNd64 " %" SCNd64, &quota, &period) != 2)
		quota = 0;
	if (f)
		fclose(f);
	return whole_processors(quota, period);
}

static int64_t processors_v1(const char *folder)
{
	return whole_processors(number_of(folder, "cpu.cfs_quota_us"),
	                        number_of(folder, "cpu.cfs_period_us"));
}

/* Whether a line of /proc/self/cgroup is v1's of the controller
 * cpu ("4:cpu,cpuacct:/job"); where its group begins. */
static const char *cpu_group(char *line)
{
	char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
	if (!group)
		return NULL;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	for (char *n = strtok(names + 1, ","); n; n = strtok(NULL, ","))
		if (strcmp(n, "cpu") == 0)
			return group;
	return NULL;
}

static int sharers = 1;

void host_share(int processes)
{
	sharers = processes;
}

int host_processor_quota(void)
{
	FILE *f = open_file("/proc/self/cgroup");
	char line[600], group[500];
	int64_t least = 0;
	while (f && fgets(line, sizeof line, f)) {
		const char *v1;
		if (sscanf(line, "0::%499[^\n]", group) == 1)
			least = less(least, least_upwards("/sys/fs/cgroup", group, processors_v2));
		else if ((v1 = cpu_group(line)) != NULL)
			least = less(least, least_upwards("/sys/fs/cgroup/cpu", v1, processors_v1));
	}
	if (f)
		fclose(f);
	return least > INT32_MAX ? 0 : (int)least;
}

static int allowed(void)
{
	static int n;
	cpu_set_t set;
	if (n == 0)
		n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) :
		    (int)sysconf(_SC_NPROCESSORS_ONLN);
	return n;
}

int host_number(const char *variable)
{
	const char *text = variable ? getenv(variable) : NULL;
	char *end;
	if (!text || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	const long n = strtol(text, &end, 10);
	return *end || errno || n > INT_MAX ? -1 : (int)n;
}

/* The processors of the job by SLURM_CPUS_PER_TASK, since srun does not bind processes on every
 * system. */
static int64_t job_share(void)
{
	const int n = host_number("SLURM_CPUS_PER_TASK");
	return n > 0 ? n : 0;
}

int host_processors(void)
{
	int64_t n = less(allowed(), host_processor_quota()) / sharers;
	n = less(n ? n : 1, job_share());
	return n > 0 ? (int)n : 1;
}

/* The value of a line of /proc/meminfo, in bytes; 0 if there is no such line. */
static int64_t memory_line(const char *key)
{
	FILE *f = open_file("/proc/meminfo");
	const size_t n = strlen(key);
	char line[128];
	int64_t kib = 0;
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, key, n) == 0 && sscanf(line + n, ": %" SCNd64 " kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib > 0 && kib < INT64_MAX / 1024 ? kib * 1024 : 0;
}

static int64_t within_groups(int64_t machine, const char **by)
{
	int64_t groups = limit_of_groups();
	*by = groups && (machine == 0 || groups < machine) ? "control group" : "machine";
	return less(machine, groups);
}

int64_t host_memory(const char **by)
{
	return within_groups(memory_line("MemAvailable"), by);
}

int64_t host_memory_whole(const char **by)
{
	return within_groups(memory_line("MemTotal"), by);
}

/* --- the load --- */

/* Adds the numbers of a group's cpu.stat, whose last one is in seconds by `unit`. */
static void add_throttling(struct host_load *l, const char *folder, const char *seconds_key,
                           double unit)
{
	char path[1100], key[64];
	double v;
	snprintf(path, sizeof path, "%s/cpu.stat", folder);
	FILE *f = open_file(path);
	while (f && fscanf(f, "%63s %lf", key, &v) == 2) {
		double *to = strcmp(key, "nr_periods") == 0 ? &l->periods :
		             strcmp(key, "nr_throttled") == 0 ? &l->throttled_periods :
		             strcmp(key, seconds_key) == 0 ? &l->throttled_seconds : NULL;
		if (to)
			*to = (isnan(*to) ? 0 : *to) + (to == &l->throttled_seconds ? v * unit : v);
	}
	if (f)
		fclose(f);
}

/* Adds the throttling of this group and of its ancestors: any of them stops the process. */
static void add_groups(struct host_load *l, const char *mount, const char *group,
                       const char *seconds_key, double unit)
{
	char folder[1024], at[512];
	snprintf(at, sizeof at, "%s", strcmp(group, "/") == 0 ? "" : group);
	for (char *slash;; *slash = '\0') {
		snprintf(folder, sizeof folder, "%s%s", mount, at);
		add_throttling(l, folder, seconds_key, unit);
		slash = strrchr(at, '/');
		if (!slash)
			return;
	}
}

static void read_throttling(struct host_load *l)
{
	FILE *f = open_file("/proc/self/cgroup");
	char line[600], group[500];
	while (f && fgets(line, sizeof line, f)) {
		const char *v1;
		if (sscanf(line, "0::%499[^\n]", group) == 1)
			add_groups(l, "/sys/fs/cgroup", group, "throttled_usec", 1e-6);
		else if ((v1 = cpu_group(line)) != NULL)
			add_groups(l, "/sys/fs/cgroup/cpu", v1, "throttled_time", 1e-9);
	}
	if (f)
		fclose(f);
}

/* The second number of a thread's schedstat: nanoseconds ready without a processor. */
static double queued_of(const char *thread)
{
	char path[400];
	double ran, queued;
	snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", thread);
	FILE *f = open_file(path);
	if (!f || fscanf(f, "%lf %lf", &ran, &queued) != 2)
		queued = NAN;
	if (f)
		fclose(f);
	return queued * 1e-9;
}

static double queued_seconds(void)
{
	char full[1200];
	double sum = NAN;
	DIR *d = full_path(full, "/proc/self/task") ? opendir(full) : NULL;
	for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
		double v = e->d_name[0] == '.' ? NAN : queued_of(e->d_name);
		if (!isnan(v))
			sum = (isnan(sum) ? 0 : sum) + v;
	}
	if (d)
		closedir(d);
	return sum;
}

void host_load(struct host_load *out)
{
	struct rusage use;
	*out = (struct host_load){ NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	if (getrusage(RUSAGE_SELF, &use) == 0) {
		out->cpu_seconds = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		                   1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
		out->involuntary = (double)use.ru_nivcsw;
	}
	out->queued_seconds = queued_seconds();
	read_throttling(out);
	FILE *f = open_file("/proc/loadavg");
	if (f && fscanf(f, "%lf", &out->load) != 1)
		out->load = NAN;
	if (f)
		fclose(f);
}
