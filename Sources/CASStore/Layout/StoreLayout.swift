/// Builds every path inside a store; no other file does.
///
/// ```
/// STORE/
///   FORMAT                 "castree 1\n"
///   objects/ab/cdef…       62 digits, mode 0444; cdef….x is the same object with mode 0555
///   staging/<lease>/…      unpublished files of a running writer
///   staging/<address>      partial objects, resumable
///   quarantine/<address>   damaged objects that fsck --repair moved away
///   manifests/<version>.json
///   lifecycle.json
///   versions/<version>/…   trees;  versions/.<version>.<lease>  trees under construction or removal
///   current -> versions/…
///   index.sqlite           derived;  stamp  must agree with the index
///   verified               when checks last found objects intact; derived
///   last-check.json        the result of the last check; derived
///   stuck.json             what the last collection could not remove; derived
///   leases/<lease>         lock files of running writers
///   reserve                space set aside for collecting on a full disk
///   trust.json             the keys that must sign each origin's releases
///   server.json            what a server remembers: its port and its token
///   channels.json          the newest sequence seen of every channel
///   pointers/<digits>      the last pointer of each channel, as its server sent it; derived
///   packing/<32 digits>/   cached parts of packs for an origin in a bucket; derived
///   owed.json              the version that an app must show before it continues
///   events.jsonl           recent events; events.older.jsonl  earlier ones
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
    package static let stuck = "stuck.json"
    package static let reserve = "reserve"
    package static let server = "server.json"
    package static let trust = "trust.json"
    package static let channels = "channels.json"
    package static let pointers = "pointers"
    package static let packing = "packing"
    package static let pendingForced = "owed.json"
    package static let device = "device.json"
    package static let events = "events.jsonl"
    package static let olderEvents = "events.older.jsonl"

    // Beside the index, made by SQLite.
    static let indexJournal = index + "-journal"
    static let indexLog = index + "-wal"
    static let indexFiles = [index, indexJournal, indexLog, index + "-shm"]

    package static let directories = [
        objects, staging, quarantine, manifests, versions, leases,
    ]
    /// Whether a repair gave this name in the root to something that it could only rename in place.
    static func isSetAside(_ name: String) -> Bool {
        guard name.hasPrefix(".") else { return false }
        let stem = name.dropFirst().prefix { $0 != "-" && $0 != "." }
        return stem == "stray" || topLevelNames.contains { $0.prefix { $0 != "." } == stem }
    }

    package static let topLevelNames: Set<String> = Set(
        directories + [
            format, lifecycle, current, index, stamp, verified, lastCheck, stuck, reserve, trust,
            device,
            server, channels, pointers, packing, pendingForced, events, olderEvents,
            indexJournal,
        ])

    /// Whether something at the top of a store appears before anything is stored.
    static func isMadeUnasked(_ name: String) -> Bool {
        directories.contains(name)
            || [
                format, index, indexJournal, stamp, reserve, events, lastCheck, stuck, server,
            ]
            .contains(name)
    }

    package static let manifestSuffix = ".json"

    package static func manifest(_ version: String) -> String { version + manifestSuffix }

    package static func manifestPath(_ version: String) -> String {
        "\(manifests)/\(manifest(version))"
    }

    /// The lock of a process that makes packs, in the directory for it.
    package static let packingLock = "packing"

    /// The directory in which packs for an origin in a bucket are made.
    /// - Parameter place: the digest of the bucket's place.
    package static func packingPath(_ place: ObjectID) -> String {
        "\(packing)/\(place.description.prefix(32))"
    }

    static func isPackingPlace(_ name: String) -> Bool {
        name.utf8.count == 32 && name.utf8.allSatisfy { Hex.value(of: $0) != nil }
    }

    package static func treePath(_ version: String) -> String { "\(versions)/\(version)" }

    package static func leasePath(_ name: String) -> String { "\(leases)/\(name)" }

    /// The hidden name of a version's tree that is built or removed; it begins with a dot, as no version's name does.
    package static func hiddenTree(_ version: String, _ token: String) -> String {
        ".\(version).\(token)"
    }

    /// Whether castree gives such a name to a tree that it builds or removes: it ends in a lease or a token.
    package static func isHiddenTree(_ name: String) -> Bool {
        guard name.hasPrefix("."), let dot = name.lastIndex(of: "."), dot > name.startIndex else {
            return false
        }
        let end = name[name.index(after: dot)...].split(
            separator: "-", omittingEmptySubsequences: false)
        guard let token = end.last, !token.isEmpty,
            token.utf8.allSatisfy({ Hex.value(of: $0) != nil })
        else { return false }
        return end.count == 1 ? token.utf8.count == 16 : end.count == 2 && Int32(end[0]) != nil
    }

    package static let newCurrent = ".current.new"

    /// The hidden name of a tree whose own name is not text.
    package static func strayTree() throws(StoreError) -> String { ".stray.\(try randomToken())" }

    /// A file that shows whether the file system tells spellings of a name apart.
    package static func probe(_ token: String, _ spelling: String) -> String {
        ".probe-\(token)-\(spelling)"
    }

    /// The name in quarantine for something that is not an object.
    /// - Parameter kind: what it was, in a word.
    package static func aside(
        _ kind: String, suffix: String = ""
    ) throws(StoreError) -> String { "\(kind)-\(try randomToken())\(suffix)" }
}

// Inside `leases/`, every lock's name begins with a dot, unlike a lease's.
extension StoreLayout {
    /// A lease that is being made, or a file on which something is tried: the next writer removes what is left of it.
    static func newLease(_ name: String) -> String { newLeasePrefix + name }

    static func isNewLease(_ name: String) -> Bool { name.hasPrefix(newLeasePrefix) }

    private static let newLeasePrefix = ".new-"

