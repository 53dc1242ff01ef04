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
            index + "-journal",
        ])

    /// Whether something at the top of a store appears before anything is stored.
    static func isMadeUnasked(_ name: String) -> Bool {
        directories.contains(name)
            || [
                format, index, index + "-journal", stamp, reserve, events, lastCheck, stuck, server,
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

    /// The name in quarantine for something that is not an object.
    /// - Parameter kind: what it was, in a word.
    package static func aside(
        _ kind: String, suffix: String = ""
    ) throws(StoreError) -> String { "\(kind)-\(try randomToken())\(suffix)" }
}

// Inside `leases/`, every lock's name begins with a dot, unlike a lease's.
extension StoreLayout {
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
}
