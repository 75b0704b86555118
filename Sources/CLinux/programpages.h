#pragma once
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The program and its libraries in memory, as the dynamic linker's list for debuggers tells them: what else
// tells them needs _GNU_SOURCE (see shim.h).

// Takes the pages that nobody writes of one of them, which is loaded at `address`, out of memory.
static inline void clinux_unmap_pages_at(uintptr_t address) {
  const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)address;
  // A program that is bound to its addresses has its header elsewhere.
  if (!address || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  const ElfW(Phdr) *parts = (const ElfW(Phdr) *)(address + header->e_phoff);
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int index = 0; index < header->e_phnum; index++) {
    if (parts[index].p_type != PT_LOAD || parts[index].p_flags & PF_W) continue;
    uintptr_t begin = (address + parts[index].p_vaddr) & ~(page - 1);
    uintptr_t end = address + parts[index].p_vaddr + parts[index].p_memsz;
    madvise((void *)begin, end - begin, MADV_DONTNEED);
  }
}

// Whether a debugger looks at the process, which writes its breakpoints into those pages.
static inline int clinux_is_traced(void) {
  char text[4096] = "";
  FILE *status = fopen("/proc/self/status", "re");
  if (status) {
    text[fread(text, 1, sizeof text - 1, status)] = 0;
    fclose(status);
  }
  const char *tracer = strstr(text, "\nTracerPid:\t");
  return tracer && tracer[strlen("\nTracerPid:\t")] != '0';
}

// Takes the pages of files that only the start has needed out of the process's memory. They stay in the
// system's cache, and those that are used come back one by one.
static inline void clinux_unmap_program_pages(void) {
  if (clinux_is_traced()) return;
  for (const struct link_map *loaded = _r_debug.r_map; loaded; loaded = loaded->l_next)
    clinux_unmap_pages_at(loaded->l_addr);
}
