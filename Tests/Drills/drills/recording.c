/* Preloaded: writes down every call that changes something below the folders of RECORDED (separated by
   `:`), in the order in which they happen, with its bytes, at the end of the file TRACE; and what the
   process says on its stdout. KILL=before:N or after:N ends the process at its Nth such call.

   STEADY_CTIME alone records nothing. A file whose status was changed looks as if it had not been: the
   drill gives the caller's files other places, and the store would take that for a change of the file
   (D28).

   One lock holds call and record together. A record is `struct head`, then its paths, then its bytes.
   Numbers, not names, stand for files: a name may go while its file is written to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The same numbers stand in powerloss.py. */
enum { WRITE = 1, TRUNCATE, FSYNC, FDATASYNC, CREATE, MKDIR, LINK, RENAME, UNLINK, TOLD };

struct head {
  uint32_t operation, path, to, bytes;
  uint64_t file, at;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1;
static uint64_t spoken;
static unsigned long count, kill_at;
static int kills_after;

static uint64_t number(int file) {
  struct stat64 status;
  return syscall(SYS_fstat, file, &status) == 0 ? status.st_ino : 0;
}

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("TRACE"), *point = getenv("KILL");
  if (!name) return;
  trace = NEXT(open)(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (trace < 0) abort();
  spoken = number(STDOUT_FILENO);
  if (point) {
    kills_after = strncmp(point, "after:", 6) == 0;
    kill_at = strtoul(strchr(point, ':') + 1, NULL, 10);
  }
}

/* Locks before a call. `is_changing`: it counts, and the process may end here. */
static void enter(int is_changing) {
  pthread_mutex_lock(&lock);
  if (is_changing && ++count == kill_at && !kills_after) kill(getpid(), SIGKILL);
}

static void leave(int is_changing) {
  int kept = errno;
  if (is_changing && count == kill_at && kills_after) kill(getpid(), SIGKILL);
  pthread_mutex_unlock(&lock);
  errno = kept;
}

static void put(uint32_t operation, uint64_t file, uint64_t at, const char *path, const char *to,
                const void *bytes, size_t size) {
  int kept = errno;
  struct head head = {operation, path ? strlen(path) : 0, to ? strlen(to) : 0, size, file, at};
  struct iovec parts[] = {
      {&head, sizeof head}, {(void *)path, head.path}, {(void *)to, head.to}, {(void *)bytes, size}};
  size_t whole = sizeof head + head.path + head.to + size;
  if (syscall(SYS_writev, trace, parts, 4) != (long)whole) abort();
  errno = kept;
}

/* Whether an absolute path lies in one of the folders, or is one. */
static int is_ours(const char *path) {
  const char *folders = getenv("RECORDED");
  if (trace < 0 || !folders) return 0;
  while (*folders) {
    size_t size = strcspn(folders, ":");
    if (strncmp(path, folders, size) == 0 && (path[size] == '/' || !path[size])) return 1;
    folders += size + (folders[size] == ':');
  }
  return 0;
}

/* The path of an open file. */
static int place(int file, char path[PATH_MAX]) {
  char entry[64];
  snprintf(entry, sizeof entry, "/proc/self/fd/%d", file);
  ssize_t size = readlink(entry, path, PATH_MAX - 1);
  path[size < 0 ? 0 : size] = 0;
  return size > 0;
}

static int is_open_in_ours(int file) {
  char path[PATH_MAX];
  return trace >= 0 && place(file, path) && is_ours(path);
}

/* An absolute path for a name below an open folder. */
static const char *absolute(int folder, const char *name, char path[PATH_MAX]) {
  if (name[0] == '/') return name;
  char base[PATH_MAX];
  if (folder == AT_FDCWD ? !getcwd(base, sizeof base) : !place(folder, base)) return "";
  return snprintf(path, PATH_MAX, "%.2000s/%.2000s", base, name) > 0 ? path : "";
}

static int opened(int (*call)(int, const char *, int, ...), int folder, const char *name, int flags,
                  mode_t mode) {
  char buffer[PATH_MAX];
  struct stat64 status;
  const char *path = trace >= 0 && flags & (O_CREAT | O_TRUNC) ? absolute(folder, name, buffer) : "";
  if (!is_ours(path)) return call(folder, name, flags, mode);
  int is_new = syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0;
  int is_changing = is_new || flags & O_TRUNC;
  enter(is_changing);
  int file = call(folder, name, flags, mode);
  if (file >= 0 && is_new) put(CREATE, number(file), 0, path, NULL, NULL, 0);
  else if (file >= 0 && flags & O_TRUNC) put(TRUNCATE, number(file), 0, NULL, NULL, NULL, 0);
  leave(is_changing);
  return file;
}

#define MODE(flags)                   \
  mode_t mode = 0;                    \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest;                     \
    va_start(rest, flags);            \
    mode = va_arg(rest, mode_t);      \
    va_end(rest);                     \
  }

int open(const char *name, int flags, ...) {
  MODE(flags)
  return opened(NEXT(openat), AT_FDCWD, name, flags, mode);
}

int open64(const char *name, int flags, ...) {
  MODE(flags)
  return opened(NEXT(openat64), AT_FDCWD, name, flags, mode);
}

