/* host WINDOW SETUP LINES COMMAND...: a host that costs next to nothing. Starts COMMAND and writes the lines of the
   file LINES to its stdin, at most WINDOW of them unanswered; each line that comes back is an answer. The first SETUP
   lines go one by one and are not measured. Prints seconds, latencies and COMMAND's CPU time as JSON. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
  fprintf(stderr, "host: %s: %s\n", what, strerror(errno));
  exit(1);
}

static double seconds(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now)) fail("clock");
  return now.tv_sec + now.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static pid_t start(char **command, int *in, int *out) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) fail("pipe");
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    execvp(command[0], command);
    fail(command[0]);
  }
  close(to[0]);
  close(from[1]);
  fcntl(to[1], F_SETFL, O_NONBLOCK);
  *in = to[1];
  *out = from[0];
  return child;
}

static char answers[1 << 20];

/* Reads what there is; returns how many lines ended in it. An answer with an error ends the run. */
static size_t take(int out) {
  ssize_t count = read(out, answers, sizeof answers);
  if (count <= 0) fail("the end of the answers");
  char *wrong = memmem(answers, count, "\"error\":", 8);
  if (wrong) {
    fprintf(stderr, "host: refused: %.*s\n", (int)(answers + count - wrong), wrong);
    exit(1);
  }
  size_t lines = 0;
  for (char *at = answers; (at = memchr(at, '\n', answers + count - at)); at++) lines++;
  return lines;
}

/* Lines FROM to TO, at most WINDOW unanswered; line I begins at BEGINS[I]. */
static void converse(int in, int out, const char *text, const size_t *begins, size_t from, size_t to,
                     size_t window, double *asked, double *took) {
  size_t sent = from, answered = from, at = begins[from];
  while (answered < to) {
    size_t limit = answered + window < to ? answered + window : to;
    int blocked = 0;
    if (at < begins[limit]) {
      double now = seconds(CLOCK_MONOTONIC);
      ssize_t count = write(in, text + at, begins[limit] - at);
      if (count < 0 && errno != EAGAIN) fail("write");
      if (count > 0) at += count;
      while (sent < limit && at >= begins[sent + 1]) asked[sent++] = now;
      blocked = at < begins[limit];
    }
    struct pollfd ends[2] = {{out, POLLIN, 0}, {blocked ? in : -1, POLLOUT, 0}};
    if (poll(ends, 2, -1) < 0) fail("poll");
    if (!ends[0].revents) continue;
    size_t lines = take(out);
    double now = seconds(CLOCK_MONOTONIC);
    while (lines--) {
      took[answered] = now - asked[answered];
      answered++;
    }
  }
}

int main(int count, char **arguments) {
  if (count < 5) return 64;
  size_t window = strtoul(arguments[1], 0, 10), setup = strtoul(arguments[2], 0, 10), lines = 0;
  int file = open(arguments[3], O_RDONLY | O_CLOEXEC);
  struct stat about;
  if (file < 0 || fstat(file, &about)) fail(arguments[3]);
  size_t size = about.st_size;
  const char *text = mmap(0, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (text == MAP_FAILED) fail("mmap");
  size_t *begins = malloc((size + 2) * sizeof *begins);
  begins[0] = 0;
  for (size_t i = 0; i < size; i++) if (text[i] == '\n') begins[++lines] = i + 1;
  if (setup >= lines) return 64;
  double *asked = calloc(lines, sizeof *asked), *took = calloc(lines, sizeof *took);

  int in, out;
  pid_t child = start(arguments + 4, &in, &out);
  clockid_t clock;
  if (setup) converse(in, out, text, begins, 0, setup, 1, asked, took);
  if (clock_getcpuclockid(child, &clock)) fail("the child's clock");
  double cpu = seconds(clock), began = seconds(CLOCK_MONOTONIC);
  converse(in, out, text, begins, setup, lines, window, asked, took);
  double whole = seconds(CLOCK_MONOTONIC) - began;
  cpu = seconds(clock) - cpu;
  close(in);
  int status;
  if (waitpid(child, &status, 0) < 0 || status) {
    fprintf(stderr, "host: %s ended with %d\n", arguments[4], status);
    return 1;
  }
  size_t measured = lines - setup;
  qsort(took + setup, measured, sizeof *took, ascending);
  printf("{\"count\":%zu,\"seconds\":%.9f,\"cpu\":%.9f,\"p50\":%.9f,\"p99\":%.9f}\n", measured, whole, cpu,
         took[setup + measured / 2], took[setup + measured * 99 / 100]);
}
