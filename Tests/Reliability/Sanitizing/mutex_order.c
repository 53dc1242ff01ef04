// Tells the thread sanitizer about the waiting half of Swift's Mutex.
//
// Where nobody waits, Mutex is a compare-and-exchange in the program itself, and the sanitizer sees it. Where somebody
// does, it calls into the Swift runtime, which was not built for the sanitizer: what one thread did under the lock then
// looks unordered to the next one, and each contended lock is reported as a race. These functions stand before the
// runtime's (LD_PRELOAD), call them, and say in which order things happened. Names and calling convention are those of
// the Swift ABI: Synchronization._MutexHandle._lockSlow(_:), _unlockSlow() and _tryLockSlow().
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define SWIFT __attribute__((swiftcall))
#define CONTEXT __attribute__((swift_context))

// The sanitizer's own, in the program; absent in programs that were built without it.
extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

SWIFT void castree_lock(uint32_t thread, CONTEXT void *mutex) __asm__(LOCK);
SWIFT void castree_unlock(CONTEXT void *mutex) __asm__(UNLOCK);
SWIFT bool castree_try(CONTEXT void *mutex) __asm__(TRY);

SWIFT void castree_lock(uint32_t thread, CONTEXT void *mutex) {
    ((SWIFT void (*)(uint32_t, CONTEXT void *))dlsym(RTLD_NEXT, LOCK))(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void castree_unlock(CONTEXT void *mutex) {
    if (__tsan_release) __tsan_release(mutex);
    ((SWIFT void (*)(CONTEXT void *))dlsym(RTLD_NEXT, UNLOCK))(mutex);
}

SWIFT bool castree_try(CONTEXT void *mutex) {
    bool locked = ((SWIFT bool (*)(CONTEXT void *))dlsym(RTLD_NEXT, TRY))(mutex);
    if (locked && __tsan_acquire) __tsan_acquire(mutex);
    return locked;
}
