#ifdef __linux__
#define _GNU_SOURCE // ppoll
#include "supervisor.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"
#include "filter.h"

// linux/seccomp.h of kernel 6.6: waking the other side at once makes a question three times cheaper.
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, unsigned long long)
#endif

static long long microseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static bool concerns(const struct supervision *how, const char *first, const char *second) {
    if (how->directory_count == 0) return true;
    for (int i = 0; i < how->directory_count; i++)
        if (is_below(first, how->directories[i]) || is_below(second, how->directories[i])) return true;
    return false;
}

static void write_line(FILE *log, long number, int thread, const struct call *call,
                       const char *first, const char *second, bool here) {
    if (!log) return;
    fprintf(log, "%ld %d %s %s%s%s%s\n", number, thread, call->name, first, *second ? " -> " : "",
            second, here ? "  <- here" : "");
    fflush(log);
}

// Answers one question. The loop goes on whatever comes of it: a caller may be dead by then.
static void answer(struct supervision *how, struct outcome *outcome, int listener, pid_t group,
                   struct seccomp_notif *request, struct seccomp_notif_resp *response) {
    response->id = request->id;
    response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    const struct call *call = call_numbered(request->data.nr);
    char first[PATH_SPACE], second[PATH_SPACE];
    if (call) {
        int thread = (int)request->pid;
        bool counts = how->counted[call - every_call];
        bool skips = how->skipped[call - every_call];
        paths_of(call, &request->data, thread, first, second);
        counts = counts && concerns(how, first, second)
            && !(how->only_changes && !changes_disk(call, &request->data, thread));
        skips = skips && concerns(how, first, second);
        // What was read of a process that died meanwhile may be another's.
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &request->id)) return;
        // An open cannot pretend: its answer would be somebody else's file.
        bool opens = call->class == CLASS_OPEN;
        bool here = false;
        if (counts) {
            outcome->calls++;
            here = how->first > 0 && outcome->calls >= how->first && outcome->calls <= how->last;
            write_line(how->log, outcome->calls, thread, call, first, second, here);
        }
        if (here && !(opens && how->plan.fault == FAULT_SKIP)) {
            bool acted;
            bool alive = do_fault(&how->plan, request, response, group, &acted);
            if (acted) outcome->acted = true;
            if (!alive) return;
        } else if (skips && !opens) {
            response->flags = 0;
            outcome->skipped++;
        }
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, response);
}

static void at_the_moment(struct supervision *how, struct outcome *outcome, pid_t group) {
    if (how->plan.fault == FAULT_CUT) outcome->acted = cut_power(&how->plan, group);
    else outcome->acted = kill(-group, SIGKILL) == 0;
    how->microseconds = 0;
}

bool supervise(struct supervision *how, char **command, struct outcome *outcome) {
    bool asked[MAXIMUM_CALLS] = {0};
    for (int i = 0; i < MAXIMUM_CALLS; i++) asked[i] = how->counted[i] || how->skipped[i];
    int listener;
    pid_t child = start_supervised(command, asked, &listener);
    if (child < 0) return false;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, 1ULL);
    struct seccomp_notif_sizes sizes;
    syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
    // A newer kernel may write more than the header of the build knows.
    char request[1024], response[1024];
    if (sizes.seccomp_notif > sizeof request || sizes.seccomp_notif_resp > sizeof response)
        return fprintf(stderr, "callfault: this kernel's messages are too large\n"), false;
    int ended = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd watched[2] = {{listener, POLLIN, 0}, {ended, POLLIN, 0}};
    const long long start = microseconds_now(), limit = how->seconds * 1000000LL;
    while (true) {
        long long passed = microseconds_now() - start;
        if (how->microseconds && passed >= how->microseconds) at_the_moment(how, outcome, child);
        if (passed >= limit) {
            outcome->late = true;
            kill(-child, SIGKILL);
        }
        long long wait = outcome->late ? 1000000 : limit - passed;
        if (how->microseconds && how->microseconds - passed < wait) wait = how->microseconds - passed;
        struct timespec pause = {wait / 1000000, wait % 1000000 * 1000};
        if (ppoll(watched, 2, &pause, NULL) <= 0) continue;
        if (watched[0].revents & POLLIN) {
            memset(request, 0, sizeof request);
            memset(response, 0, sizeof response);
            if (!ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, request))
                answer(how, outcome, listener, child, (struct seccomp_notif *)request,
                       (struct seccomp_notif_resp *)response);
        } else if (watched[1].revents & POLLIN) {
            break;
        }
    }
    int status;
    waitpid(child, &status, 0);
    kill(-child, SIGKILL); // what it may have started and left
    outcome->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    close(ended);
    close(listener);
    return true;
}
#endif
