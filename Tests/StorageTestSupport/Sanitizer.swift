/// The compiler's sanitizers, which change what a program takes of memory and time.
package enum Sanitizer {
    /// Whether the tests are built with the thread or the address sanitizer.
    package static let isPresent =
        dlsym(dlopen(nil, RTLD_NOW), "__tsan_init") != nil
        || dlsym(dlopen(nil, RTLD_NOW), "__asan_init") != nil
}
