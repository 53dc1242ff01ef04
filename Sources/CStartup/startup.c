// Before a Swift program begins, its runtime looks for the file that it was started from, for the sake of traces of
// crashes, and ends the process where there is no /proc (Paths.cpp of the runtime: "Unable to obtain Swift runtime
// path"). With a root that is given it does not look; then the program says itself what it needs. It also reads the
// arguments from /proc, which may not be mounted, or be kept from it by a library of LD_PRELOAD (libfaketime): the C
// library and dyld give them to whatever runs before the program.

#include "CStartup.h"
#include <stdlib.h>
#include <unistd.h>

static char **arguments;

char **castree_arguments(void) { return arguments; }

#ifdef __linux__
// The runtime's own initializers have no priority, so they run after those that have one.
__attribute__((constructor(101)))
#else
__attribute__((constructor))
#endif
static void begin(int count, char **words) {
    (void)count;
    arguments = words;
#ifdef __linux__
    char target[1];
    if (readlink("/proc/self/exe", target, sizeof target) < 0) setenv("SWIFT_ROOT", "/", 0);
#endif
}
