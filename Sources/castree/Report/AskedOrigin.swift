import CASStore
import HotPush
import VersionTree

/// The results of asking an origin, and of updating from it.
struct AskedOrigin {
    var at: Int64
    let origin: String
    /// Which of its releases was asked for, if not those of the usual channel.
    let wish: [String?]
    var outcome: CheckOutcome
    var sentence: String
    /// What it offered last, and has not been switched to yet.
    private var offered: String?
    /// Whether the update since the last answer has failed: a pull that frees space tries it again, and notes each try.
    private var hasFailed = false
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
        let failure: EventLogFailure
        let reason: String
        /// Whether it occurred before anything was offered, so that an offer disproves it.
        let isOfAsking: Bool
    }

    /// - Parameter isOfAsking: whether nothing was offered yet.
    private mutating func fail(
        _ reason: String, _ failure: EventLogFailure?, isOfAsking: Bool, at time: Int64,
        times: Int = 1, isOffline: Bool
    ) {
        if let failure, failure.isLasting {
            obstacle = Obstacle(failure: failure, reason: reason, isOfAsking: isOfAsking)
        } else if !isOffline, !isOfAsking || obstacle?.isOfAsking == true {
            obstacle = nil
        }
        if let since = failingSince, since < EventLogEntry.clockIsSetFrom,
            time >= EventLogEntry.clockIsSetFrom
        {
            (failures, failingSince, self.isOffline, hasFailed) = (0, nil, true, false)
        }
        offered = nil
        if isOfAsking || !hasFailed { failures += times }
        hasFailed = !isOfAsking
        failingSince = failingSince ?? time
        self.failure = reason
        self.isOffline = self.isOffline && isOffline
    }

    private mutating func succeed() {
        (failures, failingSince, failure, isOffline) = (0, nil, nil, true)
        (obstacle, offered, hasFailed) = (nil, nil, false)
    }

    // MARK: Reading the event log

    /// How long an origin counts after it was last asked, while others are: a day.
    private static let silenceMax: Int64 = 86_400

    /// The origins in use, by the event log; the one asked last at the end.
    ///
    /// One that was asked only before another has been replaced. One that is asked in turn with others counts until
    /// it has not been asked for a day, and so does a channel beside others of its origin. A release that was asked for
    /// by name is an origin of its own.
    static func all(in entries: [EventLogEntry], _ now: Int64) -> [AskedOrigin] {
        var origins: [AskedOrigin] = []
        for entry in entries {
            let wish = [entry.event.text("channel"), entry.event.text("release")]
            if let outcome = entry.event.answer, let origin = entry.event.text("origin"),
                origins.last.map({ $0.origin != origin || $0.wish != wish }) ?? true
            {
                if let place = origins.firstIndex(where: { $0.origin == origin && $0.wish == wish })
                {
                    origins.append(origins.remove(at: place))
                    origins[origins.count - 1].hasReturned = true
                } else {
                    origins.append(
                        AskedOrigin(
                            at: entry.at, origin: origin, wish: wish, outcome: outcome,
                            sentence: entry.sentence))
                }
            }
            if !origins.isEmpty { origins[origins.count - 1].note(entry) }
        }
        guard let last = origins.popLast() else { return [] }
        return origins.filter {
            ($0.hasReturned || $0.origin == last.origin && $0.wish[1] == nil)
                && now - $0.at <= silenceMax
        } + [last]
    }

    private mutating func note(_ entry: EventLogEntry) {
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
            case .refused where failure?.code == EventLogFailure.olderCopy:
                wentBackSince = wentBackSince ?? entry.since ?? entry.at
                wentBackTimes += entry.times
                succeed()
            case .nothingNew, .refused:
                (wentBackSince, wentBackTimes) = (nil, 0)
                succeed()
            // The result follows as the next entry.
            case .available:
                (wentBackSince, wentBackTimes) = (nil, 0)
                (offered, hasFailed) = (event.text("version"), false)
                if obstacle?.isOfAsking == true { obstacle = nil }
            }
        case (_, _, .failed?):
            fail(
                event.text("reason") ?? event.sentence, failure, isOfAsking: false, at: entry.at,
                isOffline: false)
        case ("failed", _, _) where Self.operationsOfUpdates.contains(event.text("deed") ?? ""):
            fail(
                event.text("message") ?? "", failure, isOfAsking: false, at: entry.at,
                isOffline: false)
        case (_, _, .finished?): succeed()
        // Other versions are switched to without an update.
        case ("pending", _, _), ("switch", _, _):
            if let offered, event.text("version") == offered { succeed() }
        default: break
        }
    }

    /// The operations without which nothing new is shown.
    private static let operationsOfUpdates: Set<String> = ["plan", "download", "update"]
}