int openat(int folder, const char *name, int flags, ...) {
  MODE(flags)
  return opened(NEXT(openat), folder, name, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t size) {
  int speaks = trace >= 0 && spoken && number(file) == spoken;
  int changes = !speaks && is_open_in_ours(file);
  if (!speaks && !changes) return NEXT(write)(file, bytes, size);
  enter(changes);
  off64_t at = changes ? lseek64(file, 0, SEEK_CUR) : 0;
  ssize_t done = NEXT(write)(file, bytes, size);
  if (done > 0) put(changes ? WRITE : TOLD, number(file), at, NULL, NULL, bytes, done);
  leave(changes);
  return done;
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
  if (!is_open_in_ours(file)) return NEXT(pwrite64)(file, bytes, size, at);
  enter(1);
  ssize_t done = NEXT(pwrite64)(file, bytes, size, at);
  if (done > 0) put(WRITE, number(file), at, NULL, NULL, bytes, done);
  leave(1);
  return done;
}

/* Puts down so many bytes as a file has there now. */
static void put_content(int file, off64_t at, size_t size) {
  char *bytes = malloc(size + 1);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int reading = NEXT(open)(path, O_RDONLY | O_CLOEXEC);
  if (!bytes || reading < 0 || pread64(reading, bytes, size, at) != (ssize_t)size) abort();
  put(WRITE, number(file), at, NULL, NULL, bytes, size);
  close(reading);
  free(bytes);
}

static long copied(int from, off64_t *at, int to, size_t size) {
  enter(1);
  ssize_t done = NEXT(copy_file_range)(from, at, to, NULL, size, 0);
  if (done > 0) put_content(to, lseek64(to, 0, SEEK_CUR) - done, done);
  leave(1);
  return done;
}

long syscall(long call, ...) {
  va_list rest;
  va_start(rest, call);
  long a[6];
  for (int index = 0; index < 6; index++) a[index] = va_arg(rest, long);
  va_end(rest);
  if (call == SYS_copy_file_range && is_open_in_ours(a[2]))
    return copied(a[0], (off64_t *)a[1], a[2], a[4]);
  return NEXT(syscall)(call, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int ioctl(int file, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  if (request != FICLONE || !is_open_in_ours(file)) return NEXT(ioctl)(file, request, argument);
  enter(1);
  int result = NEXT(ioctl)(file, request, argument);
  if (result == 0) put_content(file, 0, lseek64(file, 0, SEEK_END)), lseek64(file, 0, SEEK_SET);
  leave(1);
  return result;
}

static int truncated(int (*call)(int, off64_t), int file, off64_t size) {
  if (!is_open_in_ours(file)) return call(file, size);
  enter(1);
  int result = call(file, size);
  if (result == 0) put(TRUNCATE, number(file), size, NULL, NULL, NULL, 0);
  leave(1);
  return result;
}

int ftruncate(int file, off_t size) { return truncated(NEXT(ftruncate64), file, size); }

int ftruncate64(int file, off64_t size) { return truncated(NEXT(ftruncate64), file, size); }

static int synced(int (*call)(int), uint32_t operation, int file) {
  if (!is_open_in_ours(file)) return call(file);
  enter(1);
  int result = call(file);
  if (result == 0) put(operation, number(file), 0, NULL, NULL, NULL, 0);
  leave(1);
  return result;
}

int fsync(int file) { return synced(NEXT(fsync), FSYNC, file); }

int fdatasync(int file) { return synced(NEXT(fdatasync), FDATASYNC, file); }

int mkdir(const char *name, mode_t mode) {
  struct stat64 status;
  if (!is_ours(name)) return NEXT(mkdir)(name, mode);
  enter(1);
  int result = NEXT(mkdir)(name, mode);
  if (result == 0 && syscall(SYS_newfstatat, AT_FDCWD, name, &status, 0) == 0)
    put(MKDIR, status.st_ino, 0, name, NULL, NULL, 0);
  leave(1);
  return result;
}

int linkat(int from, const char *name, int folder, const char *to, int flags) {
  char buffer[PATH_MAX];
  struct stat64 status;
  const char *path = trace >= 0 ? absolute(folder, to, buffer) : "";
  if (!is_ours(path)) return NEXT(linkat)(from, name, folder, to, flags);
  enter(1);
  int result = NEXT(linkat)(from, name, folder, to, flags);
  if (result == 0 && syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0)
    put(LINK, status.st_ino, 0, path, NULL, NULL, 0);
  leave(1);
  return result;
}

int rename(const char *from, const char *to) {
  if (!is_ours(to)) return NEXT(rename)(from, to);
  enter(1);
  int result = NEXT(rename)(from, to);
  if (result == 0) put(RENAME, 0, 0, from, to, NULL, 0);
  leave(1);
  return result;
}

int unlinkat(int folder, const char *name, int flags) {
  char buffer[PATH_MAX];
  const char *path = trace >= 0 ? absolute(folder, name, buffer) : "";
  if (!is_ours(path)) return NEXT(unlinkat)(folder, name, flags);
  enter(1);
  int result = NEXT(unlinkat)(folder, name, flags);
  if (result == 0) put(UNLINK, 0, 0, path, NULL, NULL, 0);
  leave(1);
  return result;
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

/* What the store looks at of a file's status; SQLite calls others. */
static int steady(int result, struct stat *status) {
  if (result == 0 && S_ISREG(status->st_mode) && getenv("STEADY_CTIME")) status->st_ctim = status->st_mtim;
  return result;
}

int fstat(int file, struct stat *status) { return steady(NEXT(fstat)(file, status), status); }

int lstat(const char *path, struct stat *status) { return steady(NEXT(lstat)(path, status), status); }

int stat(const char *path, struct stat *status) { return steady(NEXT(stat)(path, status), status); }

int fstatat(int folder, const char *path, struct stat *status, int flags) {
  return steady(NEXT(fstatat)(folder, path, status, flags), status);
}
