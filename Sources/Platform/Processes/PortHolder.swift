extension LockHolder {
    /// The process that listens on a TCP port of this machine; `nil` if unknown.
    ///
    /// Linux lists sockets by inode in /proc/net/tcp (proc_pid_net(5)), and each process's in /proc/PID/fd, which
    /// only its user and root may read.
    package static func listening(on port: UInt16) -> LockHolder? {
        let sockets = ["tcp", "tcp6"].flatMap {
            Self.sockets(listeningOn: port, in: text("/proc/net/\($0)", limit: 4 << 20))
        }
        guard !sockets.isEmpty else { return nil }
        return process(holding: Set(sockets.map { "socket:[\($0)]" })).map { LockHolder($0) }
    }

    private static func process(holding links: Set<String>) -> Int32? {
        for name in names("/proc") {
            guard let process = Int32(name) else { continue }
            for file in names("/proc/\(process)/fd") {
                if let target = target("/proc/\(process)/fd/\(file)"), links.contains(target) {
                    return process
                }
            }
        }
        return nil
    }

    // Another user's process, or one on a system without /proc, is not named.

    private static func names(_ directory: String) -> [String] {
        let system = POSIXFileSystem()
        guard
            // As above.
            let opened = try? system.open(
                POSIXFileSystem.workingDirectory, directory, .directory, mode: 0)
        else { return [] }
        // As above.
        return (try? system.names(in: opened.raw)) ?? []
    }

    private static func target(_ link: String) -> String? {
        // As above.
        (try? POSIXFileSystem().symbolicLink(POSIXFileSystem.workingDirectory, link)) ?? nil
    }

    /// The inodes of listening sockets, by a text of /proc/net: `0: 0100007F:1F90 00000000:0000 0A … 1000 0 <inode>
    /// …`, addresses and ports in hexadecimal digits.
    static func sockets(listeningOn port: UInt16, in table: String) -> [String] {
        table.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 9, fields[3] == "0A", fields[9] != "0",
                let colon = fields[1].lastIndex(of: ":"),
                UInt16(fields[1][fields[1].index(after: colon)...], radix: 16) == port
            else { return nil }
            return String(fields[9])
        }
    }
}
