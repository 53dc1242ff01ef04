import CASStore

/// One thing that a check of an origin found wrong.
package struct OriginFinding: Sendable, Hashable {
    /// What is wrong; the raw value is the `kind` of JSON output, and stays as it is.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// An entry of the log is not there, and later ones are, or the log is gone.
        case missingEntry
        /// An entry cannot be read, or breaks the rules of the log.
        case damagedEntry
        /// A channel's pointer, or the list of channels, does not say what the log says.
        case wrongPointer
        /// A channel's pointer cannot be read, and no log says what it was.
        case damagedPointer
        /// A pointer of a channel that the log does not know: somebody has copied a directory there.
        case foreignPointer
        /// A file that a release needs is not there.
        case missingFile
        /// A file that a release needs has other bytes than its name says.
        case damagedFile
        /// The files of a release are what their names say, and break the rules all the same.
        case damagedRelease
        /// A file or directory has fewer rights than the marker: not all can read it who read the origin.
        case wrongMode
        /// A file or directory is another user's, so that the origin's owner, or whoever reads it, cannot use it.
        case wrongOwner
        /// Something else stands in place of the publisher's own directory, or of a file in it.
        case strayFile
        /// Of several who created one file at once, not exactly one succeeded.
        case unsuitableStore

        /// Whether a repair can put it right, if it has the bytes.
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
    /// The key, below the origin; `nil` for the store as a whole.
    package let path: String?
    package var version: String?
    /// A sentence for people.
    package private(set) var message: String
    /// The file that a repair writes again if something has its bytes; `nil` for what is repaired otherwise.
    var lost: OriginKey?
    package var isRepaired = false

    /// Whether it is about a file for the clients of other systems, which publishing makes again.
    package var isForClients: Bool {
        guard [.missingFile, .damagedFile].contains(kind), let path else { return false }
        switch OriginKey(path: path)?.kind {
        case .facts, .twin, .document: return true
        default: return false
        }
    }

    /// Whether it is about a file that saves devices work, which packing makes again.
    package var isOfPacks: Bool {
        guard [.missingFile, .damagedFile].contains(kind), let path else { return false }
        return [.pack, .delivery].contains(OriginKey(path: path)?.kind)
    }

    /// Whether it is about a channel's pointer.
    var isOfPointer: Bool { path.flatMap(OriginLayout.channel(ofPointer:)) != nil }

    /// Adds why it could not be repaired.
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

/// What a check of an origin has looked at and found.
package struct OriginAuditReport: Sendable {
    /// The newest entry of the log; 0 if it cannot be read.
    package var entry: Int64 = 0
    /// Where new files are written.
    package var epoch: Int64 = 0
    /// Entries of the log that were read.
    package var entryCount = 0
    /// Channels and releases on offer, and those that the grace still keeps.
    package var channelCount = 0
    package var releaseCount = 0
    /// Files that these need; each was listed, or asked for.
    package var needed = FileFigures()
    /// Files whose bytes were compared with their names.
    package var read = FileFigures()
    /// Files that every pruner may delete now; `nil` if a release cannot be read, so that nobody knows.
    package var garbage: FileFigures?
    /// Files that no release has, and that wait for a later prune; likewise.
    package var waiting: FileFigures?
    /// Keys that are not castree's: never deleted.
    package var strays = StrayKeys()
    /// What stands in place of an origin, and what became of what a probe has written; `nil` if there is one.
    package var absence: String?
    /// Races of creators that were held.
    package var raceCount = 0
    /// What is wrong, in the order in which it was found.
    package var findings: [OriginFinding] = []
    /// What it took.
    package var requestCount = 0
    package var retryCount = 0
}
