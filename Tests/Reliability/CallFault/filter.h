// The kernel's side: a filter that hands calls to a supervisor (seccomp_unotify(2)).
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "calls.h"

// Starts the command in a process group of its own, stopped at each of the calls marked.
// Returns its id, or -1 with a message; *listener receives the questions.
pid_t start_supervised(char **command, const bool asked[MAXIMUM_CALLS], int *listener);
