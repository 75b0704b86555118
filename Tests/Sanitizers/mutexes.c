/* Preloaded under the thread sanitizer: tells it of Swift's Mutex. Taking one that is free is an atomic in
   the program itself, which the sanitizer sees; waiting for one is code of the library, built without it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SELF void *mutex __attribute__((swift_context))
#define SWIFT __attribute__((swiftcall))
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void tell(const char *what, void *mutex) {
  void (*said)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, what);
  if (said) said(mutex);
}

/* _MutexHandle._lockSlow(_: UInt32), _tryLockSlow() -> Bool, _unlockSlow() */
SWIFT void $s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF(uint32_t thread, SELF) {
  NEXT($s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF)(thread, mutex);
  tell("__tsan_acquire", mutex);
}

SWIFT bool $s15Synchronization12_MutexHandleV12_tryLockSlowSbyF(SELF) {
  bool taken = NEXT($s15Synchronization12_MutexHandleV12_tryLockSlowSbyF)(mutex);
  if (taken) tell("__tsan_acquire", mutex);
  return taken;
}

SWIFT void $s15Synchronization12_MutexHandleV11_unlockSlowyyF(SELF) {
  tell("__tsan_release", mutex);
  NEXT($s15Synchronization12_MutexHandleV11_unlockSlowyyF)(mutex);
}
