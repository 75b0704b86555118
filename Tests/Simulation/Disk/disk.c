#include "disk.h"
#include <malloc.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// SQLite's files in memory. Each has the bytes that the process sees, the bytes that a power cut leaves for
// certain, and the writes between the two, in order.

enum { FILES = 8, NAME = 512, SECTOR = 512 };

struct write {
  int64_t offset;
  int64_t length;
  // -1 stands for a truncation to `offset`.
  int64_t at;
  // A sync failed over it: the page counts as clean from then on, and no sync writes it again.
  int is_lost;
};

struct bytes {
  unsigned char *start;
  int64_t size, room;
};

struct file {
  char name[NAME];
  int is_there, is_durable;
  struct bytes seen, durable, pending;
  struct write *writes;
  int64_t count, room;
  struct bytes first;
  int was_there;
  void **regions;
  int region_count, region_room, region_size;
};

struct handle {
  sqlite3_file base;
  struct file *file;
};

static struct file files[FILES];
static sqlite3_vfs disk_vfs;
static sqlite3_vfs *unix_vfs;
static char root[NAME];
static enum disk_fault fault;
static int64_t fault_after, fault_times, calls;
static int is_dead;

uint64_t disk_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static void grow(struct bytes *bytes, int64_t size) {
  if (size > bytes->room) {
    int64_t room = bytes->room ? bytes->room : 65536;
    while (room < size) room *= 2;
    bytes->start = realloc(bytes->start, room);
    if (!bytes->start) abort();
    bytes->room = room;
  }
  if (size > bytes->size) memset(bytes->start + bytes->size, 0, size - bytes->size);
  if (size > bytes->size) bytes->size = size;
}

static void copy(struct bytes *to, const struct bytes *from) {
  grow(to, from->size);
  if (from->size) memcpy(to->start, from->start, from->size);
  to->size = from->size;
}

static void put(struct bytes *to, const void *from, int64_t length, int64_t offset) {
  grow(to, offset + length);
  memcpy(to->start + offset, from, length);
}

static void note(struct file *file, const void *bytes, int64_t length, int64_t offset) {
  if (file->count == file->room) {
    file->room = file->room ? file->room * 2 : 256;
    file->writes = realloc(file->writes, file->room * sizeof *file->writes);
    if (!file->writes) abort();
  }
  struct write *write = &file->writes[file->count++];
  *write = (struct write){.offset = offset, .length = length, .at = bytes ? file->pending.size : -1};
  if (bytes) put(&file->pending, bytes, length, file->pending.size);
}

static void forget_writes(struct file *file) { file->count = file->pending.size = 0; }

static void carry_out(struct file *file, const struct write *write, int64_t from, int64_t length) {
  if (write->at < 0) {
    if (write->offset < file->durable.size) file->durable.size = write->offset;
  } else {
    put(&file->durable, file->pending.start + write->at + from, length, write->offset + from);
  }
}

// MARK: Faults

int disk_meet(int is_sync, int is_write) {
  if (is_dead) return SQLITE_IOERR;
  calls += 1;
  int may_meet = fault == DISK_PROCESS_DIES || (fault == DISK_SYNC_FAILS ? is_sync : fault && is_write);
  if (!may_meet) return SQLITE_OK;
  if (fault_after > 0) {
    fault_after -= 1;
    return SQLITE_OK;
  }
  enum disk_fault met = fault;
  if (met == DISK_PROCESS_DIES) is_dead = 1;
  if (--fault_times <= 0) fault = DISK_NO_FAULT;
  return met == DISK_IS_FULL ? SQLITE_FULL : met == DISK_SYNC_FAILS ? SQLITE_IOERR_FSYNC : SQLITE_IOERR_WRITE;
}

void disk_plan(enum disk_fault planned, int64_t after, int64_t times) {
  fault = planned;
  fault_after = after;
  fault_times = times;
}

int disk_process_is_dead(void) { return is_dead; }
int64_t disk_database_calls(void) { return calls - disk_names_count; }
int64_t disk_name_calls(void) { return disk_names_count; }
int disk_fork(void) { return fork(); }

// MARK: Files

static struct file *of(sqlite3_file *handle) { return ((struct handle *)handle)->file; }

static int disk_close(sqlite3_file *handle) { return handle ? SQLITE_OK : SQLITE_OK; }

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
  put(&of(handle)->seen, bytes, length, offset);
  note(of(handle), bytes, length, offset);
  return SQLITE_OK;
}

static int disk_truncate(sqlite3_file *handle, sqlite3_int64 size) {
  int code = disk_meet(0, 1);
  if (code) return code;
  struct file *file = of(handle);
  if (size < file->seen.size) {
    file->seen.size = size;
    note(file, NULL, 0, size);
  }
  return SQLITE_OK;
}

// A page that is written again is written as a whole, and what a sync has failed over with it.
static int is_overtaken(const struct file *file, int64_t at) {
  const struct write *old = &file->writes[at];
  for (int64_t i = at + 1; i < file->count; i++) {
    const struct write *later = &file->writes[i];
    if (later->is_lost) continue;
    if (later->at < 0 ? later->offset < old->offset + old->length
                      : later->offset < old->offset + old->length && old->offset < later->offset + later->length)
      return 1;
  }
  return 0;
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
  int64_t lost = 0;
  for (int64_t i = 0; i < file->count; i++) {
    struct write *write = &file->writes[i];
    if (write->is_lost) lost += !is_overtaken(file, i);
    if (!write->is_lost) carry_out(file, write, 0, write->length);
  }
  int64_t kept = 0;
  for (int64_t i = 0; lost && i < file->count; i++) {
    if (file->writes[i].is_lost && !is_overtaken(file, i)) file->writes[kept++] = file->writes[i];
  }
  file->count = kept;
  if (!kept) file->pending.size = 0;
  file->is_durable = 1;
  return SQLITE_OK;
}

