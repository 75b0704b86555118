#include "files.h"
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// The files of files.h as SQLite wants them.

struct handle {
  sqlite3_file base;
  struct file *file;
};

static struct file *of(sqlite3_file *handle) { return ((struct handle *)handle)->file; }

static int disk_close(sqlite3_file *handle) {
  (void)handle;
  return SQLITE_OK;
}

static int disk_read(sqlite3_file *handle, void *to, int length, sqlite3_int64 offset) {
  struct file *file = of(handle);
  int64_t there = file->seen.size - offset;
  if (there >= length) {
    memcpy(to, file->seen.start + offset, length);
    return SQLITE_OK;
  }
  if (there < 0) there = 0;
  if (there) memcpy(to, file->seen.start + offset, there);
  memset((char *)to + there, 0, length - there);
  return SQLITE_IOERR_SHORT_READ;
}

static int disk_write(sqlite3_file *handle, const void *bytes, int length, sqlite3_int64 offset) {
  int code = disk_meet(0, 1);
  if (code) return code;
  struct file *file = of(handle);
  // All that is seen is durable, and stays as it is: so is a log that is written over itself after a cut.
  int is_same = !file->count && offset + length <= file->seen.size;
  if (is_same && !memcmp(file->seen.start + offset, bytes, length)) return SQLITE_OK;
  disk_put(&file->seen, bytes, length, offset);
  disk_note(file, bytes, length, offset);
  return SQLITE_OK;
}

static int disk_truncate(sqlite3_file *handle, sqlite3_int64 size) {
  int code = disk_meet(0, 1);
  if (code) return code;
  struct file *file = of(handle);
  if (size < file->seen.size) {
    file->seen.size = size;
    disk_note(file, NULL, 0, size);
  }
  return SQLITE_OK;
}

// SQLite syncs the directory as well when it syncs a log for the first time.
static int disk_sync(sqlite3_file *handle, int flags) {
  (void)flags;
  struct file *file = of(handle);
  int code = disk_meet(1, 0);
  if (code == SQLITE_IOERR_FSYNC) {
    for (int64_t i = 0; i < file->count; i++) file->writes[i].is_lost = 1;
  }
  if (code) return code;
  disk_make_durable(file);
  file->is_durable = 1;
  return SQLITE_OK;
}

static int disk_size(sqlite3_file *handle, sqlite3_int64 *size) {
  *size = of(handle)->seen.size;
  return SQLITE_OK;
}

// One process, and its connections take turns.
static int disk_lock(sqlite3_file *handle, int level) {
  (void)handle;
  (void)level;
  return SQLITE_OK;
}

static int disk_reserved(sqlite3_file *handle, int *is) {
  (void)handle;
  *is = 0;
  return SQLITE_OK;
}

static int disk_control(sqlite3_file *handle, int what, void *with) {
  (void)handle;
  (void)what;
  (void)with;
  return SQLITE_NOTFOUND;
}

static int disk_sector(sqlite3_file *handle) {
  (void)handle;
  return 4096;
}

