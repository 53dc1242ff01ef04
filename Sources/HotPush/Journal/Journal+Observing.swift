internal import CASStore
public import VersionTree

extension Journal: VersionObserver {
    /// Notes what a verb of the store has done.
    package func note(_ event: VersionEvent) {
        for event in JournalEvent.events(of: event) { record(event) }
    }
}

extension VersionStore {
    /// The same store, recording what its verbs do in the store's event log.
    ///
    /// A store that already has an observer keeps that one.
    public func recordingEvents() -> VersionStore {
        observer == nil ? observed(by: Journal(self)) : self
    }
}

extension JournalEvent {
    static func events(of event: VersionEvent) -> [JournalEvent] {
        switch event {
        case .added(let version, let files, let bytes, let newObjects, let newBytes):
            [
                .added(
                    version: version, files: files, bytes: bytes, newObjects: newObjects,
                    newBytes: newBytes)
            ]
        case .activated(let version, let previous):
            previous == version ? [] : [.switched(version: version, from: previous)]
        case .awaited(let version): [.pending(version: version)]
        case .withdrawn(let version): [.withdrawn(version: version)]
        case .booted(let version, let switchedFrom, let left):
            started(version, switchedFrom, left)
        case .confirmed(let version): [.confirmed(version: version)]
        case .rolledBack(let version, let from, let reason, let ban):
            banned(ban) + [.rolledBack(version: version, from: from, reason: reason)]
        case .forgiven(let version): [.forgiven(version: version)]
        case .retired(let version, let references):
            [.retired(version: version, references: references)]
        case .embedded(let version, let previous, let becameCurrent):
            [.embedded(version: version, previous: previous, becameCurrent: becameCurrent)]
        case .collected(let objects, let bytes): [.collected(objects: objects, bytes: bytes)]
        case .checked(let findings, _):
            [
                .found(
                    kinds: Dictionary(findings.map { ($0.kind.rawValue, 1) }, uniquingKeysWith: +),
                    repaired: findings.count { $0.isRepaired })
            ]
        case .stalePage(let version, let shown): [.stalePage(version: version, shown: shown)]
        case .damaged(let code, let message):
            [
                .failed(
                    deed: showing, failure: JournalFailure(code: code, isOfStore: true),
                    message: message)
            ]
        }
    }

    /// The deed that fails if an object cannot be shown.
    package static let showing = "show"

    private static func started(
        _ version: String, _ switchedFrom: String?, _ left: LeftVersion?
    ) -> [JournalEvent] {
        var events = banned(left?.ban)
        if let left {
            events.append(.rolledBack(version: version, from: left.from, reason: left.reason))
        } else if let switchedFrom {
            events.append(.switched(version: version, from: switchedFrom))
        }
        return events + [.booted(version: version)]
    }

    private static func banned(_ ban: Lifecycle.Ban?) -> [JournalEvent] {
        guard let ban else { return [] }
        return [
            .banned(
                version: ban.version, content: ban.content, reason: ban.reason, count: ban.count)
        ]
    }
}