static int disk_size(sqlite3_file *handle, sqlite3_int64 *size) {
  *size = of(handle)->seen.size;
  return SQLITE_OK;
}

static int disk_lock(sqlite3_file *handle, int level) { return handle && level ? SQLITE_OK : SQLITE_OK; }

static int disk_reserved(sqlite3_file *handle, int *is) {
  *is = handle == NULL;
  return SQLITE_OK;
}

static int disk_control(sqlite3_file *handle, int what, void *with) {
  return handle && what && with ? SQLITE_NOTFOUND : SQLITE_NOTFOUND;
}

static int disk_sector(sqlite3_file *handle) { return handle ? 4096 : 4096; }

static int disk_characteristics(sqlite3_file *handle) {
  return handle ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0;
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
  return handle && offset && count && flags ? SQLITE_OK : SQLITE_OK;
}

static void disk_shm_barrier(sqlite3_file *handle) {
  (void)handle;
  __sync_synchronize();
}

static int disk_shm_unmap(sqlite3_file *handle, int deletes) { return handle && deletes ? SQLITE_OK : SQLITE_OK; }

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

static struct file *find(const char *name) {
  for (int i = 0; i < FILES; i++) {
    if (files[i].name[0] && !strcmp(files[i].name, name)) return &files[i];
  }
  return NULL;
}

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *handle, int flags, int *out) {
  (void)vfs;
  handle->pMethods = NULL;
  // What needs no name is nobody's: the product keeps such things in memory.
  if (!name || strlen(name) >= NAME) return SQLITE_CANTOPEN;
  struct file *file = find(name);
  for (int i = 0; !file && i < FILES; i++) {
    if (files[i].name[0]) continue;
    file = &files[i];
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
  struct file *file = find(name);
  if (!file || !file->is_there) return SQLITE_IOERR_DELETE_NOENT;
  int code = disk_meet(0, 1);
  if (code) return code;
  file->is_there = file->is_durable = 0;
  file->seen.size = file->durable.size = 0;
  forget_writes(file);
  return SQLITE_OK;
}

static int disk_access(sqlite3_vfs *vfs, const char *name, int flags, int *is) {
  (void)vfs;
  struct file *file = find(name);
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

// MARK: The life of the disk

int disk_install(const char *at) {
  strncpy(root, at, NAME - 1);
  // Speed, no more: one thread, memory that stays, room for the small things of each connection.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 256, 2000);
  unix_vfs = sqlite3_vfs_find(NULL);
  disk_vfs = *unix_vfs;
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
  disk_names_reset(root);
  return sqlite3_vfs_register(&disk_vfs, 1);
}

static void forget_shared_memory(struct file *file) {
  for (int i = 0; i < file->region_count; i++) free(file->regions[i]);
  file->region_count = 0;
}

void disk_keep_template(void) {
  for (int i = 0; i < FILES; i++) {
    copy(&files[i].first, &files[i].seen);
    files[i].was_there = files[i].is_there;
  }
}

void disk_reset(void) {
  for (int i = 0; i < FILES; i++) {
    struct file *file = &files[i];
    copy(&file->seen, &file->first);
    copy(&file->durable, &file->first);
    file->is_there = file->is_durable = file->was_there;
    forget_writes(file);
    forget_shared_memory(file);
  }
  disk_plan(DISK_NO_FAULT, 0, 0);
  is_dead = 0;
  calls = 0;
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 7, NULL);
  disk_names_reset(root);
}

// What was on its way: nothing of it, a beginning of it with the last write torn, or any of its sectors.
static void cut(struct file *file, uint64_t *state) {
  uint64_t way = disk_random(state) % 3;
  int64_t end = file->count ? (int64_t)(disk_random(state) % (uint64_t)(file->count + 1)) : 0;
  for (int64_t i = 0; way > 0 && i < file->count; i++) {
    struct write *write = &file->writes[i];
    if (way == 1 && (i > end || write->is_lost)) break;
    int is_torn = way == 2 || i == end;
    if (!is_torn || write->at < 0) {
      if (!is_torn || disk_random(state) & 1) carry_out(file, write, 0, write->length);
      continue;
    }
    for (int64_t from = 0; from < write->length;) {
      int64_t length = SECTOR - (write->offset + from) % SECTOR;
      if (length > write->length - from) length = write->length - from;
      if (disk_random(state) & 1) carry_out(file, write, from, length);
      from += length;
    }
  }
  if (!file->is_durable && disk_random(state) & 1) {
    file->is_there = 0;
    file->durable.size = 0;
  }
  copy(&file->seen, &file->durable);
  forget_writes(file);
  file->is_durable = file->is_there;
}

static void keep(struct file *file) {
  for (int64_t i = 0; i < file->count; i++) {
    if (!file->writes[i].is_lost) carry_out(file, &file->writes[i], 0, file->writes[i].length);
  }
  copy(&file->seen, &file->durable);
  forget_writes(file);
  file->is_durable = file->is_there;
}

void disk_process_ends(enum disk_end end, uint64_t seed) {
  is_dead = 0;
  disk_plan(DISK_NO_FAULT, 0, 0);
  for (int i = 0; i < FILES; i++) {
    forget_shared_memory(&files[i]);
    if (end == DISK_POWER_CUT) cut(&files[i], &seed);
    if (end == DISK_REBOOT) keep(&files[i]);
  }
  disk_names_end(end == DISK_POWER_CUT, &seed);
}
