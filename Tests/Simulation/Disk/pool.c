#define _GNU_SOURCE
#include "files.h"
#include <dlfcn.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// Connections that stay. A process of a history opens the database anew, and most of what that costs is
// SQLite reading the schema and compiling the same statements again. These functions stand in the place of
// SQLite's: what is closed is kept with its statements, and made as if new before it is opened again. Nothing
// that is seen of a history depends on it; a test holds both ways against each other.

enum { CONNECTIONS = 8, STATEMENTS = 512 };

struct statement {
  sqlite3_stmt *handle;
  const char *sql;
  uint64_t hash;
  int is_taken;
};

struct connection {
  sqlite3 *handle;
  char path[NAME];
  int flags, is_taken, count;
  struct statement statements[STATEMENTS];
};

static struct connection connections[CONNECTIONS];
static int is_off;

void disk_open_anew(void) { is_off = 1; }

// What SQLite's library itself calls comes here as well, since these names are found first.
#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int real_close(sqlite3 *handle) {
  REAL(sqlite3_close_v2);
  return real(handle);
}

static int real_finalize(sqlite3_stmt *statement) {
  REAL(sqlite3_finalize);
  return real(statement);
}

static struct connection *of(sqlite3 *handle) {
  for (int i = 0; i < CONNECTIONS; i++) {
    if (handle && connections[i].handle == handle) return &connections[i];
  }
  return NULL;
}

// MARK: As if new

static void put(unsigned char *to, uint32_t value) {
  for (int i = 0; i < 4; i++) to[i] = value >> (24 - 8 * i);
}

// A log without frames whose salts no other log has, and one byte more, or it would not be read.
static struct bytes empty_log(void) {
  static unsigned char log[33];
  static const uint32_t head[] = {0x377f0682, 3007000, 4096, 0, 0x6f757474, 0x72617921};
  uint32_t sums[2] = {0, 0};
  for (int i = 0; i < 6; i++) put(log + 4 * i, head[i]);
  for (int i = 0; i < 6; i++) {
    uint32_t word;
    memcpy(&word, log + 4 * i, 4);
    sums[i % 2] += word + sums[(i + 1) % 2];
  }
  put(log + 24, sums[0]);
  put(log + 28, sums[1]);
  return (struct bytes){.start = log, .size = sizeof log, .room = sizeof log};
}

// The connection reads such a log beside the template. So it knows nothing of the log or the pages that it
// saw last, and counts no checkpoints.
static int make_new(sqlite3 *handle, const char *path) {
  char name[NAME + 4];
  strcpy(name, path);
  struct file *database = disk_file(name);
  struct file *log = disk_file(strcat(name, "-wal"));
  if (!database || !log || database->region_count > 1) return 0;
  // A new connection makes its log when there is none.
  log->is_there = 1;
  struct bytes pages = database->seen, frames = log->seen;
  database->seen = database->first;
  log->seen = empty_log();
  static unsigned char index[1 << 16];
  if (database->region_count) memcpy(index, database->regions[0], database->region_size);
  disk_forget_shared_memory(database);
  int result = sqlite3_exec(handle, "PRAGMA user_version", NULL, NULL, NULL);
  if (database->region_count) memcpy(database->regions[0], index, database->region_size);
  database->seen = pages;
  log->seen = frames;
  return result == SQLITE_OK;
}

static void drop(struct connection *connection) {
  for (int i = 0; i < connection->count; i++) {
    if (!connection->statements[i].is_taken) real_finalize(connection->statements[i].handle);
  }
  sqlite3 *handle = connection->handle;
  connection->handle = NULL;
  connection->count = 0;
  real_close(handle);
}

// MARK: In the place of SQLite's

int sqlite3_open_v2(const char *path, sqlite3 **handle, int flags, const char *vfs) {
  REAL(sqlite3_open_v2);
  struct connection *room = NULL;
  for (int i = 0; i < CONNECTIONS && !is_off; i++) {
    struct connection *it = &connections[i];
    if (!it->handle) room = it;
    if (!it->handle || it->is_taken || it->flags != flags || strcmp(it->path, path)) continue;
    if (!make_new(it->handle, path)) {
      drop(it);
      room = it;
      continue;
    }
    it->is_taken = 1;
    *handle = it->handle;
    return SQLITE_OK;
  }
  int result = real(path, handle, flags, vfs);
  if (result == SQLITE_OK && room && strlen(path) < NAME) {
    room->handle = *handle;
    strcpy(room->path, path);
    room->flags = flags;
    room->is_taken = 1;
    room->count = 0;
  }
  return result;
}

int sqlite3_close_v2(sqlite3 *handle) {
  struct connection *it = of(handle);
  if (!it) return real_close(handle);
  for (sqlite3_stmt *one = NULL; (one = sqlite3_next_stmt(handle, one));) sqlite3_reset(one);
  if (!sqlite3_get_autocommit(handle)) sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_wal_hook(handle, NULL, NULL);
  it->is_taken = 0;
  if (!sqlite3_get_autocommit(handle)) drop(it);
  return SQLITE_OK;
}

int sqlite3_prepare_v3(
    sqlite3 *handle, const char *sql, int length, unsigned flags, sqlite3_stmt **to, const char **tail) {
  REAL(sqlite3_prepare_v3);
  struct connection *it = of(handle);
  if (!it || length >= 0 || tail || !(flags & SQLITE_PREPARE_PERSISTENT)) {
    return real(handle, sql, length, flags, to, tail);
  }
  uint64_t hash = 14695981039346656037u;
  for (const char *at = sql; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  for (int i = 0; i < it->count; i++) {
    struct statement *one = &it->statements[i];
    if (one->is_taken || one->hash != hash || strcmp(one->sql, sql)) continue;
    one->is_taken = 1;
    *to = one->handle;
    return SQLITE_OK;
  }
  int result = real(handle, sql, length, flags, to, tail);
  if (result == SQLITE_OK && *to && it->count < STATEMENTS) {
    it->statements[it->count++] =
        (struct statement){.handle = *to, .sql = sqlite3_sql(*to), .hash = hash, .is_taken = 1};
  }
  return result;
}

int sqlite3_finalize(sqlite3_stmt *handle) {
  struct connection *it = handle ? of(sqlite3_db_handle(handle)) : NULL;
  for (int i = 0; it && i < it->count; i++) {
    struct statement *one = &it->statements[i];
    if (one->handle != handle) continue;
    sqlite3_reset(handle);
    sqlite3_clear_bindings(handle);
    one->is_taken = 0;
    return SQLITE_OK;
  }
  return real_finalize(handle);
}
