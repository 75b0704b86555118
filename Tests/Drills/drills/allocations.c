/* Preloaded: keeps in the file ALLOCATIONS how many blocks and bytes of the heap are in use, as two numbers
   of 64 bits, and behind them a third: what LeakSanitizer found at the end, where the binary has it. Such a
   binary has a heap of its own, so that nothing is counted here; and it looks for leaks in exit alone, which
   Outtray does not call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { NO_LEAKS = 1, LEAKS = 2 };

struct counts {
  _Atomic int64_t blocks, bytes, leaks;
};

static struct counts early;
static struct counts *counts = &early;

__attribute__((constructor)) static void share(void) {
  const char *path = getenv("ALLOCATIONS");
  int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0 || ftruncate(file, sizeof early)) return;
  struct counts *shared = mmap(NULL, sizeof early, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared == MAP_FAILED) return;
  shared->blocks = early.blocks;
  shared->bytes = early.bytes;
  counts = shared;
}

static void *taken(void *block) {
  if (!block) return NULL;
  counts->blocks++;
  counts->bytes += (int64_t)malloc_usable_size(block);
  return block;
}

static void given(void *block) {
  if (!block) return;
  counts->blocks--;
  counts->bytes -= (int64_t)malloc_usable_size(block);
}

void *malloc(size_t size) { return taken(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }

void *memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

void *aligned_alloc(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  *block = taken(__libc_memalign(alignment, size));
  return *block ? 0 : ENOMEM;
}

void *realloc(void *block, size_t size) {
  int64_t before = block ? (int64_t)malloc_usable_size(block) : 0;
  void *moved = __libc_realloc(block, size);
  if (moved) {
    counts->blocks += !block;
    counts->bytes += (int64_t)malloc_usable_size(moved) - before;
  } else if (block && !size) {
    counts->blocks--;
    counts->bytes -= before;
  }
  return moved;
}

void free(void *block) {
  given(block);
  __libc_free(block);
}

void _exit(int status) {
  int (*found_leaks)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "__lsan_do_recoverable_leak_check");
  if (found_leaks) counts->leaks = found_leaks() ? LEAKS : NO_LEAKS;
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
