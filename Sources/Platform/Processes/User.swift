import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The user whose rights this process has.
package func effectiveUser() -> UInt32 { geteuid() }

/// Whether this process may give files to other users (capabilities(7), CAP_CHOWN).
package func mayGiveFilesAway() -> Bool { castree_may_chown() != 0 }

/// A user as messages name one: `user app (uid 5001)`.
package func userDescription(_ user: UInt32) -> String {
    userName(user).map { "user \($0) (uid \(user))" } ?? "uid \(user)"
}

/// The name of a user of this machine; `nil` if /etc/passwd does not have it.
///
/// Reads passwd(5): getpwuid(3) loads libraries that a static program does not have.
package func userName(_ user: UInt32) -> String? {
    let system = POSIXFileSystem()
    // Without it a message names the user by number.
    guard
        let bytes = try? system.contents(
            POSIXFileSystem.workingDirectory, "/etc/passwd", limit: 1 << 20)
    else { return nil }
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
        let fields = line.split(separator: ":", omittingEmptySubsequences: false)
        if fields.count > 2, UInt32(fields[2]) == user { return printable(String(fields[0])) }
    }
    return nil
}
