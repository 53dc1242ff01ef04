// Runs a program, is asked about each of its file-system calls, and lets one of them go wrong.
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "calls.h"
#include "faults.h"

enum { MAXIMUM_DIRECTORIES = 8 };

struct supervision {
    const char *directories[MAXIMUM_DIRECTORIES];  // only calls below one of these count
    int directory_count;
    bool counted[MAXIMUM_CALLS];   // the calls that count, beside every_call
    bool only_changes;             // an open counts only if it may create or truncate
    bool skipped[MAXIMUM_CALLS];   // the calls that answer "done" and are never made
    long first, last;              // the numbers of the calls that go wrong; first 0: none
    long microseconds;             // the moment at which the fault happens instead; 0: none
    long seconds;                  // the program is killed after so long
    struct fault_plan plan;
    FILE *log;                     // a line for each call that counts; or NULL
};

struct outcome {
    long calls;    // that counted
    long skipped;  // that were answered "done" and not made
    bool acted;    // the fault happened
    bool late;     // the program was killed for its time
    int status;    // its exit status, or 128 and the signal's number
};

// Runs the program. False, with a message, if it cannot be supervised here.
bool supervise(struct supervision *how, char **command, struct outcome *outcome);