static int disk_characteristics(sqlite3_file *handle) {
  (void)handle;
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

// The memory that the connections of one process share. It goes with the process.
static int disk_shm_map(sqlite3_file *handle, int region, int size, int extend, void volatile **to) {
  struct file *file = of(handle);
  *to = NULL;
  if (region >= file->region_count && !extend) return SQLITE_OK;
  while (region >= file->region_count) {
    if (file->region_count == file->region_room) {
      file->region_room = file->region_room ? file->region_room * 2 : 8;
      file->regions = realloc(file->regions, file->region_room * sizeof *file->regions);
      if (!file->regions) abort();
    }
    void *memory = calloc(1, size);
    if (!memory) abort();
    file->regions[file->region_count++] = memory;
    file->region_size = size;
  }
  *to = file->regions[region];
  return SQLITE_OK;
}

static int disk_shm_lock(sqlite3_file *handle, int offset, int count, int flags) {
  (void)handle;
  (void)offset;
  (void)count;
  (void)flags;
  return SQLITE_OK;
}

static void disk_shm_barrier(sqlite3_file *handle) {
  (void)handle;
  __sync_synchronize();
}

static int disk_shm_unmap(sqlite3_file *handle, int deletes) {
  (void)handle;
  (void)deletes;
  return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = disk_close,
    .xRead = disk_read,
    .xWrite = disk_write,
    .xTruncate = disk_truncate,
    .xSync = disk_sync,
    .xFileSize = disk_size,
    .xLock = disk_lock,
    .xUnlock = disk_lock,
    .xCheckReservedLock = disk_reserved,
    .xFileControl = disk_control,
    .xSectorSize = disk_sector,
    .xDeviceCharacteristics = disk_characteristics,
    .xShmMap = disk_shm_map,
    .xShmLock = disk_shm_lock,
    .xShmBarrier = disk_shm_barrier,
    .xShmUnmap = disk_shm_unmap,
};

struct file *disk_file(const char *name) {
  for (int i = 0; i < FILES; i++) {
    if (disk_files[i].name[0] && !strcmp(disk_files[i].name, name)) return &disk_files[i];
  }
  return NULL;
}

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *handle, int flags, int *out) {
  (void)vfs;
  handle->pMethods = NULL;
  // What needs no name is nobody's: the product keeps such things in memory.
  if (!name || strlen(name) >= NAME) return SQLITE_CANTOPEN;
  struct file *file = disk_file(name);
  for (int i = 0; !file && i < FILES; i++) {
    if (disk_files[i].name[0]) continue;
    file = &disk_files[i];
    strcpy(file->name, name);
  }
  if (!file) return SQLITE_CANTOPEN;
  // The product makes the database file itself before it is opened, hence with its name durable.
  if (!file->is_there && flags & SQLITE_OPEN_MAIN_DB) file->is_durable = 1;
  if (!file->is_there && !(flags & (SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB))) return SQLITE_CANTOPEN;
  file->is_there = 1;
  ((struct handle *)handle)->file = file;
  handle->pMethods = &methods;
  if (out) *out = flags;
  return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *name, int syncs) {
  (void)vfs;
  (void)syncs;
  struct file *file = disk_file(name);
  if (!file || !file->is_there) return SQLITE_IOERR_DELETE_NOENT;
  int code = disk_meet(0, 1);
  if (code) return code;
  file->is_there = file->is_durable = 0;
  file->is_changed = 1;
  file->seen.size = file->durable.size = 0;
  disk_forget_writes(file);
  return SQLITE_OK;
}

static int disk_access(sqlite3_vfs *vfs, const char *name, int flags, int *is) {
  (void)vfs;
  struct file *file = disk_file(name);
  *is = file && file->is_there && (flags != SQLITE_ACCESS_EXISTS || file->seen.size > 0);
  return SQLITE_OK;
}

static int disk_full_name(sqlite3_vfs *vfs, const char *name, int room, char *to) {
  (void)vfs;
  if ((int)strlen(name) >= room) return SQLITE_CANTOPEN;
  strcpy(to, name);
  return SQLITE_OK;
}

// The same numbers for the same history: SQLite takes the salts of its log from here.
static int disk_randomness(sqlite3_vfs *vfs, int count, char *to) {
  (void)vfs;
  memset(to, 7, count);
  return count;
}

static int disk_sleep(sqlite3_vfs *vfs, int microseconds) {
  (void)vfs;
  return microseconds;
}

static int disk_time(sqlite3_vfs *vfs, sqlite3_int64 *time) {
  (void)vfs;
  *time = 210866803200000;
  return SQLITE_OK;
}

static int disk_last_error(sqlite3_vfs *vfs, int room, char *to) {
  (void)vfs;
  if (room > 0) *to = 0;
  return 0;
}

int disk_register(void) {
  static sqlite3_vfs disk_vfs;
  disk_vfs = *sqlite3_vfs_find(NULL);
  disk_vfs.zName = "disk";
  disk_vfs.pNext = NULL;
  disk_vfs.pAppData = NULL;
  disk_vfs.szOsFile = sizeof(struct handle);
  disk_vfs.xOpen = disk_open;
  disk_vfs.xDelete = disk_delete;
  disk_vfs.xAccess = disk_access;
  disk_vfs.xFullPathname = disk_full_name;
  disk_vfs.xRandomness = disk_randomness;
  disk_vfs.xSleep = disk_sleep;
  disk_vfs.xCurrentTimeInt64 = disk_time;
  disk_vfs.xGetLastError = disk_last_error;
  return sqlite3_vfs_register(&disk_vfs, 1);
}
