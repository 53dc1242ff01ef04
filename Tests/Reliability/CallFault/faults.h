// What can be done to a call instead of making it.
#pragma once
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

enum fault { FAULT_NONE, FAULT_KILL, FAULT_TORN, FAULT_SHORT, FAULT_ERRNO, FAULT_SKIP, FAULT_CUT };

struct fault_plan {
    enum fault fault;
    int error;       // FAULT_ERRNO: the errno
    int mount;       // FAULT_CUT: a descriptor on the file system
    unsigned flush;  // FAULT_CUT: 0 flush everything, 1 the journal, 2 nothing
};

// Understands "kill", "torn", "short", "skip", "cut" or the name of an errno; false if it is none.
bool fault_named(const char *name, struct fault_plan *plan);
// Does to the call what the plan says. True if the answer is to be sent, false if the caller is dead.
// *acted becomes false where the fault does not fit the call, which is then made as usual.
bool do_fault(const struct fault_plan *plan, const struct seccomp_notif *request,
              struct seccomp_notif_resp *answer, pid_t group, bool *acted);
// Stops the group, stops the file system, kills the group. False if the file system cannot be stopped.
bool cut_power(const struct fault_plan *plan, pid_t group);
