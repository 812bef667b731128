/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening a device by name, and the measured peak that utilisation figures refer to. */
#include "backend/device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/cuda.h"
#include "backend/dnn/cpu.h"
#include "backend/dnn/dnn.h"
#include "backend/openmp.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

/* The CPU's name as Linux reports it, or "cpu". */
static void cpu_name(char *out, size_t n)
{
	struct buf text = BUF_INIT;
	snprintf(out, n, "cpu");
	int mark = err_count();
	if (io_read_file("/proc/cpuinfo", &text) == 0) {
		const char *p = strstr(text.data, "model name");
		if (p && (p = strchr(p, ':')) != NULL) {
			p += 1 + strspn(p + 1, " \t");
			snprintf(out, n, "%.*s", (int)strcspn(p, "\n"), p);
		}
	}
	err_truncate(mark);
	buf_release(&text);
}

static int open_cpu(struct device *d, int local_rank)
{
	char cpu[64], library[48];
	(void)local_rank;
	cpu_name(cpu, sizeof cpu);
	dnn_describe(library, sizeof library);
	snprintf(d->description, sizeof d->description, "%s, %d thread%s, %s", cpu, d->threads,
	         d->threads == 1 ? "" : "s", library);
	snprintf(d->processor, sizeof d->processor, "%s, %s", cpu, library);
	return 0;
}

static int open_double(struct device *d, int local_rank)
{
	char cpu[64];
	(void)local_rank;
	cpu_name(cpu, sizeof cpu);
	d->name = "cpu";
	snprintf(d->description, sizeof d->description, "%s, %d thread%s, float64", cpu, d->threads,
	         d->threads == 1 ? "" : "s");
	snprintf(d->processor, sizeof d->processor, "%s", cpu);
	return 0;
}

static int open_reference(struct device *d, int local_rank)
{
	(void)local_rank;
	snprintf(d->description, sizeof d->description, "plain C in float64, %d thread%s",
	         d->threads, d->threads == 1 ? "" : "s");
	return 0;
}

static int open_cuda(struct device *d, int local_rank)
{
#ifdef HAVE_CUDA
	return cuda_open(d, local_rank);
#else
	(void)d;
	(void)local_rank;
	return ERR(E_UNAVAILABLE, NULL, "device 'cuda': this dlx was built without CUDA; build it with "
	           "the CUDA toolkit and cuDNN installed, or use 'device: cpu'");
#endif
}

/* The reason in an error that there is no GPU, without its remedy. */
static const char *reason(int mark)
{
	static const char prefix[] = "device 'cuda': ";
	char text[240];
	const char *why = mark < err_count() ? err_get(mark)->text : "";
	why += strncmp(why, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
	snprintf(text, sizeof text, "'device: auto' takes the CPU: %.*s", (int)strcspn(why, ";"), why);
	return str_intern(text);
}

/* Whether to say why the CPU was chosen: a build without CUDA says nothing if the machine has no
 * driver. */
static bool gpu_expected(void)
{
#ifdef HAVE_CUDA
	return true;
#else
	return access("/proc/driver/nvidia/version", F_OK) == 0;
#endif
}

/* A GPU if this program can use one, else the CPU; why says which and for what reason, or NULL. */
static int open_auto(struct device *d, int local_rank)
{
	int mark = err_count();
	d->backend = BACKEND_CUDA;
	d->name = "cuda";
	if (open_cuda(d, local_rank) == 0) {
		d->why = "'device: auto' takes the GPU";
		return 0;
	}
	d->backend = BACKEND_CPU;
	d->name = "cpu";
	d->why = gpu_expected() ? reason(mark) : NULL;
	err_truncate(mark);
	return open_cpu(d, local_rank);
}

static const struct {
	const char *name;
	enum backend backend;
	int (*open)(struct device *d, int local_rank);
} kinds[] = {
	{ "auto", BACKEND_CPU, open_auto },
	{ "cpu", BACKEND_CPU, open_cpu },
	{ DEVICE_DOUBLE, BACKEND_DOUBLE, open_double },
	{ "cuda", BACKEND_CUDA, open_cuda },
	{ "reference", BACKEND_REFERENCE, open_reference },
};

static int new_device(struct device **out, enum backend backend, const char *name)
{
	int threads;
	TRY(openmp_threads(&threads));
	struct device *d = *out = mem_calloc(1, sizeof *d);
	d->backend = backend;
	d->name = name;
	d->threads = threads;
	d->memory = mem_calloc(1, sizeof *d->memory);
	return 0;
}

static void free_device(struct device *d)
{
	if (d)
		mem_free(d->memory);
	mem_free(d);
}

int device_open_rank(struct device **out, const char *name, int local_rank)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(kinds[i].name, name) != 0)
			continue;
		struct device *d;
		TRY(new_device(&d, kinds[i].backend, kinds[i].name));
		int rc = kinds[i].open(d, local_rank);
		if (rc < 0) {
			free_device(d);
			return rc;
		}
		*out = d;
		return 0;
	}
	return ERR(E_USAGE, NULL, "unknown device '%s'; expected auto, cpu, cuda or reference", name);
}

