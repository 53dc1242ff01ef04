import CASStore
import HotPush
import VersionTree

/// The results of asking an origin, and of updating from it.
struct AskedOrigin {
    var at: Int64
    let origin: String
    var outcome: CheckOutcome
    var sentence: String
    /// How many updates have failed in a row, when the first did, and why the last.
    var failures = 0
    var failingSince: Int64?
    var failure: String?
    /// Whether all of these failed because the origin could not be reached.
    var isOffline = true
    /// Whether it was asked again after another one.
    var hasReturned = false
    /// Since when, and how often in a row, its answers have been older than one obeyed before.
    var wentBackSince: Int64?
    var wentBackTimes = 0
    /// Why the next update will fail, too, unless somebody acts.
    var obstacle: Obstacle?

    /// Something that retrying does not fix.
    struct Obstacle {
        let failure: JournalFailure
        let reason: String
        /// Whether it occurred before anything was offered, so that an offer disproves it.
        let isOfAsking: Bool
    }

    /// - Parameter isOfAsking: whether nothing was offered yet.
    private mutating func fail(
        _ reason: String, _ failure: JournalFailure?, isOfAsking: Bool, at time: Int64,
        times: Int = 1, isOffline: Bool
    ) {
        if let failure, failure.isLasting {
            obstacle = Obstacle(failure: failure, reason: reason, isOfAsking: isOfAsking)
        } else if !isOffline, !isOfAsking || obstacle?.isOfAsking == true {
            obstacle = nil
        }
        if let since = failingSince, since < JournalEntry.clockIsSetFrom,
            time >= JournalEntry.clockIsSetFrom
        {
            (failures, failingSince, self.isOffline) = (0, nil, true)
        }
        failures += times
        failingSince = failingSince ?? time
        self.failure = reason
        self.isOffline = self.isOffline && isOffline
    }

    private mutating func succeed() {
        (failures, failingSince, failure, isOffline) = (0, nil, nil, true)
        obstacle = nil
    }

    // MARK: Reading the event log

    /// How long an origin counts after it was last asked, while others are: a day.
    private static let absenceMax: Int64 = 86_400

    /// The origins in use, by the event log; the one asked last at the end.
    ///
    /// One that was asked only before another has been replaced. One that is asked in turn with others counts until
    /// it has not been asked for a day.
    static func all(in entries: [JournalEntry], _ now: Int64) -> [AskedOrigin] {
        var origins: [AskedOrigin] = []
        for entry in entries {
            if let outcome = entry.event.answer, let origin = entry.event.text("origin"),
                origins.last?.origin != origin
            {
                if let place = origins.firstIndex(where: { $0.origin == origin }) {
                    origins.append(origins.remove(at: place))
                    origins[origins.count - 1].hasReturned = true
                } else {
                    origins.append(
                        AskedOrigin(
                            at: entry.at, origin: origin, outcome: outcome,
                            sentence: entry.sentence))
                }
            }
            if !origins.isEmpty { origins[origins.count - 1].note(entry) }
        }
        let last = origins.last?.origin
        return origins.filter {
            $0.origin == last || $0.hasReturned && now - $0.at <= absenceMax
        }
    }

    private mutating func note(_ entry: JournalEntry) {
        let (event, failure) = (entry.event, entry.event.failure)
        switch (event.name, event.answer, event.downloadOutcome) {
        case (_, let outcome?, _):
            (at, self.outcome, sentence) = (entry.at, outcome, entry.sentence)
            switch outcome {
            case .offline, .failed:
                fail(
                    event.text("reason") ?? entry.sentence, failure, isOfAsking: true,
                    at: entry.since ?? entry.at, times: entry.times,
                    isOffline: outcome == .offline)
            case .refused where failure?.code == JournalFailure.olderCopy:
                wentBackSince = wentBackSince ?? entry.since ?? entry.at
                wentBackTimes += entry.times
                succeed()
            case .nothingNew, .refused:
                (wentBackSince, wentBackTimes) = (nil, 0)
                succeed()
            // The result follows as the next entry.
            case .available:
                (wentBackSince, wentBackTimes) = (nil, 0)
                if obstacle?.isOfAsking == true { obstacle = nil }
            }
        case (_, _, .failed?):
            fail(
                event.text("reason") ?? event.sentence, failure, isOfAsking: false, at: entry.at,
                isOffline: false)
        case ("failed", _, _) where Self.deedsOfUpdates.contains(event.text("deed") ?? ""):
            fail(
                event.text("message") ?? "", failure, isOfAsking: false, at: entry.at,
                isOffline: false)
        case (_, _, .finished?), ("pending", _, _), ("switch", _, _): succeed()
        default: break
        }
    }

    /// The operations without which nothing new is shown.
    private static let deedsOfUpdates: Set<String> = ["plan", "download", "update"]
}
