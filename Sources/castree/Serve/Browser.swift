import Console

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Opens pages in the user's browser.
enum Browser {
    #if os(Linux)
        private static let opener = "xdg-open"
    #else
        private static let opener = "open"
    #endif

    /// Opens an address; returns when the opener has started.
    /// - Throws: `failed` if there is no opener.
    static func open(_ url: String) throws(CommandError) {
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(opener), strdup(url), nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        let result = posix_spawnp(&process, opener, nil, nil, &arguments, environ)
        guard result == 0 else {
            throw CommandError(
                .failed, code: "noBrowser", message: "there is no \(opener) to open the page with")
        }
    }
}
