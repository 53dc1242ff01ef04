package import CASStore
import StrictJSON

/// The keys whose releases a store accepts from each origin, as recorded in `trust.json`.
///
/// Write access to an origin must not give write access to devices. Nothing that comes over a network can make a
/// store forget what is recorded here.
package struct StoreTrust: Sendable, Hashable {
    /// The origins whose releases must be signed, in the order in which they were named.
    package var origins: [TrustedOrigin] = []
    /// Members that castree does not know, kept as they came.
    var foreign: [JSONValue.Member] = []

    package init() {}

    /// The origin at a place; `nil` if the store accepts unsigned releases from there.
    package func origin(at place: String) -> TrustedOrigin? {
        origins.first { $0.isAt(place) }
    }

    /// The origin at the first of a place's names that has one.
    package func origin(at places: [String]) -> TrustedOrigin? {
        for place in places {
            if let origin = origin(at: place) { return origin }
        }
        return nil
    }

    /// The names of a place to give to an origin there: the first, and those that no other origin has.
    package func names(of places: [String], for origin: TrustedOrigin) -> [String] {
        let own = places.enumerated().filter { position, place in
            !origin.isAt(place) && (position == 0 || self.origin(at: place) == nil)
        }
        return own.map(\.element)
    }

    package func origin(_ id: String?) -> TrustedOrigin? {
        guard let id else { return nil }
        return origins.first { $0.id == id }
    }

    /// Replaces an entry by an origin, or appends the origin.
    ///
    /// No other origin stays at its places. Only the entry named here is replaced: origins that share a key, or claim
    /// to be the same, remain separate.
    /// - Parameter known: the existing entry; `nil` for a new one.
    /// - Throws: `.untrusted` if another entry has its id.
    package mutating func put(
        _ origin: TrustedOrigin, insteadOf known: TrustedOrigin? = nil
    ) throws(StoreError) {
        let position = known.flatMap { origins.firstIndex(of: $0) }
        for other in origins.indices where other != position {
            if let id = origin.id, origins[other].id == id {
                throw StoreError(
                    .untrusted,
                    "the origin \(id) is trusted already, at \(origins[other].places.first ?? "no place"): castree trust "
                        + "list shows it; nothing was changed")
            }
            origins[other].places.removeAll { origin.isAt($0) }
        }
        if let position { origins[position] = origin } else { origins.append(origin) }
        // Nothing could ever find it again.
        origins.removeAll { $0.places.isEmpty && $0.id == nil }
    }

    /// Whether no two entries have one id, or one place.
    var isUnique: Bool {
        origins.indices.allSatisfy { position in
            !origins[..<position].contains {
                $0.isSame(as: origins[position]) || $0.sharesPlace(with: origins[position])
            }
        }
    }
}

/// An origin whose releases a store accepts only if enough of these keys have signed them.
package struct TrustedOrigin: Sendable, Hashable {
    /// Where it is, in one spelling for each place.
    package var places: [String]
    /// The id in its pointers, 32 lower-case hexadecimal digits; `nil` until the first pointer was verified.
    package var id: String?
    /// The keys whose signatures count, no two with one id.
    package var keys: [VerificationKey]
    package var threshold: Int
    /// The version of the key set; `nil` for named keys until a pointer was verified by them.
    package var version: Int64?
    /// The highest key set version known before keys were named: older pointers do not count; 0 for none.
    package var floor: Int64 = 0
    /// A digest of the app's keys, which count again only if it names others; `nil` if a person has named the keys.
    package var appKeys: String?
    /// For each channel the highest sequence of a verified pointer; none is ever dropped.
    package var sequences: [String: Int64] = [:]
    /// The latest time in an accepted pointer, in seconds since 1970; a clock that says less is wrong.
    package var latest: Int64 = 0
    /// For each channel, when the last accepted pointer expires; no entry if it does not.
    package var ends: [String: Int64] = [:]
    var foreign: [JSONValue.Member] = []

    package init(places: [String], id: String?, keys: [VerificationKey], threshold: Int) {
        self.places = places
        self.id = id
        self.keys = keys
        self.threshold = threshold
    }

    /// Forgets which version the keys are, since others were named, but keeps the highest version known.
    package mutating func forgetVersion() {
        floor = max(floor, version ?? 0)
        version = nil
    }

    /// Forgets verified pointers: the keys that count now have signed none of them, or a person asks for it.
    /// - Parameter channel: the channel; `nil` for all of them.
    package mutating func forgetVerified(_ channel: String? = nil) {
        if let channel { sequences[channel] = nil } else { sequences = [:] }
        (latest, ends) = (0, [:])
    }

    /// Takes over the places of another entry that turned out to be the same origin.
    ///
    /// The keys and their version stay; of sequences, times and thresholds the higher one counts.
    package mutating func merge(_ other: TrustedOrigin) {
        for place in other.places where !isAt(place) { places.append(place) }
        sequences.merge(other.sequences) { max($0, $1) }
        latest = max(latest, other.latest)
        floor = max(floor, other.floor)
        threshold = max(threshold, min(other.threshold, keys.count))
    }

    /// Whether it is at a place; http and https addresses of a web server are one place.
    package func isAt(_ place: String) -> Bool {
        let sought = Self.withoutScheme(place)
        return places.contains { Self.withoutScheme($0).elementsEqual(sought) }
    }

    private static func withoutScheme(_ place: String) -> Substring.UTF8View {
        for scheme in ["https:", "http:"] where place.hasPrefix(scheme) {
            return place.dropFirst(scheme.count).utf8
        }
        return place[...].utf8
    }

    func isSame(as other: TrustedOrigin) -> Bool {
        if let id, let others = other.id { return id == others }
        return sharesPlace(with: other)
    }

    func sharesPlace(with other: TrustedOrigin) -> Bool { other.places.contains { isAt($0) } }
}

extension StoreError.Code {
    /// `trust.json` cannot be read: nothing is accepted from any origin.
    package static let badTrust = Self("badTrust")
}
