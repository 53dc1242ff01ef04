import CASStore
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

    /// Opens an address that has a secret in it; returns the file to remove when the browser needs it no more.
    ///
    /// Every user of the machine can read the command line of a program (proc(5), /proc/PID/cmdline). So the browser is
    /// given a file that only this user can read, and that leads there.
    ///
    /// - Throws: `noBrowser` if there is no opener; what the file system says if the file cannot be made.
    static func openSecret(_ url: String, in directory: String) throws -> String {
        let (system, here) = (POSIXFileSystem(), POSIXFileSystem.workingDirectory)
        let path = "\(directory)/castree-open-\(try randomToken()).html"
        let file = try system.open(here, path, .creating, mode: 0o600)
        do {
            // The address consists of what needs no escapes here: a host, digits and letters.
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

    /// Removes the file of ``openSecret(_:in:)``.
    static func remove(_ file: String) throws(StoreError) {
        try POSIXFileSystem().removeIfPresent(POSIXFileSystem.workingDirectory, file)
    }
}
