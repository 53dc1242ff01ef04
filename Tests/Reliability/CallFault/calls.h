// The system calls that touch files, and where each keeps its paths and descriptors.
#pragma once
#include <linux/seccomp.h>
#include <stdbool.h>

enum call_class {
    CLASS_WRITE = 1,   // changes bytes or size
    CLASS_SYNC = 2,    // makes durable
    CLASS_NAME = 4,    // changes names, modes or times
    CLASS_OPEN = 8,    // opens; a change only if it may create or truncate
    CLASS_READ = 16,   // looks
    CLASS_LOCK = 32,   // flock, fcntl
};

// Arguments by position; -1 where the call has none. A path argument follows its directory argument.
struct call {
    int number;
    const char *name;
    int class;
    int descriptor;
    int directory, path;
    int other_directory, other_path;
};

// The description of a call, or NULL when the call does not touch files.
const struct call *call_numbered(int number);
// All calls, ended by one without a name.
extern const struct call every_call[];
// Whether the call, as it was made, can change what a disk holds.
bool changes_disk(const struct call *call, const struct seccomp_data *made, int process);
// The classes or names of a comma-separated list as a set of marks beside every_call; false if one is unknown.
bool mark_calls(const char *list, bool *marks);
enum { MAXIMUM_CALLS = 64 };
