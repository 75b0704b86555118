/* Preloaded: of the writes to files, one in SHORT_WRITES, from the first on that number, takes only half of its
   bytes, as a kernel may do it at any time. The rest is up to the caller. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_ulong writes;

static size_t shortened(size_t size) {
  const char *every = getenv("SHORT_WRITES");
  unsigned long step = every ? strtoul(every, NULL, 10) : 0;
  return step && ++writes % step == 0 && size > 1 ? size / 2 : size;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t size) { return NEXT(write)(file, bytes, shortened(size)); }

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  return NEXT(pwrite)(file, bytes, shortened(size), at);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
  return NEXT(pwrite64)(file, bytes, shortened(size), at);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *put, size_t size, unsigned flags) {
  return NEXT(copy_file_range)(from, at, to, put, shortened(size), flags);
}
