import CASStore
package import HotPush

package struct OriginFinding: Sendable, Hashable {
    /// The raw value is the `kind` of JSON output and never changes.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// An entry of the log is missing although later ones exist, or the log is gone.
        case missingEntry
        /// An entry cannot be read, or breaks the rules of the log.
        case damagedEntry
        /// A channel's pointer, or the list of channels, contradicts the log.
        case wrongPointer
        /// A channel's pointer cannot be read, and no log says what it was.
        case damagedPointer
        /// The log does not know this pointer's channel: somebody has copied a directory there.
        case foreignPointer
        /// A file that a release needs is missing.
        case missingFile
        /// A file that a release needs does not match its name.
        case damagedFile
        /// The files of a release match their names but break the rules.
        case damagedRelease
        /// A file or directory has fewer rights than the marker, so some readers of the origin cannot read it.
        case wrongMode
        /// A file or directory belongs to another user, so that the origin's owner or readers cannot use it.
        case wrongOwner
        /// Something else is in the place of the publisher's own directory, or of a file in it.
        case strayFile
        /// Of several concurrent creators of one file, not exactly one succeeded.
        case unsuitableStore

        /// Whether a repair can mend it, given the bytes.
        package var isMendable: Bool {
            switch self {
            case .wrongPointer, .missingFile, .damagedFile, .wrongMode, .wrongOwner, .strayFile:
                true
            case .missingEntry, .damagedEntry, .damagedPointer, .foreignPointer, .damagedRelease,
                .unsuitableStore:
                false
            }
        }
    }

    package let kind: Kind
    /// The key below the origin; `nil` for the store as a whole.
    package let path: String?
    package var version: String?
    package private(set) var message: String
    /// The file that a repair writes again, given its bytes; `nil` for other kinds of repair.
    var lost: OriginKey?
    package var isRepaired = false

    /// Whether it concerns a file for other systems' clients, which publishing makes again.
    package var isForClients: Bool {
        guard [.missingFile, .damagedFile].contains(kind), let path else { return false }
        switch OriginKey(path: path)?.kind {
        case .facts, .deflatedCopy, .document: return true
        default: return false
        }
    }

    /// Whether it concerns packs, which packing makes again.
    package var isOfPacks: Bool {
        guard [.missingFile, .damagedFile].contains(kind), let path else { return false }
        return [.pack, .delivery].contains(OriginKey(path: path)?.kind)
    }

    var isOfPointer: Bool { path.flatMap(OriginLayout.channel(ofPointer:)) != nil }

    mutating func stays(because error: StoreError) {
        message += "; it could not be repaired: \(error.message)"
    }

    init(
        _ kind: Kind, _ path: String?, _ message: String, version: String? = nil,
        isRepaired: Bool = false
    ) {
        self.kind = kind
        self.path = path
        self.message = message
        self.version = version
        self.isRepaired = isRepaired
    }
}

package struct OriginAuditReport: Sendable {
    /// The newest entry of the log; 0 if it cannot be read.
    package var entry: Int64 = 0
    package var epoch: Int64 = 0
    package var entryCount = 0
    /// Channels and releases that are offered or kept by the grace period.
    package var channelCount = 0
    package var releaseCount = 0
    /// Files that these need; each was listed or asked for.
    package var needed = FileFigures()
    /// Files whose bytes were compared with their names.
    package var read = FileFigures()
    /// Files that any pruner may delete now; `nil` if a release cannot be read, so that nobody knows.
    package var garbage: FileFigures?
    /// Files of no release that wait for a later prune; `nil` as for ``garbage``.
    package var waiting: FileFigures?
    /// Keys that are not castree's and are never deleted.
    package var strays = StrayKeys()
    /// What is there instead of an origin, and what became of a probe's files; `nil` if there is an origin.
    package var missing: String?
    package var raceCount = 0
    /// In the order in which they were found.
    package var findings: [OriginFinding] = []
    package var requestCount = 0
    package var retryCount = 0
}
