package import CASStore
package import StrictJSON
import VersionTree

/// Something that happened to a store, as its event log remembers it.
///
/// No content, no paths of content, no secrets: the log is made to be sent to somebody.
package enum JournalEvent: Sendable, Hashable {
    /// An origin was asked for news.
    case checked(
        origin: String, outcome: CheckOutcome, version: String?, reason: String?,
        failure: JournalFailure? = nil)
    /// An origin answers again, after so many questions in a row that brought nothing; for how long, in seconds, unless
    /// the clock was set meanwhile.
    case answering(origin: String, failures: Int, seconds: Int64?)
    /// A channel's pointer was verified for the first time: these keys have signed it.
    case verified(origin: String, channel: String, sequence: Int64, keys: [String])
    /// A person has said whose releases are taken from an origin: with no key, whatever comes.
    case trusting(origin: String, keys: [String], threshold: Int)
    /// Other keys are trusted from now on, because those before said so.
    case rotated(origin: String, version: Int64, keys: [String])
    /// What a download would cost was computed.
    case planned(version: String, cost: UpdateCost)
    /// A download began.
    case downloadBegan(version: String)
    /// A download ended, successfully or not; the figures say how far it came.
    case downloadEnded(
        version: String, outcome: DownloadOutcome, figures: DownloadFigures, reason: String?,
        failure: JournalFailure? = nil)
    /// A request failed and is repeated after a rest.
    case retried(reason: String, milliseconds: Int64)
    /// A pack, or a delivery, was of no use: what it was to bring came otherwise.
    case fellBack(pack: ObjectID?, reason: String, objects: Int)
    /// A directory was imported.
    case added(version: String, files: Int, bytes: Int64, newObjects: Int, newBytes: Int64)
    /// Another version is current.
    case switched(version: String, from: String?)
    /// A version waits for the next start.
    case pending(version: String)
    /// A version no longer waits.
    case withdrawn(version: String)
    /// The app starts.
    case booted(version: String)
    /// A version was vouched for.
    case confirmed(version: String)
    /// A version was left for one that is known good.
    case rolledBack(version: String, from: String, reason: String)
    /// A content was banned.
    case banned(version: String, content: ObjectID, reason: String, count: Int)
    /// A ban was lifted.
    case forgiven(version: String)
    /// A version was forgotten.
    case retired(version: String, references: Int)
    /// What nothing references was deleted.
    case collected(objects: Int, bytes: Int64)
    /// A check of the store found something: how many of each kind.
    case found(kinds: [String: Int], repaired: Int)
    /// The app was shipped with another version than before.
    case embedded(version: String, previous: String?, becameCurrent: Bool)
    /// Something failed.
    case failed(deed: String, failure: JournalFailure, message: String)
    /// A service worker showed a page of another version than the server's, or one that tells none.
    case stalePage(version: String, shown: String?)
    /// Events could not be written, because the disk was full or failing.
    case lost(count: Int)
    /// An event that a newer castree wrote.
    case other(name: String, members: [JSONValue.Member])
}

/// The result of asking an origin.
package enum CheckOutcome: String, Sendable, Hashable, CaseIterable {
    /// There is nothing that this store lacks.
    case nothingNew
    /// There is a release to download, or to switch to.
    case available
    /// There is a release, but it is not for this app or not wanted.
    case refused
    /// The origin could not be reached.
    case offline
    /// The origin could not be asked, its answer is of no use, or the store failed meanwhile.
    case failed

    /// What an error says of an origin: being offline mends itself, as a rule.
    init(_ error: StoreError) {
        switch error.transferKind {
        case .resolve, .connect, .timeout, .broken: self = .offline
        default: self = .failed
        }
    }
}

/// How a download ended.
package enum DownloadOutcome: String, Sendable, Hashable, CaseIterable {
    /// The version is complete.
    case finished
    /// It stopped for a reason; what came is kept.
    case failed
    /// Somebody stopped it; what came is kept.
    case cancelled
}

extension JournalEvent {
    /// The end of a download: how far it came, and what stopped it early.
    static func ended(
        _ version: VersionName, _ figures: DownloadFigures, _ failure: StoreError?
    ) -> JournalEvent {
        let outcome: DownloadOutcome =
            switch failure?.code {
            case nil: .finished
            case .interrupted?: .cancelled
            default: .failed
            }
        return .downloadEnded(
            version: version.description, outcome: outcome, figures: figures,
            reason: failure?.message, failure: failure.map { JournalFailure($0) })
    }
}

/// One line of the event log.
public struct JournalEntry: Sendable, Hashable {
    /// Counts the events of a store, from 1; a gap means that events were lost, or count together.
    public var sequence: Int64
    /// When, in seconds since 1970, by the clock of the machine.
    public var at: Int64
    /// What happened.
    package var event: JournalEvent
    /// How many times in a row; only of ``JournalEvent/checked(origin:outcome:version:reason:failure:)`` more than once.
    package var times = 1
    /// When it happened first, if more than once.
    package var since: Int64?

    /// What happened, as a sentence for people, with exact sizes.
    public var sentence: String { event.sentence + (times > 1 ? " (\(times) times in a row)" : "") }
}
