#pragma once
#include <errno.h>
#include <getopt.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

// What Swift's view of the C library lacks or holds under several types. System calls that need
// _GNU_SOURCE, which clashes with that view, are made by number.

static const int clinux_epoll_cloexec = EPOLL_CLOEXEC;
static const unsigned clinux_epoll_in = EPOLLIN;
static const unsigned clinux_epoll_out = EPOLLOUT;
static const unsigned clinux_epoll_err = EPOLLERR;
static const unsigned clinux_epoll_hup = EPOLLHUP;
// O_PATH, which needs _GNU_SOURCE: a descriptor that names a file and cannot read it.
static const int clinux_path_only = 010000000;
static const int clinux_seek_data = SEEK_DATA;
static const int clinux_seek_hole = SEEK_HOLE;
static const int clinux_eventfd_flags = EFD_CLOEXEC | EFD_NONBLOCK;
static const int clinux_timerfd_flags = TFD_CLOEXEC | TFD_NONBLOCK;
static const int clinux_timer_absolute = TFD_TIMER_ABSTIME;
static const int clinux_timer_cancel_on_set = TFD_TIMER_CANCEL_ON_SET;
static const int clinux_signalfd_flags = SFD_CLOEXEC | SFD_NONBLOCK;
static const int clinux_socket_flags = SOCK_CLOEXEC | SOCK_NONBLOCK;

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
// to, and the option's value. A position of 0 begins anew. Says nothing by itself. Words that are no options
// may stand anywhere; they are moved to the end.
static inline int clinux_next_option(
    int count, char **words, const char *letters, const struct option *options, int *position,
    const char **value) {
  opterr = 0;
  optind = *position;
  int found = getopt_long(count, words, letters, options, (int *)0);
  *position = optind;
  *value = optarg;
  return found;
}

// Columns that a character takes in a terminal; negative for one that cannot be shown. Declared here, since
// its header shows it to _XOPEN_SOURCE only.
extern int wcwidth(wchar_t character);
static inline int clinux_width(unsigned character) { return wcwidth((wchar_t)character); }

// The address of a socket in the file system; false when the path is too long for one.
static inline int clinux_unix_address(const char *path, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address->sun_path) return 0;
  strcpy(address->sun_path, path);
  return 1;
}

// The user at the far end of a socket of the file system, at the time when it connected or listened; -1 when
// it cannot be told. Laid out as struct ucred, which needs _GNU_SOURCE.
static inline long long clinux_peer_user(int descriptor) {
  struct { pid_t process; uid_t user; gid_t group; } peer;
  socklen_t size = sizeof peer;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? (long long)peer.user : -1;
}

// A netlink socket that tells of every change of links and routes, without waiting; -1 and errno where there
// is none.
static inline int clinux_open_route_notices(void) {
  int notices = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  struct sockaddr_nl address = {
      .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE};
  if (notices < 0 || bind(notices, (struct sockaddr *)&address, sizeof address) == 0) return notices;
  int number = errno;
  close(notices);
  errno = number;
  return -1;
}

// A netlink socket from which every route of the machine can be read, waiting a second at most; -1 and errno
// where there is none.
static inline int clinux_ask_for_routes(void) {
  int answers = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (answers < 0) return -1;
  struct {
    struct nlmsghdr header;
    struct rtmsg route;
  } request = {
      .header = {
          .nlmsg_len = sizeof request,
          .nlmsg_type = RTM_GETROUTE,
          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
  struct timeval patience = {.tv_sec = 1};
  if (setsockopt(answers, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
      send(answers, &request, sizeof request, 0) == sizeof request)
    return answers;
  int number = errno;
  close(answers);
  errno = number;
  return -1;
}

// Bytes of memory that are no page of a file, where `statm` is proc(5)'s file of that name, open; else 0.
static inline long clinux_memory_of_its_own(int statm) {
  char text[128];
  long resident, shared;
  ssize_t length = pread(statm, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = 0;
  if (sscanf(text, "%*d %ld %ld", &resident, &shared) != 2) return 0;
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

// The environment, which Swift holds to be shared.
static inline char **clinux_environment(void) { return __environ; }

// Columns and rows of the window of a terminal; 0 where it is none or does not say.
static inline void clinux_window(int terminal, int *columns, int *rows) {
  struct winsize size = {0};
  if (ioctl(terminal, TIOCGWINSZ, &size) != 0) size.ws_col = size.ws_row = 0;
  *columns = size.ws_col;
  *rows = size.ws_row;
}

// A terminal that is put back as it was by a process that dies of a signal which nobody waits for: a fault of
// its own, or one like SIGUSR1. Only what may be called in the middle of anything is called.
static struct {
  int terminal, output;
  struct termios before;
  char farewell[64];
} clinux_guarded = {-1, -1};

static void clinux_put_back(int number) {
  if (clinux_guarded.terminal >= 0) {
    if (write(clinux_guarded.output, clinux_guarded.farewell, strlen(clinux_guarded.farewell)) < 0) {}
    tcsetattr(clinux_guarded.terminal, TCSANOW, &clinux_guarded.before);
  }
  // The default action was restored when this began.
  raise(number);
}

static inline void clinux_guard(int terminal, int output, const struct termios *before,
                                const char *farewell) {
  static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGUSR1, SIGUSR2,
                               SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGPOLL, SIGPWR};
  clinux_guarded.before = *before;
  strncpy(clinux_guarded.farewell, farewell, sizeof clinux_guarded.farewell - 1);
  clinux_guarded.output = output;
  clinux_guarded.terminal = terminal;
  struct sigaction action = {0};
  action.sa_handler = clinux_put_back;
  action.sa_flags = SA_RESETHAND | SA_NODEFER;
  for (unsigned at = 0; at < sizeof deadly / sizeof *deadly; at++) sigaction(deadly[at], &action, 0);
}

static inline void clinux_unguard(void) { clinux_guarded.terminal = -1; }
