/* heap RESULT PROGRAM [ARGUMENT...]: runs PROGRAM once and writes one line to RESULT:
 *
 *     status wall-nanoseconds user-microseconds system-microseconds peak-rss-kibibytes peak-anonymous-kibibytes
 *
 * Anonymous is what the process has for itself (RssAnon: heap, stacks), without the files that it maps and that the
 * kernel can take back at any time. The kernel keeps no peak of it, so it is looked at two thousand times a second,
 * which takes some of the second processor: short times are measured with `measure` instead.
 */
#include "common.h"
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static long anonymous(int status) {
    char text[4096];
    ssize_t length = pread(status, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = 0;
    const char *line = strstr(text, "RssAnon:");
    return line ? atol(line + strlen("RssAnon:")) : 0;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: heap RESULT PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pid_t process = fork();
    if (process < 0) die("start", arguments[2]);
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(arguments[2], arguments + 2);
        die("start", arguments[2]);
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) die("open", path);
    long peak = 0;
    int status = 0;
    struct rusage usage;
    const struct timespec moment = {0, 500000};
    while (wait4(process, &status, WNOHANG, &usage) == 0) {
        long now = anonymous(file);
        if (now > peak) peak = now;
        nanosleep(&moment, NULL);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    FILE *result = fopen(arguments[1], "w");
    if (!result) die("create", arguments[1]);
    fprintf(result, "%d %lld %lld %lld %ld %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            (end.tv_sec - start.tv_sec) * 1000000000LL + end.tv_nsec - start.tv_nsec,
            usage.ru_utime.tv_sec * 1000000LL + usage.ru_utime.tv_usec,
            usage.ru_stime.tv_sec * 1000000LL + usage.ru_stime.tv_usec, usage.ru_maxrss, peak);
    return fclose(result) == 0 ? 0 : 1;
}
