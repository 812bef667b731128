/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processor of emulate.h: fibers for the threads of a block, blocks one after another.
 * Every other block runs its threads in falling order, every other launch its blocks: a thread that
 * reads what another thread or block has yet to write, or writes what it has yet to read, shows in
 * one of the orders. */
#include "emulate.h"
#include "emulate_shared.h"

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <ucontext.h>

namespace emulate {

place at;
char *dynamic_shared;

namespace {

enum state { READY, AT_BARRIER, AT_EXCHANGE, DONE };
constexpr size_t STACK = 64 << 10;

#ifdef __x86_64__
/* Where one goes on: its stack, on which are the registers that a call keeps. */
typedef void *place_to_go;
#else
struct place_to_go {
	jmp_buf at;
};
#endif

struct fiber {
	place_to_go place;
	std::vector<char> stack;
	state now;
	uint3 thread;
	int index;
	unsigned exchanges;                 /* in this block */
};

std::vector<fiber> fibers;
std::vector<uint64_t> slot[2];      /* of exchanges in turn, by thread */
place_to_go scheduler;
fiber *running;
const std::function<void()> *body;
bool falling;                       /* the order of this block's threads */

/* change: goes on at `to`, and comes back to `from`. Without the system calls of swapcontext, which
 * would take most of the time; by setjmp and longjmp of the C library it takes thrice as long. */
#ifdef __x86_64__
asm(".pushsection .text\n"
    ".type emulate_change, @function\n"
    "emulate_change:\n"
    "	pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
    "	movq %rsp, (%rdi)\n"
    "	movq %rsi, %rsp\n"
    "	popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp\n"
    "	ret\n"
    ".size emulate_change, . - emulate_change\n"
    ".popsection\n");
extern "C" void emulate_change(void **from, void *to);

void change(place_to_go &from, place_to_go &to)
{
	emulate_change(&from, to);
}
#else
void change(place_to_go &from, place_to_go &to)
{
	if (_setjmp(from.at) == 0)
		_longjmp(to.at, 1);
}
#endif

/* A fiber is made once, and is a thread of one block after another. */
void enter()
{
	for (;;) {
		(*body)();
		running->now = DONE;
		change(running->place, scheduler);
	}
}

#ifdef __x86_64__
/* As if enter had been called, and had called change at once: below its return address, which no
 * one uses, six registers. */
void make(fiber &f)
{
	f.stack.resize(STACK);
	const uintptr_t end = ((uintptr_t)f.stack.data() + STACK) / 16 * 16;
	void **const top = (void **)end - 2;
	*top = (void *)enter;
	for (int i = 1; i <= 6; i++)
		top[-i] = NULL;
	f.place = top - 6;
}
#else
/* Runs it on its stack up to where it would be a thread, and comes back. */
void enter_first()
{
	change(running->place, scheduler);
	enter();
}

void make(fiber &f)
{
	ucontext_t first;
	f.stack.resize(STACK);
	getcontext(&first);
	first.uc_stack.ss_sp = f.stack.data();
	first.uc_stack.ss_size = f.stack.size();
	first.uc_link = nullptr;
	makecontext(&first, enter_first, 0);
	running = &f;
	if (_setjmp(scheduler.at) == 0)
		setcontext(&first);
}
#endif

void yield(state s)
{
	fiber *me = running;
	me->now = s;
	change(me->place, scheduler);
	at.thread = me->thread;
}

void start(fiber &f, int index)
{
	f.index = index;
	f.exchanges = 0;
	f.thread = { (unsigned)index % at.block_size.x,
		(unsigned)index / at.block_size.x % at.block_size.y,
		     (unsigned)index / (at.block_size.x * at.block_size.y) };
	f.now = READY;
	if (f.stack.empty())
		make(f);
}

void resume(fiber &f)
{
	running = &f;
	at.thread = f.thread;
	change(scheduler, f.place);
}

/* Runs the threads of one warp until none is ready; releases
 * those that wait for an exchange once all that live do. */
void run_warp(int first, int end)
{
	for (bool again = true; again;) {
		int waiting = 0, alive = 0;
		for (int i = 0; i < end - first; i++) {
			fiber &f = fibers[falling ? end - 1 - i : first + i];
			if (f.now == READY)
				resume(f);
			alive += f.now != DONE;
			waiting += f.now == AT_EXCHANGE;
		}
		again = waiting > 0;
		if (waiting && waiting != alive) {
			fprintf(stderr, "emulate: a warp's threads do not meet: %d of %d at a shuffle\n",
			        waiting, alive);
			abort();
		}
		for (int i = first; i < end && waiting; i++)
			if (fibers[i].now == AT_EXCHANGE)
				fibers[i].now = READY;
	}
}

void run_block(int n)
{
	for (int i = 0; i < n; i++)
		start(fibers[i], i);
	for (bool again = true; again;) {
		for (int i = 0, warps = (n + 31) / 32; i < warps; i++) {
			const int first = 32 * (falling ? warps - 1 - i : i);
			run_warp(first, first + 32 < n ? first + 32 : n);
		}
		again = false;
		for (int i = 0; i < n; i++)
			if (fibers[i].now == AT_BARRIER) {
				fibers[i].now = READY;
				again = true;
			}
	}
}

void run_grid(const std::string &name, dim3 grid, dim3 block, size_t shared,
              const std::function<void()> &f)
{
	static unsigned launches;
	const size_t n = (size_t)block.x * block.y * block.z, blocks = (size_t)grid.x * grid.y * grid.z;
	const bool backwards = launches++ % 2;
	std::vector<char> memory(shared + 16);
	if (fibers.size() < n)
		fibers.resize(n);
	for (std::vector<uint64_t> &s : slot)
		s.assign(n, 0);
	body = &f;
	at.block_size = block;
	at.grid_size = grid;
	dynamic_shared = memory.data();
	for (size_t i = 0; i < blocks; i++) {
		const size_t b = backwards ? blocks - 1 - i : i;
		at.block = { (unsigned)(b % grid.x), (unsigned)(b / grid.x % grid.y),
			(unsigned)(b / grid.x / grid.y) };
		falling = i % 2 != backwards;
		memory.assign(memory.size(), (char)POISON);
		poison_shared(i ? name.c_str() : NULL);
		run_block((int)n);
	}
}

} /* namespace */

int lane()
{
	return running->index % 32;
}

void sync_block()
{
	yield(AT_BARRIER);
}

int turn()
{
	return running->exchanges % 2;
}

/* A thread writes again where it wrote two exchanges ago: all have read that when they came to the
 * exchange between. */
uint64_t exchange(uint64_t mine, int from_lane)
{
	const std::vector<uint64_t> &given = slot[turn()];
	const int index = running->index, from = index / 32 * 32 + from_lane;
	slot[turn()][index] = mine;
	running->exchanges++;
	yield(AT_EXCHANGE);
	return given[(size_t)from < given.size() ? from : index];
}

uint64_t nanoseconds()
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The kernel that this thread launches. */
thread_local std::string launched;

void count_launch(const char *name)
{
	struct counts {
		std::map<std::string, long> of;
		~counts()
		{
			FILE *f = getenv("DLX_EMULATE_LAUNCHES") ? fopen(getenv("DLX_EMULATE_LAUNCHES"), "w") :
			          NULL;
			for (const auto &c : of)
				if (f)
					fprintf(f, "%s %ld\n", c.first.c_str(), c.second);
			if (f)
				fclose(f);
		}
	};
	static counts all;
	if (name[0] == '(')              /* "(descend<KIND, N>)" */
		name++;
	launched.assign(name, strcspn(name, "<)"));
	all.of[launched]++;
}

namespace {
/* Bytes of shared memory whose size the launch gives, of kernels that have requested more than all
 * may have. A kernel may not ask for less again, which launches that were recorded before, or that
 * another thread makes, may need. */
std::map<const void *, int> most_shared;
std::mutex most_lock;
} /* namespace */

extern "C" cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute what,
                                            int value)
{
	std::lock_guard<std::mutex> held(most_lock);
	if (what == cudaFuncAttributePreferredSharedMemoryCarveout)
		return value <= 100 ? cudaSuccess : fail(cudaErrorInvalidValue);
	int &most = most_shared[kernel];
	if (what != cudaFuncAttributeMaxDynamicSharedMemorySize || value > 227 << 10 || value < most)
		return fail(cudaErrorInvalidValue);
	most = value;
	return cudaSuccess;
}

