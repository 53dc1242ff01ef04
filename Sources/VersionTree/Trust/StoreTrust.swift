package import CASStore
import StrictJSON

/// Whose releases a store takes from which origin: what `trust.json` says.
///
/// Somebody who can write to an origin must not be able to write to devices, too. What is remembered here, nothing that
/// comes over a network can make anybody forget.
package struct StoreTrust: Sendable, Hashable {
    /// The origins whose releases must be signed, in the order in which they were named.
    package var origins: [TrustedOrigin] = []
    /// Members that castree does not know, kept as they came.
    var foreign: [JSONValue.Member] = []

    package init() {}

    /// The origin at a place; `nil` if the store takes from there what comes.
    package func origin(at place: String) -> TrustedOrigin? {
        origins.first { $0.isAt(place) }
    }

    /// The origin at a place that has several names: at the first of them where one is.
    package func origin(at places: [String]) -> TrustedOrigin? {
        for place in places {
            if let origin = origin(at: place) { return origin }
        }
        return nil
    }

    /// The names of a place that an origin there is to get: the first, and those that no other origin has.
    package func names(of places: [String], for origin: TrustedOrigin) -> [String] {
        let own = places.enumerated().filter { position, place in
            !origin.isAt(place) && (position == 0 || self.origin(at: place) == nil)
        }
        return own.map(\.element)
    }

    /// The origin with an id.
    package func origin(_ id: String?) -> TrustedOrigin? {
        guard let id else { return nil }
        return origins.first { $0.id == id }
    }

    /// Puts an origin in the place of what was known of it, or at the end.
    ///
    /// No other origin is at its places any more. Only the entry that is named here is replaced: two that one key signs, or
    /// that say they are the same, are two.
    /// - Parameter known: the entry as it stands here; `nil` for a new one.
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

/// An origin from which a store takes only what enough of these keys have signed.
package struct TrustedOrigin: Sendable, Hashable {
    /// Where it is, in one spelling for each place.
    package var places: [String]
    /// Its id, which is in its pointers: 32 lower-case hexadecimal digits; `nil` until the first one was verified.
    package var id: String?
    /// The keys whose signatures count, no two with one id.
    package var keys: [VerificationKey]
    /// So many different ones must have signed.
    package var threshold: Int
    /// Which version of the origin's trust these keys are; `nil` for keys that somebody named, until a pointer was verified
    /// by them.
    package var version: Int64?
    /// The highest version that was known before somebody named keys: no pointer of an older one counts; 0 for none.
    package var floor: Int64 = 0
    /// The keys that the app was built with, as one digest; `nil` if a person has named the keys.
    ///
    /// Keys change by rotation. Only if the app names others than before do its keys count again.
    package var appKeys: String?
    /// For each channel the highest sequence of a verified pointer; none is ever dropped.
    package var sequences: [String: Int64] = [:]
    /// The latest time in an accepted pointer, in seconds since 1970: it is later than that by now, whatever the clock says.
    package var latest: Int64 = 0
    /// Until when the pointer that was accepted last may be obeyed, by its channel; empty for one without an end.
    package var ends: [String: Int64] = [:]
    /// Members that castree does not know, kept as they came.
    var foreign: [JSONValue.Member] = []

    package init(places: [String], id: String?, keys: [VerificationKey], threshold: Int) {
        self.places = places
        self.id = id
        self.keys = keys
        self.threshold = threshold
    }

    /// Nobody knows any more which version the keys are, since somebody has named others; how far it was stays known.
    package mutating func forgetVersion() {
        floor = max(floor, version ?? 0)
        version = nil
    }

    /// Forgets how far the origin was seen: the keys that count now have signed none of it, or a person says so.
    /// - Parameter channel: the channel; `nil` for all of them.
    package mutating func forgetVerified(_ channel: String? = nil) {
        if let channel { sequences[channel] = nil } else { sequences = [:] }
        (latest, ends) = (0, [:])
    }

    /// Takes over the places of another entry that turned out to be the same origin.
    ///
    /// The keys stay these, and their version; of sequences, times and thresholds the higher count.
    package mutating func merge(_ other: TrustedOrigin) {
        for place in other.places where !isAt(place) { places.append(place) }
        sequences.merge(other.sequences) { max($0, $1) }
        latest = max(latest, other.latest)
        floor = max(floor, other.floor)
        threshold = max(threshold, min(other.threshold, keys.count))
    }

    /// Whether it is at a place; a web server's answers over http and https are one's.
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

    /// Whether another value is about the same origin.
    func isSame(as other: TrustedOrigin) -> Bool {
        if let id, let others = other.id { return id == others }
        return sharesPlace(with: other)
    }

    func sharesPlace(with other: TrustedOrigin) -> Bool { other.places.contains { isAt($0) } }
}

extension StoreError.Code {
    /// `trust.json` cannot be read: nothing is taken from any origin.
    package static let badTrust = Self("badTrust")
}
