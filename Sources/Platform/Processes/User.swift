#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

package func effectiveUser() -> UInt32 { geteuid() }

package func userDescription(_ user: UInt32) -> String {
    userName(user).map { "user \($0) (uid \(user))" } ?? "uid \(user)"
}

/// The name of a user of this machine; `nil` if /etc/passwd does not have it.
///
/// Reads passwd(5): getpwuid(3) loads libraries that a static program does not have.
package func userName(_ user: UInt32) -> String? {
    databaseFields("/etc/passwd").first { $0.count > 2 && UInt32($0[2]) == user }
        .map { printable($0[0]) }
}

/// A user's name in passwd(5), or `nil`; getpwuid(3) loads libraries that a static program does not have.
func databaseFields(_ path: String) -> [[String]] {
    // Without it a message names the user by number, and groups have no members.
    let bytes = try? POSIXFileSystem().contents(
        POSIXFileSystem.workingDirectory, path, limit: 1 << 20)
    return String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n").map { line in
        line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    }
}
