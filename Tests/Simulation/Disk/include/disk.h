#pragma once
#include <stdint.h>

// A disk that forgets. SQLite's files lie in memory behind a VFS, with what was written and not synced apart;
// bodies lie in a real folder, whose names and contents are watched by functions that stand in the place of
// the C library's (names.c). One disk a process, used by one thread.

/// What happens at one call to come.
enum disk_fault {
  DISK_NO_FAULT = 0,
  /// A write fails with an error of the device.
  DISK_WRITE_FAILS = 1,
  /// A write fails since the disk is full.
  DISK_IS_FULL = 2,
  /// A sync fails; what it should have made durable stays visible, and no later sync makes it so.
  DISK_SYNC_FAILS = 3,
  /// The process dies before the call: nothing that it does from then on has an effect.
  DISK_PROCESS_DIES = 4,
};

/// Makes the disk the default VFS of the process. `root` is the folder whose names are watched. 0 or an
/// error of SQLite's.
int disk_install(const char *root);

/// Connections are opened anew each time from here on, not kept for the next process.
void disk_open_anew(void);

/// What the files hold now is what `disk_reset` brings back.
void disk_keep_template(void);

/// A new disk with the template on it, all of it durable. No fault is planned.
void disk_reset(void);

/// The fault comes at the `after`th call that it can meet (from 0), and again at as many after it as `times`
/// says.
void disk_plan(enum disk_fault fault, int64_t after, int64_t times);

/// Whether the process has died of a planned fault.
int disk_process_is_dead(void);

/// How a process ends.
enum disk_end {
  /// What it has written is there.
  DISK_KILL = 0,
  /// Only what was synced is there for certain; of the rest `seed` says what is.
  DISK_POWER_CUT = 1,
  /// What was written is there, but for what a sync has failed over.
  DISK_REBOOT = 2,
};

void disk_process_ends(enum disk_end end, uint64_t seed);

/// Calls that changed or synced something since the reset, of the database and of names.
int64_t disk_database_calls(void);
int64_t disk_name_calls(void);

/// A child process as fork(2) makes it.
int disk_fork(void);

// Between the two halves: whether the call that is about to be made is to fail, with which error.
int disk_meet(int is_sync, int is_write);
uint64_t disk_random(uint64_t *state);
void disk_names_reset(const char *root);
void disk_names_end(int power_cut, uint64_t *state);
extern int64_t disk_names_count;
