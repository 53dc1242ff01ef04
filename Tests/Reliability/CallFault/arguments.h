// What a stopped process has given to a call: memory and the files meant.
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"

enum { PATH_SPACE = 2 * PATH_MAX };

// Copies memory of the process; false if not all of it can be had.
bool read_memory(int process, uint64_t address, void *bytes, size_t count);
// Writes the absolute paths that the call concerns; empty where there is none.
void paths_of(const struct call *call, const struct seccomp_data *made, int process,
              char first[PATH_SPACE], char second[PATH_SPACE]);
// Whether the path is the directory or stands below it.
bool is_below(const char *path, const char *directory);
