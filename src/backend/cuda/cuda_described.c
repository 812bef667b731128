/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures of NVIDIA's data sheets for the modules with SXM sockets. Memory is what such a GPU
 * shows, not the rounded figure it is sold by. Links are those of NVIDIA's own hosts of eight:
 * NVLink 3 and 4 with 600 and 900 GB/s, of which half goes each way, and for each GPU an adapter
 * of 200 (DGX A100) or 400 Gbit/s (DGX H100, H200). */
#include "backend/cuda/cuda_described.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static const struct gpu_model models[] = {
	{ "a100-40g", "NVIDIA A100-SXM4-40GB", 80, 108, 42949672960, 19.5e12, 156e12, 312e12, 1.555e12,
	  300e9, 25e9, 1410000, 1215000, 41943040, 166912 },
	{ "a100", "NVIDIA A100-SXM4-80GB", 80, 108, 85899345920, 19.5e12, 156e12, 312e12, 2.039e12,
	  300e9, 25e9, 1410000, 1593000, 41943040, 166912 },
	{ "h100", "NVIDIA H100 80GB HBM3", 90, 132, 85520809984, 67e12, 494.5e12, 989e12, 3.35e12,
	  450e9, 50e9, 1980000, 2619000, 52428800, 232448 },
	{ "h200", "NVIDIA H200", 90, 132, 150754820096, 67e12, 494.5e12, 989e12, 4.8e12, 450e9, 50e9,
	  1980000, 3201000, 62914560, 232448 },
};
#define NMODELS (sizeof models / sizeof *models)
#define UNNAMED (NMODELS - 1)

/* "80GiB", "141GB", in bytes; -1: it is none. */
static int64_t parse_size(const char *text)
{
	static const struct { const char *unit; double bytes; } units[] = { { "MiB", 0x1p20 },
		{ "GiB", 0x1p30 }, { "MB", 1e6 }, { "GB", 1e9 } };
	char *end;
	double n = strtod(text, &end);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (end != text && strcmp(end, units[i].unit) == 0 && n * units[i].bytes >= 1 &&
		    n * units[i].bytes < 0x1p50)
			return (int64_t)(n * units[i].bytes);
	return -1;
}

int gpu_model_parse(struct gpu_model *out, const char *text)
{
	const size_t n = strcspn(text, ":");
	const char *size = text[n] ? text + n + 1 : NULL;
	const struct gpu_model *found = NULL;
	for (size_t i = 0; i < NMODELS; i++)
		if (strlen(models[i].key) == n && strncmp(models[i].key, text, n) == 0)
			found = &models[i];
	if (!found && !size && parse_size(text) > 0) {
		found = &models[UNNAMED];
		size = text;
	}
	if (!found || (size && parse_size(size) < 0))
		return ERR(E_USAGE, NULL, "'--gpu=%s': expected one of a100-40g, a100, h100, h200, a size "
		           "of memory (80GiB), or both (h100:64GiB)", text);
	*out = *found;
	if (size)
		out->bytes = parse_size(size);
	return 0;
}

void gpu_model_json(const struct gpu_model *m, char *out, int n)
{
	snprintf(out, (size_t)n, "{\"deviceName\":\"%s\",\"deviceVer\":%d,\"driverVer\":13000,"
	         "\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
	         "\"regsPerBlock\":65536,"
	         "\"multiProcessorCount\":%d,\"smClockRateKHz\":%d,\"memClockRateKHz\":%d,"
	         "\"l2CacheSize\":%d,\"warpSize\":32,"
	         "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%d,"
	         "\"reservedSharedMemoryPerBlock\":1024,"
	         "\"maxRegistersPerSM\":65536,\"pciDeviceId\":0,\"maxCtasPerSM\":32,"
	         "\"maxThreadsPerBlock\":1024,"
	         "\"maxThreadsPerSM\":2048,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
	         "\"totalGlobalMem\":%lld,\"cudaDeviceId\":0}",
	         m->name, 10 * m->arch, m->multiprocessors, m->clock, m->memory_clock, m->l2, m->shared,
	         (long long)m->bytes);
}

const struct gpu_model *gpu_model_find(const char *name)
{
	for (size_t i = 0; i < NMODELS; i++)
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	return NULL;
}

double gpu_model_peak(const struct gpu_model *m, enum dtype t, bool tf32)
{
	return t != DTYPE_F32 ? m->bits16 : tf32 ? m->tf32 : m->f32;
}
