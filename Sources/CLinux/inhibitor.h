#pragma once
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

// A lock of logind's, by libsystemd's bus client, which is looked for when it is wanted: nothing links it,
// and a machine without it lacks the lock alone. Of its header as much as is called.

struct clinux_bus_error {
  const char *name;
  const char *message;
  int must_be_freed;
};

struct clinux_bus_library {
  int (*open_system)(void **bus);
  int (*is_ready)(void *bus);
  int (*process)(void *bus, void **message);
  int (*wait)(void *bus, uint64_t microseconds);
  int (*set_method_call_timeout)(void *bus, uint64_t microseconds);
  int (*call_method)(void *bus, const char *destination, const char *path, const char *interface,
      const char *member, struct clinux_bus_error *error, void **reply, const char *types, ...);
  int (*message_read)(void *message, const char *types, ...);
  void *(*message_unref)(void *message);
  void (*error_free)(struct clinux_bus_error *error);
  void *(*close_unref)(void *bus);
};

static inline int clinux_load_bus(struct clinux_bus_library *library) {
  void *handle = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return 0;
  const struct { const char *name; void *place; } symbols[] = {
      {"sd_bus_open_system", &library->open_system},
      {"sd_bus_is_ready", &library->is_ready},
      {"sd_bus_process", &library->process},
      {"sd_bus_wait", &library->wait},
      {"sd_bus_set_method_call_timeout", &library->set_method_call_timeout},
      {"sd_bus_call_method", &library->call_method},
      {"sd_bus_message_read", &library->message_read},
      {"sd_bus_message_unref", &library->message_unref},
      {"sd_bus_error_free", &library->error_free},
      {"sd_bus_close_unref", &library->close_unref},
  };
  for (size_t index = 0; index < sizeof symbols / sizeof *symbols; index++) {
    void *symbol = dlsym(handle, symbols[index].name);
    if (!symbol) return 0;
    memcpy(symbols[index].place, &symbol, sizeof symbol);
  }
  return 1;
}

static inline int64_t clinux_microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

// Greetings with the bus, which the library itself would wait for much longer; below 0 an errno.
static inline int clinux_await_bus(const struct clinux_bus_library *library, void *bus, int64_t deadline) {
  for (;;) {
    int result = library->is_ready(bus);
    if (result != 0) return result;
    result = library->process(bus, NULL);
    if (result < 0) return result;
    int64_t left = deadline - clinux_microseconds();
    if (left <= 0) return -ETIMEDOUT;
    if (result == 0 && (result = library->wait(bus, (uint64_t)left)) < 0) return result;
  }
}

// Asks logind to keep the machine from going to sleep, by itself or at somebody's wish, until the descriptor
// that comes back is closed. Below 0 there is none, and `fault` says why. Waits for twice `microseconds` at
// most.
static inline int clinux_keep_awake(
    const char *who, const char *why, int64_t microseconds, char *fault, size_t room) {
  struct clinux_bus_library library;
  if (!clinux_load_bus(&library)) {
    snprintf(fault, room, "libsystemd.so.0 is not there, or too old");
    return -1;
  }
  void *bus = NULL;
  int result = library.open_system(&bus);
  if (result >= 0) result = clinux_await_bus(&library, bus, clinux_microseconds() + microseconds);
  if (result < 0) {
    snprintf(fault, room, "the system bus cannot be reached: %s", strerror(-result));
    library.close_unref(bus);
    return -1;
  }
  struct clinux_bus_error error = {NULL, NULL, 0};
  void *reply = NULL;
  int lock = -1;
  library.set_method_call_timeout(bus, (uint64_t)microseconds);
  result = library.call_method(bus, "org.freedesktop.login1", "/org/freedesktop/login1",
      "org.freedesktop.login1.Manager", "Inhibit", &error, &reply, "ssss", "sleep:idle", who, why, "block");
  int lent = -1;
  if (result >= 0) result = library.message_read(reply, "h", &lent);
  // The one that was read goes with the message.
  // Not by fcntl, whose header would make struct stat a type of this module. Nothing here forks.
  if (result >= 0 && ((lock = dup(lent)) < 0 || ioctl(lock, FIOCLEX) < 0)) result = -errno;
  if (lock < 0)
    snprintf(fault, room, "logind gives no lock: %s", error.message ? error.message : strerror(-result));
  library.error_free(&error);
  if (reply) library.message_unref(reply);
  library.close_unref(bus);
  return lock;
}
