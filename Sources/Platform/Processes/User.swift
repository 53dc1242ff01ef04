import CSystem

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

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Another user, as whom root makes a few system calls on one thread.
///
/// setfsuid(2) changes only the rights of a thread on files; meanwhile the kernel removes the capabilities by which
/// root bypasses modes (capabilities(7)). Signals and ptrace(2) still meet a process of root's. The other threads
/// stay root. The groups of root go, too.
package struct OtherUser: Sendable {
    private let user: UInt32
    private let group: UInt32
    private let ownGroup: UInt32
    private let ownGroups: [UInt32]

    /// - Parameter group: that of the user's directory: new files there get it, if the user is in it.
    /// - Returns: `nil` without the right to change the user.
    package init?(_ user: UInt32, group: UInt32) {
        self.user = user
        self.group = groupOf(user, preferring: group)
        ownGroup = getegid()
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        guard count >= 0 else { return nil }
        ownGroups = Array(groups.prefix(Int(count)))
        let isOther = castree_act_as(user, self.group, 0, nil) == 0
        end()
        guard isOther else { return nil }
    }

    /// Gives this thread the user's rights on files.
    package func begin() {
        // It worked before; a thread that stayed root could be led anywhere.
        precondition(castree_act_as(user, group, 0, nil) == 0, "unable to act for another user")
    }

    /// Gives this thread root's rights again.
    package func end() {
        // errno belongs to the call that was made as the user.
        let number = errno
        _ = ownGroups.withUnsafeBufferPointer {
            castree_act_as(0, ownGroup, $0.count, $0.baseAddress)
        }
        errno = number
    }
}

/// A group, if a user is in it by passwd(5) and group(5); otherwise the user's own.
private func groupOf(_ user: UInt32, preferring group: UInt32) -> UInt32 {
    let entry = databaseFields("/etc/passwd").first { $0.count > 3 && UInt32($0[2]) == user }
    guard let entry, let own = UInt32(entry[3]) else {
        // An unknown user is in nogroup.
        return group == 0 ? 65_534 : group
    }
    if group == own { return group }
    let isMember = databaseFields("/etc/group").contains {
        $0.count > 3 && UInt32($0[2]) == group
            && $0[3].split(separator: ",").contains { $0 == entry[0] }
    }
    return isMember ? group : own
}
