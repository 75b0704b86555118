#define _GNU_SOURCE
#include "disk.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// These stand in the place of the C library's: the linker takes them first. Names under the root that were
// made or removed, and contents that were written, count as durable when they were synced; a power cut may
// take back all others. Every other call goes to the system as it is.

enum { NAMES = 512 };

struct name {
  char path[PATH_MAX];
  ino_t number;
  int is_made, is_removed, has_content;
};

static char root[512];
static size_t root_length;
static struct name names[NAMES];
static int count;
int64_t disk_names_count;

static int fail(int number) {
  errno = number;
  return -1;
}

static int error_of(int code) { return code == SQLITE_FULL ? ENOSPC : EIO; }

static int meet(int is_sync, int is_write) {
  if (!disk_process_is_dead()) disk_names_count += 1;
  return disk_meet(is_sync, is_write);
}

static int path_of(int descriptor, const char *name, char *to) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = 0;
  to[0] = 0;
  if (descriptor != AT_FDCWD && (!name || name[0] != '/')) {
    length = syscall(SYS_readlinkat, AT_FDCWD, link, to, PATH_MAX - 1);
    if (length < 0) return 0;
    to[length] = 0;
  }
  if (name) snprintf(to + length, PATH_MAX - length, length ? "/%s" : "%s", name);
  return root_length && !strncmp(to, root, root_length) && to[root_length] == '/';
}

static struct name *find(const char *path) {
  for (int i = 0; i < count; i++) {
    if (!strcmp(names[i].path, path)) return &names[i];
  }
  return NULL;
}

static struct name *note(const char *path) {
  struct name *name = find(path);
  if (!name) {
    if (count == NAMES) __builtin_trap();
    name = &names[count++];
    strcpy(name->path, path);
  }
  name->number = 0;
  name->is_made = name->is_removed = 0;
  name->has_content = 1;
  return name;
}

static void grave(const struct name *name, char *to) {
  snprintf(to, PATH_MAX, "%s/removed/%ld", root, (long)(name - names));
}

// MARK: In the place of the C library's

int openat(int directory, const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
  va_end(more);
  char full[PATH_MAX];
  if (flags & O_CREAT && path_of(directory, path, full)) {
    int code = meet(0, 1);
    if (code) return fail(error_of(code));
    int file = syscall(SYS_openat, directory, path, flags, mode);
    struct stat status;
    if (file >= 0 && !fstat(file, &status)) {
      struct name *name = note(full);
      name->number = status.st_ino;
      name->is_made = 1;
      name->has_content = 0;
    }
    return file;
  }
  return syscall(SYS_openat, directory, path, flags, mode);
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
  char full[PATH_MAX];
  if (!path_of(to, new, full)) return syscall(SYS_linkat, from, old, to, new, flags);
  int code = meet(0, 1);
  if (code) return fail(error_of(code));
  int result = syscall(SYS_linkat, from, old, to, new, flags);
  struct stat status;
  if (result == 0 && !fstatat(to, new, &status, AT_SYMLINK_NOFOLLOW)) {
    struct name *name = note(full);
    name->number = status.st_ino;
    name->is_made = 1;
    // What the caller wrote may still be in memory.
    name->has_content = 0;
  }
  return result;
}

// Out of sight, until the directory is synced.
static int removed(int directory, const char *path, int flags, const char *full) {
  struct stat status;
  if (fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW)) return -1;
  if (flags || !S_ISREG(status.st_mode)) return syscall(SYS_unlinkat, directory, path, flags);
  int code = meet(0, 1);
  if (code) return fail(error_of(code));
  struct name *known = find(full);
  if (known && known->is_made) {
    known->is_made = 0;
    return syscall(SYS_unlinkat, directory, path, 0);
  }
  char to[PATH_MAX];
  struct name *name = note(full);
  grave(name, to);
  name->is_removed = 1;
  return syscall(SYS_renameat, directory, path, AT_FDCWD, to);
}

int unlinkat(int directory, const char *path, int flags) {
  char full[PATH_MAX];
  if (path_of(directory, path, full)) return removed(directory, path, flags, full);
  return syscall(SYS_unlinkat, directory, path, flags);
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int fsync(int descriptor) {
  char full[PATH_MAX];
  struct stat status;
  if (!path_of(descriptor, NULL, full) || fstat(descriptor, &status)) return syscall(SYS_fsync, descriptor);
  int code = meet(1, 0);
  if (code) return fail(error_of(code));
  size_t length = strlen(full);
  for (int i = 0; i < count; i++) {
    struct name *name = &names[i];
    if (!S_ISDIR(status.st_mode)) {
      if (name->number == status.st_ino) name->has_content = 1;
    } else if (!strncmp(name->path, full, length) && name->path[length] == '/') {
      char at[PATH_MAX];
      grave(name, at);
      if (name->is_removed) syscall(SYS_unlinkat, AT_FDCWD, at, 0);
      name->is_made = name->is_removed = 0;
    }
  }
  return 0;
}

// MARK: The life of the disk

void disk_names_reset(const char *at) {
  char path[PATH_MAX];
  for (int i = 0; i < count; i++) {
    grave(&names[i], path);
    if (names[i].is_removed) syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  }
  snprintf(root, sizeof root, "%s", at);
  root_length = strlen(root);
  count = 0;
  disk_names_count = 0;
}

// A name that was not synced may be gone, a removal may not have happened, and of contents any beginning may
// be left.
void disk_names_end(int power_cut, uint64_t *state) {
  for (int i = 0; power_cut && i < count; i++) {
    struct name *name = &names[i];
    char at[PATH_MAX];
    grave(name, at);
    uint64_t chance = disk_random(state);
    if (name->is_removed) {
      if (chance & 1) {
        syscall(SYS_renameat, AT_FDCWD, at, AT_FDCWD, name->path);
      } else {
        syscall(SYS_unlinkat, AT_FDCWD, at, 0);
      }
    } else if (name->is_made && chance & 1) {
      syscall(SYS_unlinkat, AT_FDCWD, name->path, 0);
    } else if (!name->has_content) {
      struct stat status;
      if (!stat(name->path, &status)) truncate(name->path, (chance >> 1) % (uint64_t)(status.st_size + 1));
    }
    name->is_made = name->is_removed = 0;
    name->has_content = 1;
  }
  // What a dead process has removed stays so.
  if (power_cut) count = 0;
}
