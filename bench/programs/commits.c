/* commits DATABASE LINES: SQLite itself, one row a transaction (WAL, synchronous FULL), each holding one line of the
   file LINES. Prints seconds, latencies and CPU time as JSON. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;

static void expect(int status, int wanted) {
  if (status == wanted) return;
  fprintf(stderr, "commits: %s\n", sqlite3_errmsg(database));
  exit(1);
}

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

int main(int count, char **arguments) {
  if (count != 3) return 64;
  FILE *lines = fopen(arguments[2], "r");
  if (!lines) return 66;
  expect(sqlite3_open(arguments[1], &database), SQLITE_OK);
  expect(sqlite3_exec(database,
                      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                      "CREATE TABLE jobs (number INTEGER PRIMARY KEY, body TEXT NOT NULL)", 0, 0, 0), SQLITE_OK);
  sqlite3_stmt *insert;
  expect(sqlite3_prepare_v2(database, "INSERT INTO jobs (body) VALUES (?)", -1, &insert, 0), SQLITE_OK);

  char *line = 0;
  size_t room = 0, rows = 0, most = 1 << 20;
  double *took = calloc(most, sizeof *took), whole = 0, cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (ssize_t length; (length = getline(&line, &room, lines)) > 0 && rows < most; rows++) {
    double began = seconds(CLOCK_MONOTONIC);
    sqlite3_bind_text(insert, 1, line, (int)length, SQLITE_STATIC);
    expect(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_reset(insert);
    whole += took[rows] = seconds(CLOCK_MONOTONIC) - began;
  }
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  qsort(took, rows, sizeof *took, ascending);
  printf("{\"count\":%zu,\"seconds\":%.9f,\"cpu\":%.9f,\"p50\":%.9f,\"p99\":%.9f}\n", rows, whole, cpu,
         took[rows / 2], took[rows * 99 / 100]);
  return 0;
}
