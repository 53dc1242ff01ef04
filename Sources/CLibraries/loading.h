// One library that is loaded when it is first used, and functions that lead into it: each has the library's name and type for it.
#pragma once
#include "castree_libraries.h"

#ifdef __APPLE__
#define LIBRARY(name, ...) \
    const char *castree_load_##name(void) { return 0; }
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

// RTLD_LOCAL: what the library calls by these names is its own.
// The first file that is there.
#define LIBRARY(name, ...)                                               \
    static const char *const files[] = {__VA_ARGS__};                    \
    static pthread_once_t once = PTHREAD_ONCE_INIT;                      \
    static void *library;                                                \
    static const char *problem;                                          \
    static void load(void) {                                             \
        for (size_t at = 0; !library && at < sizeof files / sizeof *files; at++) \
            library = dlopen(files[at], RTLD_NOW | RTLD_LOCAL);          \
        const char *said = library ? 0 : dlerror();                      \
        if (said) problem = strdup(said);                                \
    }                                                                    \
    const char *castree_load_##name(void) {                              \
        pthread_once(&once, load);                                       \
        return library ? 0 : problem ? problem : files[0];               \
    }                                                                    \
    static void *find(_Atomic(void *) *known, const char *function) {    \
        void *found = atomic_load_explicit(known, memory_order_relaxed); \
        if (found) return found;                                         \
        pthread_once(&once, load);                                       \
        if (library) found = dlsym(library, function);                   \
        atomic_store_explicit(known, found, memory_order_relaxed);       \
        return found;                                                    \
    }

#define FOUND(name)             \
    static _Atomic(void *) known; \
    __typeof__(name) *function = (__typeof__(name) *)find(&known, #name)

// A function, its parameters, what is handed on, and what it returns without the library.
#define RETURNS(type, name, parameters, arguments, otherwise) \
    type name parameters {                                    \
        FOUND(name);                                          \
        return function ? function arguments : otherwise;     \
    }
#define ENDS(name, parameters, arguments)   \
    void name parameters {                  \
        FOUND(name);                        \
        if (function) function arguments;   \
    }
#endif
