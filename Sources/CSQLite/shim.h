#pragma once
#include <sqlite3.h>

// Swift imports neither the cast behind SQLITE_TRANSIENT nor variadic functions.

static inline int outtray_bind_text(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_text(statement, index, count == 0 ? "" : (const char *)bytes, count, SQLITE_TRANSIENT);
}

// A null pointer would bind NULL in place of an empty blob.
static inline int outtray_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, index, count == 0 ? "" : bytes, count, SQLITE_TRANSIENT);
}

// Keeps a failed open, or a failed check, from writing into the database when the connection is closed.
static inline int outtray_no_checkpoint_on_close(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// Syncs the write-ahead log through SQLite's own file. 0 when there is none yet.
static inline int outtray_sync_log(sqlite3 *database) {
  sqlite3_file *file = 0;
  int result = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (result != SQLITE_OK) return result;
  if (!file || !file->pMethods) return SQLITE_OK;
  return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

// Writes the write-ahead log over itself, byte for byte, and syncs it. After a failed sync the kernel forgets
// that what it holds in memory never reached the disk: only what is written again is synced again. 0 when
// there is none.
static inline int outtray_rewrite_log(sqlite3 *database) {
  sqlite3_file *file = 0;
  int result = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (result != SQLITE_OK) return result;
  if (!file || !file->pMethods) return SQLITE_OK;
  sqlite3_int64 size = 0;
  result = file->pMethods->xFileSize(file, &size);
  static const int step = 65536;
  void *bytes = size > 0 ? sqlite3_malloc(step) : 0;
  if (size > 0 && !bytes) return SQLITE_NOMEM;
  for (sqlite3_int64 at = 0; result == SQLITE_OK && at < size; at += step) {
    int count = size - at < step ? (int)(size - at) : step;
    result = file->pMethods->xRead(file, bytes, count, at);
    if (result == SQLITE_OK) result = file->pMethods->xWrite(file, bytes, count, at);
  }
  sqlite3_free(bytes);
  return result == SQLITE_OK ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : result;
}

// Has SQLite not count its memory, which it does under a lock of the whole process. Only before its first
// use.
static inline int outtray_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
