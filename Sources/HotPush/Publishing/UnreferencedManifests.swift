import CASStore
import StrictJSON

/// Since when no channel has named a manifest, a delivery or facts: `.publish/unreferenced.json`.
///
/// Clients that have read an older pointer are still downloading; what they need is kept for a
/// while. A file that cannot be read counts as empty: then the time starts anew.
struct UnreferencedManifests: Hashable {
    /// Seconds since 1970, by the address of the manifest.
    var since: [ObjectID: Int64] = [:]
    /// The same, by the address of the delivery.
    var deliveriesSince: [ObjectID: Int64] = [:]
    /// The same, by the address of the facts.
    var factsSince: [ObjectID: Int64] = [:]
    /// The latest time that was known when these times were noted, if the clock was behind it; 0 if it was not.
    var behind: Int64 = 0

    /// These notes as of a clock: without times if it went back or forth since, for then none of them can be
    /// compared with it, and every grace begins anew.
    ///
    /// - Parameters:
    ///   - latest: the latest time in the pointers; a clock that is more than the grace behind it, or behind the
    ///     notes, went back: now, or when it had been ahead before.
    func judged(at now: Int64, latest: Int64, grace: Int64) -> UnreferencedManifests {
        let times = [since, deliveriesSince, factsSince].flatMap(\.values)
        let reference = max(latest, behind, times.max() ?? 0)
        // Subtracting: times come from files.
        let isBehind =
            reference > 0 && now < reference.subtractingReportingOverflow(grace).partialValue
        var judged = isBehind == (behind > 0) ? self : UnreferencedManifests()
        judged.behind = isBehind ? reference : 0
        return judged
    }

    /// Whether nothing waits.
    var isEmpty: Bool { since.isEmpty && deliveriesSince.isEmpty && factsSince.isEmpty }

    static func read(in origin: OriginWriter) throws(StoreError) -> UnreferencedManifests {
        let bytes = try origin.fileSystem.derived(
            origin.work.raw, OriginLayout.unreferenced, limit: 64 << 20)
        guard let bytes else { return UnreferencedManifests() }
        // Unreadable is empty, as said above.
        let document = try? JSONValue.parse(bytes)
        return UnreferencedManifests(
            since: times(document?["manifests"]), deliveriesSince: times(document?["deliveries"]),
            factsSince: times(document?["facts"]),
            behind: max(0, document?["behind"]?.asInt64 ?? 0))
    }

    private static func times(_ value: JSONValue?) -> [ObjectID: Int64] {
        var times: [ObjectID: Int64] = [:]
        for member in value?.asObject ?? [] {
            guard let address = ObjectID(member.key), let since = member.value.asInt64 else {
                continue
            }
            times[address] = since
        }
        return times
    }

    func write(in origin: OriginWriter) throws(StoreError) {
        func members(_ times: [ObjectID: Int64]) -> JSONValue {
            .object(times.map { .init(key: $0.key.description, value: .integer($0.value)) })
        }
        var document: [JSONValue.Member] = [
            .init(key: "deliveries", value: members(deliveriesSince)),
            .init(key: "manifests", value: members(since)),
        ]
        if !factsSince.isEmpty {
            document.append(.init(key: "facts", value: members(factsSince)))
        }
        if behind > 0 { document.append(.init(key: "behind", value: .integer(behind))) }
        let bytes = JSONWriter.serialize(.object(document), sortedKeys: true) + [10]
        try origin.originPlace.replaceFile(origin.work.raw, OriginLayout.unreferenced) {
            (file) throws(StoreError) in try origin.fileSystem.write(file, bytes)
        }
    }

    /// Notes that a channel is about to name again what its releases name.
    static func forget(
        _ pointer: ChannelPointer, in origin: OriginWriter
    ) throws(StoreError) {
        var known = try read(in: origin)
        let before = known
        for release in pointer.releases {
            if let version = release.version { known.since[version.manifest] = nil }
            if let facts = release.facts { known.factsSince[facts] = nil }
            if let delivery = release.delivery { known.deliveriesSince[delivery.address] = nil }
        }
        if known != before { try known.write(in: origin) }
    }
}
