#pragma once
#include "disk.h"

// SQLite's files in memory. Each has the bytes that the process sees, the bytes that a power cut leaves for
// certain, and the writes between the two, in order.

enum { FILES = 8, NAME = 512 };

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
  // Changed since the reset.
  int is_there, is_durable, is_changed;
  struct bytes seen, durable, pending;
  struct write *writes;
  int64_t count, room;
  struct bytes first;
  int was_there;
  void **regions;
  int region_count, region_room, region_size;
};

extern struct file disk_files[FILES];

/// `length` bytes go over those at `offset`; what lies between them and the end so far is zero.
void disk_put(struct bytes *to, const void *from, int64_t length, int64_t offset);
/// Notes a write, or, without bytes, that the file now ends at `offset`.
void disk_note(struct file *file, const void *bytes, int64_t length, int64_t offset);
/// Makes durable what was written, but for what an earlier sync has failed over.
void disk_make_durable(struct file *file);
void disk_forget_writes(struct file *file);
/// The file of this name; NULL when it was never opened.
struct file *disk_file(const char *name);
/// As it is when no process has the file open.
void disk_forget_shared_memory(struct file *file);
/// Registers the VFS. 0 or an error of SQLite's.
int disk_register(void);
