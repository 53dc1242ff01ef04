import CASStore
import Console

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

enum Browser {
    #if os(Linux)
        private static let opener = "xdg-open"
    #else
        private static let opener = "open"
    #endif

    /// Opens an address; returns when the opener has started.
    /// - Throws: `noBrowser` if there is no opener.
    static func open(_ url: String) throws(CommandError) {
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(opener), strdup(url), nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        let result = posix_spawnp(&process, opener, nil, nil, &arguments, environ)
        guard result == 0 else {
            throw CommandError(
                .failed, code: "noBrowser",
                message: "\(opener), which opens pages, is not installed")
        }
    }

    /// Opens an address that contains a secret; returns the file to remove when the browser no longer needs it.
    ///
    /// Every user of the machine can read a program's command line (proc(5), /proc/PID/cmdline). So the browser gets
    /// a file that only this user can read, and that redirects to the address.
    /// - Throws: `noBrowser` if there is no opener; what the file system reports if the file cannot be made.
    static func openSecret(_ url: String, in directory: String) throws -> String {
        let (system, here) = (POSIXFileSystem(), POSIXFileSystem.workingDirectory)
        let path = "\(directory)/castree-open-\(try randomToken()).html"
        let file = try system.open(here, path, .creating, mode: 0o600)
        do {
            // The address needs no escapes here: a host, digits and letters.
            let page = """
                <!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
                <meta http-equiv="refresh" content="0;url=\(url)"><a href="\(url)">Open the app</a>

                """
            try system.write(file.raw, Array(page.utf8))
            try open(path)
        } catch {
            // The first error is the one to report.
            try? remove(path)
            throw error
        }
        return path
    }

    static func remove(_ file: String) throws(StoreError) {
        try POSIXFileSystem().removeIfPresent(POSIXFileSystem.workingDirectory, file)
    }
}
