/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The same pages are mapped again and again. */
#include "backend/proof/proof_pattern.h"

#include <sys/mman.h>
#include <unistd.h>

#include "backend/proof/proof_memory.h"
#include "base/err.h"
#include "base/round.h"

/* Maps the file's one period at each place of it. */
static int map_periods(struct proof_pattern *p, int fd, size_t page)
{
	p->p = mmap(NULL, round_up(p->bytes, page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->p == MAP_FAILED) {
		p->p = NULL;
		return ERR(E_NOMEM, NULL, "no memory for the inputs of a proof: %m");
	}
	for (size_t at = 0; at < p->bytes; at += p->period) {
		const size_t part = p->bytes - at < p->period ? p->bytes - at : p->period;
		if (mmap(p->p + at, round_up(part, page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		         fd, 0) == MAP_FAILED)
			return ERR(E_NOMEM, NULL, "no memory for the inputs of a proof: %m");
	}
	return 0;
}

int proof_pattern_make(struct proof_pattern *out, enum dtype t, size_t bytes, int number)
{
	static const size_t primes[] = { 1021, 1019, 1013, 1009 };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE),
	             most = primes[(size_t)number % (sizeof primes / sizeof *primes)] * page;
	const int fd = memfd_create("dlx-proof", MFD_CLOEXEC);
	int rc = 0;
	out->bytes = bytes;
	out->period = bytes < most ? bytes : most;
	if (fd < 0 || ftruncate(fd, (off_t)round_up(out->period, page)) < 0)
		rc = ERR(E_UNAVAILABLE, NULL, "no file for the inputs of a proof: %m");
	if (rc == 0)
		rc = map_periods(out, fd, page);
	if (fd >= 0)
		close(fd);
	if (rc == 0)
		proof_memory_random(t, out->p, (int64_t)(out->period / dtype_size(t)), (uint64_t)number);
	return rc;
}

void proof_pattern_free(struct proof_pattern *p)
{
	if (p->p)
		munmap(p->p, round_up(p->bytes, (size_t)sysconf(_SC_PAGESIZE)));
	p->p = NULL;
}
