#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

package func effectiveUser() -> UInt32 { geteuid() }

package func userDescription(_ user: UInt32) -> String {
    guard isMapped(user) else { return "a user outside this user namespace" }
    return userName(user).map { "user \($0) (uid \(user))" } ?? "uid \(user)"
}

/// Whether a user namespace has a user: all others appear as nobody, who is somebody else (user_namespaces(7)).
private func isMapped(_ user: UInt32) -> Bool {
    let rows = LockHolder.text("/proc/self/uid_map", limit: 64 << 10).split(separator: "\n")
    return rows.isEmpty
        || rows.contains { row in
            let numbers = row.split(separator: " ").compactMap { UInt64($0) }
            return numbers.count == 3 && numbers[0]..<numbers[0] + numbers[2] ~= UInt64(user)
        }
}

/// The name of a user of this machine; `nil` if /etc/passwd or the user namespace does not have it.
///
/// Reads passwd(5): getpwuid(3) loads libraries that a static program does not have.
package func userName(_ user: UInt32) -> String? {
    guard isMapped(user) else { return nil }
    return databaseFields("/etc/passwd").first { $0.count > 2 && UInt32($0[2]) == user }
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
