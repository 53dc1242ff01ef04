// Before a Swift program begins, its runtime looks for the file that it was started from, for the sake of traces of
// crashes, and ends the process where there is no /proc (Paths.cpp of the runtime: "Unable to obtain Swift runtime
// path"). With a root that is given it does not look; then the program says itself what it needs.

#include <stdlib.h>
#include <unistd.h>

#ifdef __linux__
// The runtime's own initializers have no priority, so they run after those that have one.
__attribute__((constructor(101))) static void give_a_root(void) {
    char target[1];
    if (readlink("/proc/self/exe", target, sizeof target) < 0) setenv("SWIFT_ROOT", "/", 0);
}
#endif
