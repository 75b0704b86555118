#include "files.h"
#include <malloc.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECTOR = 512 };

struct file disk_files[FILES];
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

static void make_room(struct bytes *bytes, int64_t size) {
  if (size <= bytes->room) return;
  int64_t room = bytes->room ? bytes->room : 65536;
  while (room < size) room *= 2;
  bytes->start = realloc(bytes->start, room);
  if (!bytes->start) abort();
  bytes->room = room;
}

static void copy(struct bytes *to, const struct bytes *from) {
  make_room(to, from->size);
  if (from->size) memcpy(to->start, from->start, from->size);
  to->size = from->size;
}

void disk_put(struct bytes *to, const void *from, int64_t length, int64_t offset) {
  make_room(to, offset + length);
  if (offset > to->size) memset(to->start + to->size, 0, offset - to->size);
  memcpy(to->start + offset, from, length);
  if (offset + length > to->size) to->size = offset + length;
}

void disk_note(struct file *file, const void *bytes, int64_t length, int64_t offset) {
  file->is_changed = 1;
  if (file->count == file->room) {
    file->room = file->room ? file->room * 2 : 256;
    file->writes = realloc(file->writes, file->room * sizeof *file->writes);
    if (!file->writes) abort();
  }
  struct write *write = &file->writes[file->count++];
  *write = (struct write){.offset = offset, .length = length, .at = bytes ? file->pending.size : -1};
  if (bytes) disk_put(&file->pending, bytes, length, file->pending.size);
}

void disk_forget_writes(struct file *file) { file->count = file->pending.size = 0; }

static void carry_out(struct file *file, const struct write *write, int64_t from, int64_t length) {
  if (write->at < 0) {
    if (write->offset < file->durable.size) file->durable.size = write->offset;
  } else {
    disk_put(&file->durable, file->pending.start + write->at + from, length, write->offset + from);
  }
}

// A page that is written again is written as a whole, and what a sync has failed over with it.
static int is_overtaken(const struct file *file, int64_t at) {
  const struct write *old = &file->writes[at];
  for (int64_t i = at + 1; i < file->count; i++) {
    const struct write *later = &file->writes[i];
    if (later->is_lost) continue;
    int begins_before = later->offset < old->offset + old->length;
    if (begins_before && (later->at < 0 || old->offset < later->offset + later->length)) return 1;
  }
  return 0;
}

void disk_make_durable(struct file *file) {
  int64_t lost = 0;
  for (int64_t i = 0; i < file->count; i++) {
    struct write *write = &file->writes[i];
    if (write->is_lost) lost += !is_overtaken(file, i);
    if (!write->is_lost) carry_out(file, write, 0, write->length);
  }
  int64_t kept = 0;
  // A truncation is not made up for later, when it would take what was written since.
  for (int64_t i = 0; lost && i < file->count; i++) {
    const struct write *write = &file->writes[i];
    if (write->is_lost && write->at >= 0 && !is_overtaken(file, i)) file->writes[kept++] = *write;
  }
  file->count = kept;
  if (!kept) file->pending.size = 0;
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

// MARK: The life of the disk

int disk_install(const char *at) {
  strncpy(root, at, NAME - 1);
  // Speed, no more: one thread, memory that stays, room for the small things of each connection.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 256, 2000);
  disk_names_reset(root);
  return disk_register();
}

// Zeroed and not freed: connections that stay have pointers to it.
void disk_forget_shared_memory(struct file *file) {
  for (int i = 0; i < file->region_count; i++) memset(file->regions[i], 0, file->region_size);
}

void disk_keep_template(void) {
  for (int i = 0; i < FILES; i++) {
    copy(&disk_files[i].first, &disk_files[i].seen);
    disk_files[i].was_there = disk_files[i].is_there;
    disk_files[i].is_changed = 1;
  }
}

void disk_reset(void) {
  for (int i = 0; i < FILES; i++) {
    struct file *file = &disk_files[i];
    if (file->is_changed) {
      copy(&file->seen, &file->first);
      copy(&file->durable, &file->first);
      file->is_changed = 0;
    }
    file->is_there = file->is_durable = file->was_there;
    disk_forget_writes(file);
    disk_forget_shared_memory(file);
  }
  disk_plan(DISK_NO_FAULT, 0, 0);
  is_dead = 0;
  calls = 0;
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 7, NULL);
  disk_names_reset(root);
}

// What is durable is what is seen. Without a write on its way it is so already, unless the file has gone.
static void take_back(struct file *file) {
  if (file->count || !file->is_there) copy(&file->seen, &file->durable);
  disk_forget_writes(file);
  file->is_durable = file->is_there;
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
    file->is_changed = 1;
  }
  take_back(file);
}

static void keep(struct file *file) {
  for (int64_t i = 0; i < file->count; i++) {
    if (!file->writes[i].is_lost) carry_out(file, &file->writes[i], 0, file->writes[i].length);
  }
  take_back(file);
}

void disk_process_ends(enum disk_end end, uint64_t seed) {
  is_dead = 0;
  disk_plan(DISK_NO_FAULT, 0, 0);
  for (int i = 0; i < FILES; i++) {
    disk_forget_shared_memory(&disk_files[i]);
    if (end == DISK_POWER_CUT) cut(&disk_files[i], &seed);
    if (end == DISK_REBOOT) keep(&disk_files[i]);
  }
  disk_names_end(end == DISK_POWER_CUT, &seed);
}
