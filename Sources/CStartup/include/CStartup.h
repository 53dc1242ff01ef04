// What startup.c takes before the program runs.

/// The arguments of this process, ended by a null pointer, as the C library (glibc) and dyld pass them.
char *_Nullable *_Nullable castree_arguments(void);
