#pragma once
#include <getopt.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

// What Swift's view of the C library lacks or holds under several types. System calls that need
// _GNU_SOURCE, which clashes with that view, are made by number.

static const int clinux_epoll_cloexec = EPOLL_CLOEXEC;
static const unsigned clinux_epoll_in = EPOLLIN;
static const unsigned clinux_epoll_out = EPOLLOUT;
static const unsigned clinux_epoll_err = EPOLLERR;
static const unsigned clinux_epoll_hup = EPOLLHUP;
static const int clinux_eventfd_flags = EFD_CLOEXEC | EFD_NONBLOCK;
static const int clinux_timerfd_flags = TFD_CLOEXEC | TFD_NONBLOCK;
static const int clinux_timer_absolute = TFD_TIMER_ABSTIME;
static const int clinux_timer_cancel_on_set = TFD_TIMER_CANCEL_ON_SET;
static const int clinux_signalfd_flags = SFD_CLOEXEC | SFD_NONBLOCK;

// A descriptor that becomes readable when the process ends.
static inline int clinux_pidfd_open(pid_t process) {
  return (int)syscall(SYS_pidfd_open, process, 0);
}

// Bytes that the peer of a TCP socket has not acknowledged yet; negative when it cannot be told.
static inline int clinux_unacknowledged(int socket) {
  int bytes = 0;
  return ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

// Makes `target` share the blocks of `source`; -1 and errno where the file system cannot.
static inline int clinux_clone(int target, int source) { return ioctl(target, FICLONE, source); }

// copy_file_range(2) from `offset` of `source` to the position of `target`.
static inline long long clinux_copy_file_range(int source, long long offset, int target, long long count) {
  return syscall(SYS_copy_file_range, source, &offset, target, (long long *)0, (size_t)count, 0u);
}

// getopt_long(3), whose variables Swift holds to be shared: the next option, where the reading has come
// to, and the option's value. Says nothing by itself.
static inline int clinux_next_option(
    int count, char *const *words, const struct option *options, int *position, const char **value) {
  opterr = 0;
  int found = getopt_long(count, words, "+:", options, (int *)0);
  *position = optind;
  *value = optarg;
  return found;
}

// The environment, which Swift holds to be shared.
static inline char **clinux_environment(void) { return __environ; }