/* As compute capability 9.0 has it. Any kernel's registers are there for 256 threads, for more than
 * that only where its code was compiled for it, which is not known here. */
bool takes(const void *kernel, dim3 grid, dim3 block, size_t shared, size_t parameters)
{
	std::lock_guard<std::mutex> held(most_lock);
	const auto asked = most_shared.find(kernel);
	const size_t most = asked == most_shared.end() ? 48 << 10 : (size_t)asked->second;
	const size_t n = (size_t)block.x * block.y * block.z;
	int driver = 0;
	cudaDriverGetVersion(&driver);
	if (n == 0 || n > 256 || block.z > 64 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
	    grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
		return fail(cudaErrorInvalidConfiguration) == cudaSuccess;
	if (shared > most || parameters > (driver < 12010 ? 4096 : 32764))
		return fail(cudaErrorInvalidValue) == cudaSuccess;
	return true;
}

bool begun;
static moved before;                     /* of what runs on the host */
moved *moves = &before;

void begin(const char *declaration)
{
	struct kernels {
		std::map<std::string, moved> of;
		~kernels()
		{
			const char *path = getenv("DLX_EMULATE_MOVED");
			FILE *f = path ? fopen(path, "w") : NULL;
			for (const auto &k : of)
				if (f)
					fprintf(f, "%llu %llu %s\n", (unsigned long long)k.second.words,
					        (unsigned long long)k.second.bytes, k.first.c_str());
			if (f)
				fclose(f);
		}
	};
	static kernels all;
	static const char *last;
	begun = true;
	if (declaration != last)
		moves = &all.of[declaration];
	last = declaration;
}

/* Threads run one after another, each up to a barrier first: the flag is that of a kernel's code,
 * which all of its threads have. */
void check_begun(const char *name)
{
	if (begun)
		return;
	fprintf(stderr, "emulated GPU: the kernel '%s' does not begin with BEGIN_KERNEL\n", name);
	abort();
}

void launch(dim3 grid, dim3 block, size_t shared, void *stream, std::function<void()> f)
{
	const char *us = getenv("DLX_EMULATE_KERNEL");
	count_launch();
	emulate_spend(us ? atof(us) : 0);
	const std::string name = launched;
	submit(stream, [=] {
		run_grid(name, grid, block, shared, f);
		return true;
	});
}

} /* namespace emulate */
