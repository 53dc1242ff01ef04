import CASStore
import Storage
import StrictJSON

/// An entry of the log of an origin: one commit, after which the origin is exactly what the entry says.
///
/// A value; `docs/origin-format.md` describes its JSON. Entries are created once, never changed and never deleted. Each
/// holds the whole state by reference, so no older entry has to be replayed.
struct LogEntry: Sendable, Hashable {
    /// The newest version of the format that is read: that of origins which tell the clients of other systems.
    static let formatVersion: Int64 = 2
    /// The version of the format of all other origins.
    static let plainFormatVersion: Int64 = 1
    /// The largest entry that is read, in bytes.
    static let byteCountMax = 1 << 20
    /// The most channels that an origin has.
    static let channelCountMax = ChannelList.countMax
    /// The largest number of an entry, and the largest epoch: ten digits.
    static let numberMax: Int64 = 9_999_999_999

    /// What the commit did; for people, and an unknown kind is as good as `publish`.
    struct Kind: Sendable, Hashable {
        let name: String

        static let create = Kind(name: "create")
        static let publish = Kind(name: "publish")
        static let withdraw = Kind(name: "withdraw")
        static let prune = Kind(name: "prune")
        /// Packs of a release that was offered before.
        static let pack = Kind(name: "pack")
        /// Pointers that are signed anew, as they are.
        static let resign = Kind(name: "resign")
        /// Pointers that are signed by other keys from now on.
        static let rotate = Kind(name: "rotate")
        /// What the clients of other systems are told from now on.
        static let enable = Kind(name: "enable")
    }

    var kind: Kind
    /// The writer's clock, in seconds since 1970; for people.
    var createdAt: Int64
    /// Drawn for each commit: tells whose entry it is.
    ///
    /// 32 digits.
    var author: String
    /// Where new keys are written.
    ///
    /// It grows by at most one with a prune.
    var epoch: Int64 = 0
    /// What the entries from this one on offer is live.
    ///
    /// Of all else, what stands in an epoch up to ``garbageEpochMax`` may be deleted (docs/buckets.md, rule G).
    var keptFrom: Int64
    /// The newest prune up to this entry; 0 if there was none.
    var prunedAt: Int64 = 0
    /// In which entry the pointer of each channel stands.
    var channels: [ChannelName: Int64] = [:]
    /// The pointers that this entry changes.
    var pointers: [ChannelName: ChannelPointer] = [:]
    /// Where it stands what the clients of other systems are told; empty where no system was ever enabled.
    var clients: [ToldSystem: ClientPlaces] = [:]
    /// What this entry sets for systems: the texts of `for/<system>/config.json`, without `log`.
    var configurations: [ToldSystem: JSONValue] = [:]
    /// What this entry adds to histories.
    var rows: [HistoryName: HistoryRows] = [:]
    /// How the store takes `If-Match`; only in entry 1.
    var pointerCondition: PointerCondition?
    /// Fields that castree does not know, kept as they came.
    var foreign: [JSONValue.Member] = []

    /// The newest epoch in which what no release has is garbage; negative for none.
    ///
    /// Where deletions are never late, all of it may: whoever deletes keeps publishers out meanwhile (``OriginLock``).
    func garbageEpochMax(in storage: any ObjectStorage) -> Int64 {
        storage.deletesLate ? epoch - 2 : .max
    }

    /// How pointers can be replaced in one step.
    enum PointerCondition: String, Sendable, Hashable {
        case inQuotes = "quoted"
        case bare, none

        /// How the tag is spelled; `nil` if the store knows no such condition.
        var spelling: TagSpelling? { TagSpelling(rawValue: rawValue) }
    }

    /// A new author.
    /// - Throws: `.io` if the system has no random bytes.
    static func drawAuthor() throws(StoreError) -> String { try randomToken() + randomToken() }
}
