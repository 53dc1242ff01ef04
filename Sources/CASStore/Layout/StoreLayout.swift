/// Every path inside a store.
///
/// Only this file builds them.
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
///   last-check.json        the result of the last check; derived
///   stuck.json             what the last collection could not remove; derived
///   leases/<lease>         lock files of running writers
///   reserve                space set aside for collecting on a full disk
///   trust.json             whose releases are taken from which origin
///   server.json            what a server remembers: its port and its token
///   channels.json          the newest sequence seen of every channel
///   pointers/<digits>      the last pointer of each channel, as its server sent it; derived
///   packing/<32 digits>/   what packs for an origin in a bucket are made of; derived
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
    package static let stuck = "stuck.json"
    package static let reserve = "reserve"
    package static let server = "server.json"
    package static let trust = "trust.json"
    package static let channels = "channels.json"
    package static let pointers = "pointers"
    package static let packing = "packing"
    package static let owed = "owed.json"
    package static let device = "device.json"
    package static let events = "events.jsonl"
    package static let olderEvents = "events.older.jsonl"

    /// The directories of a store, made with it.
    package static let directories = [
        objects, staging, quarantine, manifests, versions, leases,
    ]
    /// Whether a name in the root is one of what a repair could only rename beside its place.
    static func isSetAside(_ name: String) -> Bool {
        guard name.hasPrefix(".") else { return false }
        let stem = name.dropFirst().prefix { $0 != "-" && $0 != "." }
        return stem == "stray" || topLevelNames.contains { $0.prefix { $0 != "." } == stem }
    }

    /// All names that castree itself puts at the top of a store.
    package static let topLevelNames: Set<String> = Set(
        directories + [
            format, lifecycle, current, index, stamp, verified, lastCheck, stuck, reserve, trust,
            device,
            server, channels, pointers, packing, owed, events, olderEvents, index + "-journal",
        ])

    /// Whether something at the top of a store comes without anybody having put anything in.
    static func isMadeUnasked(_ name: String) -> Bool {
        directories.contains(name)
            || [
                format, index, index + "-journal", stamp, reserve, events, lastCheck, stuck, server,
            ]
            .contains(name)
    }

    /// The end of a manifest's file name.
    package static let manifestSuffix = ".json"

    /// The file name of a version's manifest, inside `manifests/`.
    package static func manifest(_ version: String) -> String { version + manifestSuffix }

    /// The path of a version's manifest.
    package static func manifestPath(_ version: String) -> String {
        "\(manifests)/\(manifest(version))"
    }

    /// What whoever makes packs holds locked, in the directory in which they are made.
    package static let packingLock = "packing"

    /// The directory in which packs for an origin in a bucket are made.
    /// - Parameter place: the digest of the bucket's place.
    package static func packingPath(_ place: ObjectID) -> String {
        "\(packing)/\(place.description.prefix(32))"
    }

    /// Whether a name in `packing/` is that of such a directory.
    static func isPackingPlace(_ name: String) -> Bool {
        name.utf8.count == 32 && name.utf8.allSatisfy { Hex.value(of: $0) != nil }
    }

    /// The path of a version's tree.
    package static func treePath(_ version: String) -> String { "\(versions)/\(version)" }

    /// The path of a lease, or of a lock.
    package static func leasePath(_ name: String) -> String { "\(leases)/\(name)" }

    /// The hidden name inside `versions/`, beside a tree, under which the tree is built or removed.
    ///
    /// A version's name never begins with a dot, so the two cannot meet.
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

    /// The name of the link that is to become `current`, beside it.
    package static let newCurrent = ".current.new"

    /// The name in quarantine for something that is not an object.
    /// - Parameter kind: what it was, in a word.
    package static func aside(
        _ kind: String, suffix: String = ""
    ) throws(StoreError) -> String { "\(kind)-\(try randomToken())\(suffix)" }
}

// Inside `leases/`: the name of every lock begins with a dot, so that it is no lease's.
extension StoreLayout {
    /// Every process that uses the index locks this.
    package static let indexLock = ".index"
    /// Held by the process that changes the index.
    static let writerLock = ".writer"
    package static let lifecycleLock = ".lifecycle"
    package static let serverLock = ".server"
    package static let eventsLock = ".events"
    package static let channelsLock = ".channels"
    package static let trustLock = ".trust"
    /// Held by the process that watches a start.
    package static let startLock = ".start"

    /// Made for a moment, to see whose a file is that this process makes.
    static let ownerProbe = ".owner"

    /// Held by all who keep the store up to date, while they do.
    package static let updatesLock = ".updates"

    /// Locks that say nothing of what a store holds.
    static let plainLocks: Set<String> = [
        indexLock, writerLock, lifecycleLock, serverLock, eventsLock, channelsLock, trustLock,
        startLock, ownerProbe,
    ]

    /// Held by the pull that fetches a release, whatever it calls it.
    package static func fetchLock(_ release: ObjectID) -> String { fetchPrefix + "\(release)" }

    /// Whether a lock is one of a pull, and means nothing once nobody holds it.
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

    /// A new name for the lock of a process that has pinned a version.
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

    /// The beginning of the name of a copy that a repair has staged.
    static let copyPrefix = ".restored-"
    /// The end of the name of the second link that a staged file has while it takes the place of something unsound.
    static let spareSuffix = ".again"
    /// The end of the name of the note that says where a part comes from.
    static let sourceSuffix = ".from"
}
