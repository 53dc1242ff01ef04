/* replay LIST: makes the system calls of LIST, one after the other, on one thread.
 *
 * harness/calls.py writes LIST from what strace(1) saw of a command of castree: the same calls on files with the same
 * arguments in the same order, and nothing between them. So it is the least that those calls cost on this machine.
 * A call whose result is another than the recorded one (a number, a success, an error) ends it: then the work was not
 * the same. The buffers are two, one to read into and one of zeros to write from; contents do not matter here.
 *
 * LIST, all numbers in the machine's own order:
 *   struct head;
 *   struct call, `calls` times;
 *   a name in 32 bytes, `names` times: of a system call, as strace and <sys/syscall.h> spell it;
 *   `text` bytes: strings that end with 0, and structures for the kernel, these at multiples of 8.
 *
 * Prints how many calls it made.
 */
#include "common.h"
#include <sys/mman.h>
#include <sys/syscall.h>

enum { ARGUMENTS = 6, DESCRIPTORS = 4096, NAME = 32 };

/* What an argument is. */
enum {
    NUMBER,     /* itself */
    DESCRIPTOR, /* as recorded, to be put as ours; a negative one (AT_FDCWD) is itself */
    TEXT,       /* the address of that byte of the text */
    FILLED,     /* the address of what is read into */
    ZEROS,      /* the address of zeros */
    KINDS
};

struct head {
    char magic[8]; /* "replay 1" */
    uint32_t calls, names, text, buffer; /* buffer: the most bytes that any call reads or writes */
};

struct call {
    uint8_t name;  /* which */
    uint8_t opens; /* 1: the result is a new descriptor */
    uint8_t kinds[ARGUMENTS];
    int64_t arguments[ARGUMENTS];
    int64_t result; /* what the call gave; the negative errno if it failed */
};

#define CALL(name) {#name, SYS_##name}
static const struct {
    const char *name;
    long number;
} known[] = {
    CALL(openat),     CALL(openat2),    CALL(close),      CALL(dup),           CALL(read),
    CALL(pread64),    CALL(write),      CALL(pwrite64),   CALL(lseek),         CALL(ftruncate), CALL(fallocate),
    CALL(fsync),      CALL(fdatasync),  CALL(syncfs),     CALL(sync),          CALL(fadvise64), CALL(copy_file_range),
    CALL(newfstatat), CALL(fstat),      CALL(statx),      CALL(statfs),        CALL(fstatfs),   CALL(faccessat),
    CALL(faccessat2), CALL(readlinkat), CALL(getdents64), CALL(mkdirat),       CALL(unlinkat),  CALL(linkat),
    CALL(symlinkat),  CALL(renameat),   CALL(renameat2),  CALL(fchmod),        CALL(fchmodat),  CALL(fchown),
    CALL(flock),      CALL(fcntl),      CALL(sync_file_range), CALL(ioctl),
#ifdef SYS_open /* where these are calls of their own */
    CALL(open),       CALL(stat),       CALL(lstat),      CALL(access),        CALL(readlink),  CALL(mkdir),
    CALL(rmdir),      CALL(unlink),     CALL(rename),     CALL(link),          CALL(symlink),   CALL(chmod),
#endif
};

static const char *list;
static const struct head *head;
static const struct call *calls;
static const char *names, *text;
static long numbers[UINT8_MAX + 1];   /* of the names */
static int own[DESCRIPTORS];          /* recorded descriptor -> ours, or -1 */
static char *filled, *zeros;

static _Noreturn void bad(const char *what) {
    fprintf(stderr, "%s: %s\n", list, what);
    exit(1);
}

static void load(void) {
    struct stat status;
    int file = open(list, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status)) die("open", list);
    size_t size = (size_t)status.st_size;
    if (size < sizeof *head) bad("is no list");
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    /* F_GETLK writes into its argument. */
    if (bytes == MAP_FAILED || mprotect(bytes, size, PROT_READ | PROT_WRITE)) die("map", list);
    close(file);
    head = bytes;
    if (memcmp(head->magic, "replay 1", 8) != 0) bad("is no list");
    calls = (const struct call *)(head + 1);
    names = (const char *)(calls + head->calls);
    text = names + (size_t)head->names * NAME;
    if (text + head->text != (const char *)head + size || head->names > UINT8_MAX) bad("is cut short");
}

static void resolve(void) {
    for (uint32_t i = 0; i < head->names; i++) {
        const char *name = names + (size_t)i * NAME;
        size_t at = 0;
        while (at < sizeof known / sizeof *known && strncmp(known[at].name, name, NAME) != 0) at++;
        if (at == sizeof known / sizeof *known) bad("names a call that this program does not know");
        numbers[i] = known[at].number;
    }
}

/* Nothing of a call is looked at twice: what is wrong with the list is found before the first call is made. */
static void check(void) {
    for (uint32_t i = 0; i < head->calls; i++) {
        const struct call *call = &calls[i];
        if (call->name >= head->names || (call->opens && call->result >= DESCRIPTORS)) bad("is damaged");
        for (int j = 0; j < ARGUMENTS; j++) {
            int64_t value = call->arguments[j];
            if (call->kinds[j] >= KINDS || (call->kinds[j] == DESCRIPTOR && value >= DESCRIPTORS) ||
                (call->kinds[j] == TEXT && (value < 0 || value >= head->text)))
                bad("is damaged");
        }
    }
}

static long put(const struct call *call, int at) {
    int64_t value = call->arguments[at];
    switch (call->kinds[at]) {
    case DESCRIPTOR: return value < 0 ? value : own[value];
    case TEXT: return (long)(text + value);
    case FILLED: return (long)filled;
    case ZEROS: return (long)zeros;
    default: return value;
    }
}

static _Noreturn void differs(const struct call *call, long result) {
    fprintf(stderr, "call %td, %s(", call - calls, names + (size_t)call->name * NAME);
    for (int i = 0; i < ARGUMENTS; i++) {
        int is_path = call->kinds[i] == TEXT && text[call->arguments[i]] > ' ';
        if (is_path) fprintf(stderr, "%s\"%s\"", i ? ", " : "", text + call->arguments[i]);
        else fprintf(stderr, "%s%lld", i ? ", " : "", (long long)call->arguments[i]);
    }
    fprintf(stderr, "): recorded %lld, now %ld\n", (long long)call->result, result);
    exit(1);
}

static void make(const struct call *call) {
    long result = syscall(numbers[call->name], put(call, 0), put(call, 1), put(call, 2), put(call, 3), put(call, 4),
                          put(call, 5));
    if (result < 0) result = -errno;
    if (call->opens && call->result >= 0 && result >= 0) own[call->result] = (int)result;
    else if (result != call->result) differs(call, result);
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) {
        fprintf(stderr, "usage: replay LIST\n");
        return 2;
    }
    list = arguments[1];
    load();
    resolve();
    check();
    memset(own, -1, sizeof own);
    filled = must_alloc(malloc(head->buffer));
    zeros = must_alloc(calloc(1, head->buffer));
    for (uint32_t i = 0; i < head->calls; i++) make(&calls[i]);
    printf("%u\n", head->calls);
    return 0;
}