int device_open_described(struct device **out, const char *gpu)
{
#ifdef HAVE_CUDA
	struct device *d;
	TRY(new_device(&d, BACKEND_CUDA, "cuda"));
	int rc = cuda_describe(d, gpu);
	if (rc < 0)
		free_device(d);
	else
		*out = d;
	return rc;
#else
	(void)out;
	return ERR(E_UNAVAILABLE, NULL, "'--gpu=%s': this dlx was built without CUDA, whose "
	           "kernels it would have to plan", gpu);
#endif
}

int device_open(struct device **out, const char *name)
{
	return device_open_rank(out, name, 0);
}

void device_close(struct device *d)
{
	if (d && d->driver)
		d->driver->close(d);
	free_device(d);
}

void *device_alloc(const struct device *d, size_t bytes)
{
	void *p = d->driver ? d->driver->alloc(d, bytes) : mem_map(bytes);
	if (p) {
		struct device_memory *m = d->memory;
		m->used += bytes;
		m->used_most = m->used > m->used_most ? m->used : m->used_most;
	}
	return p;
}

void device_free(const struct device *d, void *p, size_t bytes)
{
	if (p)
		d->memory->used -= bytes;
	if (p && d->driver)
		d->driver->free(d, p, bytes);
	else
		mem_unmap(p, bytes);
}

#define PART ((size_t)16 << 20)

void device_populate(const struct device *d, void *p, size_t bytes)
{
	size_t parts = d->driver ? 0 : (bytes + PART - 1) / PART;
#pragma omp parallel for schedule(static, 1)
	for (size_t i = 0; i < parts; i++)
		mem_populate((char *)p + i * PART, bytes - i * PART < PART ? bytes - i * PART : PART);
}

int device_put(const struct device *d, void *to, const void *host, size_t bytes)
{
	if (d->driver)
		return d->driver->put(d, to, host, bytes);
	memcpy(to, host, bytes);
	return 0;
}

int device_prepare(const struct device *d)
{
	if (d->driver && d->driver->planned)
		d->driver->planned(d);
	return d->backend == BACKEND_CPU ? dnn_generate() : 0;
}

int device_finish(const struct device *d)
{
	return d->driver ? d->driver->finish(d) : 0;
}

int device_get(const struct device *d, void *host, const void *from, size_t bytes)
{
	if (d->driver)
		return d->driver->get(d, host, from, bytes);
	memcpy(host, from, bytes);
	return 0;
}

bool device_rates_described(const struct device *d)
{
	return !d->driver && d->backend != BACKEND_REFERENCE && debug.rates.f32 > 0;
}

static double measure_peak(struct device *d, enum dtype type, bool tf32)
{
	if (d->driver)
		return d->driver->measure_peak(d, type, tf32);
	if (d->backend == BACKEND_REFERENCE)
		return 0;
	if (d->backend == BACKEND_DOUBLE)        /* a vector has half the elements */
		return (device_rates_described(d) ? debug.rates.f32 : cpu_measure_peak()) / 2;
	if (device_rates_described(d))
		return type == DTYPE_F32 ? debug.rates.f32 : debug.rates.bf16;
	return type == DTYPE_F32 ? cpu_measure_peak() : cpu_measure_peak_bf16(d->threads);
}

/* Processors have no TF32. */
static double *peak_of(struct device *d, bool tf32)
{
	return tf32 && d->driver ? &d->peak_tf32 : &d->peak_flops;
}

/* Whether the peak of 16-bit products applies: a GPU multiplies bf16 and fp16 at the same rate;
 * devices with F64 floats use neither. */
static bool is_half(const struct device *d, enum dtype type)
{
	return (type == DTYPE_BF16 && !backend_is_double(d->backend)) ||
	       (type == DTYPE_F16 && d->driver);
}

double device_measure_peak(struct device *d, enum dtype type, bool tf32)
{
	double *wide = peak_of(d, tf32);
	if (*wide == 0)
		*wide = measure_peak(d, DTYPE_F32, tf32);
	if (is_half(d, type) && d->peak_bf16 == 0)
		d->peak_bf16 = measure_peak(d, DTYPE_BF16, tf32);
	return is_half(d, type) && d->peak_bf16 > 0 ? d->peak_bf16 : *wide;
}

double device_reached_peak(struct device *d, enum dtype type, bool tf32, double flops)
{
	double *peak = is_half(d, type) && d->peak_bf16 > 0 ? &d->peak_bf16 : peak_of(d, tf32);
	if (*peak > 0 && flops > *peak)
		*peak = flops;
	return *peak;
}

double device_measure_bandwidth(struct device *d)
{
	if (d->bandwidth == 0 && d->driver)
		d->bandwidth = d->driver->measure_bandwidth(d);
	else if (d->bandwidth == 0 && d->backend != BACKEND_REFERENCE)
		d->bandwidth = device_rates_described(d) ? debug.rates.bytes : cpu_measure_bandwidth();
	return d->bandwidth;
}

enum dtype device_dtype(const struct device *d, enum dtype t)
{
	return backend_is_double(d->backend) && dtype_is_float(t) ? DTYPE_F64 : t;
}
