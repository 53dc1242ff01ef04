// callfault: runs a program and lets one of its file-system calls go wrong.
//
// The calls of all threads and of all processes that the program starts are numbered in one order. Works with static
// programs and without root (seccomp_unotify(2)). It does not see memory mappings that are written to.
#include <stdio.h>
#include <string.h>

#ifdef __linux__
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervisor.h"

static const char usage[] =
    "usage: callfault [option]... -- program [argument]...\n"
    "  --under DIR       count only calls that concern this directory (up to 8 times)\n"
    "  --calls LIST      count these: changes (the default), all, writes, syncs, names, opens,\n"
    "                    reads, locks, none, or names of calls\n"
    "  --at N            let the N-th call go wrong\n"
    "  --from N          let the N-th call and all after it go wrong\n"
    "  --after TIME      kill, or cut the power, so many microseconds after the start\n"
    "  --do FAULT        kill    the program is killed before the call\n"
    "                    torn    half of the write is made, then it is killed\n"
    "                    short   half of the write is made, and its length returned\n"
    "                    skip    the call says \"done\" and is not made; opens are made\n"
    "                    cut     the file system of --mount stops, as in a power cut\n"
    "                    ENOSPC  or another errno: the call fails with it\n"
    "  --mount DIR       what --do cut stops; --flush 0 flushes everything, 1 the journal, 2 nothing\n"
    "  --skip LIST       these calls always say \"done\" and are never made\n"
    "  --seconds N       kill the program after so long (60)\n"
    "  --log FILE        write a line for each call that counts\n"
    "  --report FILE     write calls=… skipped=… acted=… late=… status=…\n"
    "The exit status is the program's, 128 and the signal's number if it was killed, 125 for trouble here.\n";

static int refuse(const char *what, const char *argument) {
    fprintf(stderr, "callfault: %s '%s'\n%s", what, argument, usage);
    return 125;
}

enum option_number { UNDER = 256, CALLS, AT, FROM, AFTER, DO, MOUNT, FLUSH, SKIP, SECONDS, LOG, REPORT };

static const struct option options[] = {
    {"under", 1, 0, UNDER}, {"calls", 1, 0, CALLS}, {"at", 1, 0, AT},     {"from", 1, 0, FROM},
    {"after", 1, 0, AFTER}, {"do", 1, 0, DO},       {"mount", 1, 0, MOUNT}, {"flush", 1, 0, FLUSH},
    {"skip", 1, 0, SKIP},   {"seconds", 1, 0, SECONDS}, {"log", 1, 0, LOG}, {"report", 1, 0, REPORT},
    {0},
};

static long number(const char *text, bool *right) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || end == text || value < 0) *right = false;
    return value;
}

static int read_option(int option, struct supervision *how, bool *chosen) {
    bool right = true;
    switch (option) {
        case UNDER:
            if (how->directory_count == MAXIMUM_DIRECTORIES) return refuse("too many", optarg);
            how->directories[how->directory_count] = realpath(optarg, NULL);
            if (!how->directories[how->directory_count++]) return refuse("no directory", optarg);
            break;
        case CALLS:
            right = *chosen = mark_calls(optarg, how->counted);
            how->only_changes = !strcmp(optarg, "changes");
            break;
        case AT: how->first = how->last = number(optarg, &right); break;
        case FROM: how->first = number(optarg, &right), how->last = __LONG_MAX__; break;
        case AFTER: how->microseconds = number(optarg, &right); break;
        case DO: right = fault_named(optarg, &how->plan); break;
        case MOUNT:
            how->plan.mount = open(optarg, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            right = how->plan.mount >= 0;
            break;
        case FLUSH: how->plan.flush = (unsigned)number(optarg, &right); break;
        case SKIP: right = mark_calls(optarg, how->skipped); break;
        case SECONDS: how->seconds = number(optarg, &right); break;
        case LOG: right = (how->log = fopen(optarg, "we")) != NULL; break;
        default: return refuse("unknown", "option");
    }
    return right ? 0 : refuse("cannot use", optarg);
}

int main(int count, char **words) {
    static struct supervision how = {.seconds = 60, .plan = {.mount = -1, .flush = 2}};
    const char *report = NULL;
    bool chosen = false;
    int option;
    while ((option = getopt_long(count, words, "+", options, NULL)) != -1) {
        if (option == REPORT) report = optarg;
        else if (read_option(option, &how, &chosen)) return 125;
    }
    if (optind == count) return refuse("no program", "");
    if (!chosen) how.only_changes = mark_calls("changes", how.counted);
    if (how.plan.fault == FAULT_CUT && how.plan.mount < 0) return refuse("cut needs", "--mount");
    struct outcome outcome = {0};
    if (!supervise(&how, words + optind, &outcome)) return 125;
    FILE *file = report ? fopen(report, "we") : NULL;
    if (report && !file) return refuse("cannot write", report);
    if (file) {
        fprintf(file, "calls=%ld skipped=%ld acted=%d late=%d status=%d\n", outcome.calls,
                outcome.skipped, outcome.acted, outcome.late, outcome.status);
        if (fclose(file)) return refuse("cannot write", report);
    }
    return outcome.status;
}
#else
int main(void) {
    fprintf(stderr, "callfault: only Linux lets a program answer for another's system calls\n");
    return 125;
}
#endif