    /// Locked by every process that uses the index.
    package static let indexLock = ".index"
    static let writerLock = ".writer"
    package static let lifecycleLock = ".lifecycle"
    package static let serverLock = ".server"
    package static let eventsLock = ".events"
    package static let channelsLock = ".channels"
    package static let trustLock = ".trust"
    /// Held by the process that watches a start.
    package static let startLock = ".start"

    /// Created briefly, to see which owner the files of this process get.
    static let ownerProbe = ".owner"

    /// Shared by all processes that keep the store up to date, while they do.
    package static let updatesLock = ".updates"

    /// Locks that say nothing of what a store holds.
    static let plainLocks: Set<String> = [
        indexLock, writerLock, lifecycleLock, serverLock, eventsLock, channelsLock, trustLock,
        startLock, ownerProbe,
    ]

    package static func fetchLock(_ release: ObjectID) -> String { fetchPrefix + "\(release)" }

    /// Whether a lock is a pull's, and meaningless once it is not held.
    static func isLockOfPull(_ name: String) -> Bool {
        name.hasPrefix(fetchPrefix) || name.hasPrefix(pullPrefix)
    }

    /// Held by processes that fetch a release under a name.
    package static func pullLock(_ version: String) -> String { pullPrefix + version }

    /// The version that processes with this lock fetch; `nil` if it is another lock.
    package static func version(pulledBy name: String) -> String? {
        name.hasPrefix(pullPrefix) ? String(name.dropFirst(pullPrefix.utf8.count)) : nil
    }

    private static let fetchPrefix = ".fetch-"
    private static let pullPrefix = ".pull-"
    private static let pinPrefix = ".pin-"
    private static let pinTokenLength = 16

    package static func newPin(of version: String) throws(StoreError) -> String {
        "\(pinPrefix)\(try randomToken().prefix(pinTokenLength))-\(version)"
    }

    /// The version that a lock pins; `nil` if it is not a pin.
    package static func version(pinnedBy name: String) -> String? {
        guard name.hasPrefix(pinPrefix) else { return nil }
        let rest = name.dropFirst(pinPrefix.utf8.count + pinTokenLength)
        return rest.hasPrefix("-") ? String(rest.dropFirst()) : nil
    }

    // Inside `staging/`, beside the directories of leases and the files named by an address.

    /// The prefix of a copy that a repair has staged.
    static let copyPrefix = ".restored-"
    /// The suffix of a staged file's second link, while it replaces something damaged.
    static let spareSuffix = ".again"
    /// The suffix of the note with a part's source.
    static let sourceSuffix = ".from"

    // MARK: Objects: their directories, their paths, and the way back from a name to an address

    /// The directories over which objects are spread, by the first byte of the address; sorted.
    package static let shards = (0...255).map { Hex.string([UInt8($0)]) }

    package static func objectPath(_ address: ObjectID, executable: Bool = false) -> String {
        String(unsafeUninitializedCapacity: 67) { text in
            guard let start = text.baseAddress else { return 0 }
            writePath(of: address, executable, to: start)
            return executable ? 67 : 65
        }
    }

    @inline(__always)
    private static func writePath(
        of address: ObjectID, _ executable: Bool, to text: UnsafeMutablePointer<UInt8>
    ) {
        address.writeDigits(to: text + 1)
        text[0] = text[1]
        text[1] = text[2]
        text[2] = 47
        if executable {
            text[65] = 46
            text[66] = 120
        }
    }

    /// The shard at a path inside the store; `nil` if the path is not a shard's.
    package static func shard(atPath path: String) -> String? {
        let prefix = objects + "/"
        guard path.hasPrefix(prefix) else { return nil }
        let name = String(path.dropFirst(prefix.count))
        return isShardName(name) ? name : nil
    }

    package static func isShardName(_ name: String) -> Bool {
        name.utf8.count == 2 && name.utf8.allSatisfy { Hex.value(of: $0) != nil }
    }

    package static let executableCopySuffix = ".x"

    /// Called for every file of a store.
    static func isExecutableCopyName(_ name: UnsafePointer<CChar>) -> Bool {
        var length = 0
        while name[length] != 0 { length += 1 }
        return length >= 2 && name[length - 2] == 46 && name[length - 1] == 120
    }

    /// Calls `body` with an address's 64 digits as a C string, on the stack.
    @inline(__always)
    package static func withDigits<R: ~Copyable>(
        _ address: ObjectID, _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try withText({ address.writeDigits(to: $0) }, body)
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

    /// The address that a name inside a shard spells as an object or, with `executable`, an executable copy; else
    /// `nil`.
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
            let isExecutableCopy = end[0] == 46 && end[1] == 120 && end[2] == 0
            guard executable ? isExecutableCopy : end[0] == 0 else { return nil }
            return digits.withMemoryRebound(to: UInt8.self) {
                ObjectID.parse(UnsafeBufferPointer($0))
            }
        }
    }

    @inline(__always)
    package static func withObjectPath<R: ~Copyable>(
        _ address: ObjectID, executable: Bool = false,
        _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try withText({ writePath(of: address, executable, to: $0) }, body)
    }

    /// Calls `body` with a C string that `write` has written: 71 bytes at most, on the stack.
    @inline(__always)
    private static func withText<R: ~Copyable>(
        _ write: (UnsafeMutablePointer<UInt8>) -> Void,
        _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        var storage: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
            (0, 0, 0, 0, 0, 0, 0, 0, 0)
        return try withUnsafeMutableBytes(of: &storage) { buffer throws(StoreError) -> R in
            guard let start = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                preconditionFailure("a tuple has an address")
            }
            write(start)
            return try start.withMemoryRebound(to: CChar.self, capacity: 72) {
                path throws(StoreError) -> R in try body(path)
            }
        }
    }
}
