/* measure RESULT PROGRAM [ARGUMENT...]: runs PROGRAM once and writes one line to RESULT:
 *
 *     status wall-nanoseconds user-microseconds system-microseconds peak-rss-kibibytes
 *
 * Stands for nothing: it is the stop-watch. It exists because Linux counts the memory that a process
 * had before exec into its peak RSS, so a program started by the (large) Python harness would be
 * charged with Python's memory. This starter is as small as a process gets. vfork keeps the start cheap;
 * PROGRAM dies with its starter, and after TIME_LIMIT seconds (status 137).
 */
#include "common.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { TIME_LIMIT = 900 };

static volatile pid_t process;

static void stop(int signal) {
    (void)signal;
    kill(process, SIGKILL);
}

static long long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long microseconds(struct timeval time) {
    return time.tv_sec * 1000000LL + time.tv_usec;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: measure RESULT PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    FILE *result = fopen(arguments[1], "w");
    if (!result) die("create", arguments[1]);
    if (fcntl(fileno(result), F_SETFD, FD_CLOEXEC) != 0) die("close on exec", arguments[1]);

    volatile int failed = 0; /* shared with the child until it execs */
    long long start = nanoseconds();
    process = vfork();
    if (process < 0) die("start", arguments[2]);
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(arguments[2], arguments + 2);
        failed = errno;
        _exit(127);
    }
    if (failed) {
        errno = failed;
        die("start", arguments[2]);
    }
    signal(SIGALRM, stop);
    alarm(TIME_LIMIT);
    int status;
    struct rusage usage;
    while (wait4(process, &status, 0, &usage) < 0)
        if (errno != EINTR) die("wait for", arguments[2]);
    long long wall = nanoseconds() - start;

    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    fprintf(result, "%d %lld %lld %lld %ld\n", code, wall, microseconds(usage.ru_utime),
            microseconds(usage.ru_stime), usage.ru_maxrss);
    return fclose(result) == 0 ? 0 : 1;
}
