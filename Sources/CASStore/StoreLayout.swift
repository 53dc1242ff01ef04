/// Every path inside a store.
///
/// This file builds them, and no other does.
///
/// ```
/// STORE/
///   FORMAT                 "castree 1\n"
///   objects/ab/cdef…       62 digits, mode 0444; cdef….x is the same object with mode 0555
///   staging/<lease>/…      what a running writer has not published yet
///   staging/<address>      partial objects, resumable
///   quarantine/<address>   damaged objects that fsck --repair took away
///   manifests/<version>.json
///   lifecycle.json
///   versions/<version>/…   trees;  versions/.<version>.<lease>  trees under construction or removal
///   current -> versions/…
///   index.sqlite           derived;  stamp  what the index must agree with
///   verified               when checks last found objects sound; derived
///   last-check.json        what the last check came to; derived
///   leases/<lease>         lock files of running writers
///   reserve                space set aside for collecting on a full disk
///   server.json            what a server remembers: its port and its token
///   channels.json          the newest sequence seen of every channel
///   owed.json              the version that an app must show before it goes on
///   events.jsonl           what happened lately; events.older.jsonl  what happened before
/// ```
package enum StoreLayout {
    package static let format = "FORMAT"
    package static let objects = "objects"
    package static let staging = "staging"
    package static let quarantine = "quarantine"
    package static let manifests = "manifests"
    package static let versions = "versions"
    package static let leases = "leases"
    package static let lifecycle = "lifecycle.json"
    package static let current = "current"
    package static let index = "index.sqlite"
    package static let stamp = "stamp"
    package static let verified = "verified"
    package static let lastCheck = "last-check.json"
    package static let reserve = "reserve"
    package static let server = "server.json"
    package static let channels = "channels.json"
    package static let owed = "owed.json"
    package static let events = "events.jsonl"
    package static let olderEvents = "events.older.jsonl"
    /// The lock of those who append to the events, inside `leases/`.
    package static let eventsLock = ".events"

    /// Locked by the process that watches a start, inside `leases/`.
    package static let startClaim = ".start"

    /// The directories of a store, made with it.
    package static let directories = [
        objects, staging, quarantine, manifests, versions, leases,
    ]
    /// The directories that share the objects out, by the first byte of the address; sorted.
    package static let shards = (0...255).map { Hex.string([UInt8($0)]) }
    /// All names that castree itself puts at the top of a store.
    package static let topLevelNames: Set<String> = Set(
        directories + [
            format, lifecycle, current, index, stamp, verified, lastCheck, reserve, server,
            channels, owed, events, olderEvents, "index.sqlite-journal",
        ])

    /// The end of a manifest's file name.
    package static let manifestSuffix = ".json"

    /// The file name of a version's manifest, inside `manifests/`.
    package static func manifest(_ version: String) -> String { version + manifestSuffix }

    /// The name beside a tree under which it is built or taken down, inside `versions/`.
    ///
    /// A version's name never begins with a dot, so the two cannot meet.
    package static func hiddenTree(_ version: String, _ token: String) -> String {
        ".\(version).\(token)"
    }

    /// An object's path inside `objects/`, for where it is built once in a while.
    package static func objectPath(_ address: ObjectID, executable: Bool = false) -> String {
        let name = address.description
        return "\(name.prefix(2))/\(name.dropFirst(2))\(executable ? twinSuffix : "")"
    }

    /// The shard whose place a path inside the store is; `nil` if it is another.
    package static func shard(atPath path: String) -> String? {
        let prefix = objects + "/"
        guard path.hasPrefix(prefix) else { return nil }
        let name = String(path.dropFirst(prefix.count))
        return isShardName(name) ? name : nil
    }

    /// Whether a name is that of a shard: two lower-case hexadecimal digits.
    package static func isShardName(_ name: String) -> Bool {
        name.utf8.count == 2 && name.utf8.allSatisfy { Hex.value(of: $0) != nil }
    }

    /// The end of the name of an object's executable twin.
    package static let twinSuffix = ".x"

    /// Whether a file name ends as that of a twin does; asked for every file of a store.
    static func isTwinName(_ name: UnsafePointer<CChar>) -> Bool {
        var length = 0
        while name[length] != 0 { length += 1 }
        return length >= 2 && name[length - 2] == 46 && name[length - 1] == 120
    }

    /// Calls `body` with an address's 64 digits as a C string, on the stack.
    @inline(__always)
    package static func withDigits<R: ~Copyable>(
        _ address: ObjectID, _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        // "ab/cdef…" with the slash moved out: the digits stand behind the third byte.
        try withObjectPath(address) { (path) throws(StoreError) -> R in
            var digits: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
                (0, 0, 0, 0, 0, 0, 0, 0, 0)
            return try withUnsafeMutableBytes(of: &digits) { (buffer) throws(StoreError) -> R in
                let target = UnsafeMutableRawBufferPointer(rebasing: buffer[2..<64])
                buffer[0] = UInt8(bitPattern: path[0])
                buffer[1] = UInt8(bitPattern: path[1])
                target.copyMemory(from: UnsafeRawBufferPointer(start: path + 3, count: 62))
                guard let start = buffer.baseAddress else {
                    preconditionFailure("a tuple has an address")
                }
                return try body(UnsafePointer(start.assumingMemoryBound(to: CChar.self)))
            }
        }
    }

    /// Calls `body` with an object's name inside its shard, on the stack.
    @inline(__always)
    package static func withShardName<R: ~Copyable>(
        _ address: ObjectID, executable: Bool = false,
        _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try withObjectPath(address, executable: executable) { (path) throws(StoreError) -> R in
            try body(path + 3)
        }
    }

    /// The address that a name inside a shard spells; `nil` if it is not the name of an object or,
    /// with `executable`, of a twin.
    package static func address(
        _ shard: String, _ name: UnsafePointer<CChar>, executable: Bool = false
    ) -> ObjectID? {
        // Two digits of the shard and 62 of the name, side by side.
        var digits: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
            (0, 0, 0, 0, 0, 0, 0, 0)
        return withUnsafeMutableBytes(of: &digits) { (digits) -> ObjectID? in
            var position = 0
            for digit in shard.utf8.prefix(2) {
                digits[position] = digit
                position += 1
            }
            while position < 64, name[position - 2] != 0 {
                digits[position] = UInt8(bitPattern: name[position - 2])
                position += 1
            }
            guard position == 64 else { return nil }
            let end = name + 62
            let isTwin = end[0] == 46 && end[1] == 120 && end[2] == 0
            guard executable ? isTwin : end[0] == 0 else { return nil }
            return digits.withMemoryRebound(to: UInt8.self) {
                ObjectID.parse(UnsafeBufferPointer($0))
            }
        }
    }

    /// Calls `body` with an object's path inside `objects/`, on the stack.
    @inline(__always)
    package static func withObjectPath<R: ~Copyable>(
        _ address: ObjectID, executable: Bool = false,
        _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        // "ab/" + 62 digits + ".x" + NUL
        var storage: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
            (0, 0, 0, 0, 0, 0, 0, 0, 0)
        return try withUnsafeMutableBytes(of: &storage) { buffer throws(StoreError) -> R in
            guard let start = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                preconditionFailure("a tuple has an address")
            }
            address.writeDigits(to: start + 1)
            start[0] = start[1]
            start[1] = start[2]
            start[2] = 47
            if executable {
                start[65] = 46
                start[66] = 120
            }
            return try start.withMemoryRebound(to: CChar.self, capacity: 72) {
                path throws(StoreError) -> R in try body(path)
            }
        }
    }
}
