import Archives
import HotPush
import Platform

package struct ClientRequest: Sendable, Hashable {
    package var method: String
    /// The target without its query, as sent: percent-encoded, beginning with a slash.
    package var path: String
    /// Everything after the first question mark, as sent; `nil` without one.
    package var query: String?
    /// The fields in their order: lower-case names, values without surrounding white space.
    package var fields: [Field]
    package var body: [UInt8]

    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(
        _ method: String = "GET", _ path: String, query: String? = nil, fields: [Field] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
    }

    /// Escapes bytes from 0x80 on, which some clients send raw.
    package static func normalized(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 {
                text.append(byte)
            } else {
                text += PercentEncoding.path(of: [byte]).utf8
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

// Strict reading: every byte comes from a stranger.

extension ClientRequest {
    /// `GET`, or `HEAD`, whose body the server omits.
    var asksForContent: Bool { method == "GET" || method == "HEAD" }

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    func rest(after prefix: String) -> Substring.UTF8View? {
        path.utf8.starts(with: prefix.utf8) ? path.utf8.dropFirst(prefix.utf8.count) : nil
    }

    /// The path below a prefix (which ends with a slash), split at slashes, each segment decoded; `nil` if the path
    /// does not begin with it.
    ///
    /// Empty if a segment cannot name anything: a broken escape, a NUL, or invalid UTF-8. An encoded slash (`%2F`)
    /// stays in its segment.
    func segments(below prefix: String) -> [String]? {
        guard let rest = rest(after: prefix) else { return nil }
        let parts = rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let segments = parts.compactMap { Self.decoded($0) }
        return segments.count == parts.count ? segments : []
    }

    /// The archive that the path names below a prefix; `nil` if it names none.
    ///
    /// Accepts only the exact spelling that answers use. Otherwise each variation would have the archive planned
    /// again.
    func archiveName(below prefix: String) -> ArchiveName? {
        guard let text = rest(after: prefix).map({ String(Substring($0)) }),
            let name = ArchiveName(text), name.description.utf8.elementsEqual(text.utf8)
        else { return nil }
        return name
    }

    /// The first value of each name in the query; `nil` if there are more than 64 names, or one is not text.
    ///
    /// A plus is a blank, as in forms (WHATWG URL, "application/x-www-form-urlencoded parsing").
    func queryValues() -> [String: String]? {
        var values: [String: String] = [:]
        let pairs = (query ?? "").utf8.split(separator: UInt8(ascii: "&"))
        guard pairs.count <= 64 else { return nil }
        for pair in pairs {
            let halves = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let texts = halves.map { half in
                Self.decoded(half.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
            }
            guard let name = texts[0], let value = halves.count > 1 ? texts[1] : "" else {
                return nil
            }
            if values[name] == nil { values[name] = value }
        }
        return values
    }

    /// Percent-decodes; `nil` if the result is not UTF-8 or contains a NUL.
    private static func decoded(_ bytes: some Sequence<UInt8>) -> String? {
        guard let decoded = PercentEncoding.decoded(bytes), !decoded.contains(0) else {
            return nil
        }
        return String(validating: decoded, as: UTF8.self)
    }
}

/// A request to a system, with everything its answer may depend on.
struct ClientInquiry {
    let request: ClientRequest
    let configuration: ClientConfiguration
    let origin: any ClientOrigin

    func channel(of deployment: String) throws(StoreError) -> ClientChannel? {
        guard let name = configuration.deployments[deployment] else { return nil }
        return try origin.channel(name, for: configuration.system)
    }

    func first<Value>(
        _ find: (ClientChannel) throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        for name in Set(configuration.deployments.values).sorted() {
            guard let channel = try origin.channel(name, for: configuration.system),
                let found = try find(channel)
            else { continue }
            return found
        }
        return nil
    }

    /// Answers with the archive that the path names below a prefix; `nil` if no channel has it.
    /// - Parameter compose: returns `nil` if the channel does not have the archive.
    func archive(
        below prefix: String,
        _ compose: (ArchiveName, ClientChannel) throws(StoreError) -> ZipArchive?
    ) throws(StoreError) -> ClientAnswer? {
        guard let name = request.archiveName(below: prefix) else { return nil }
        let archive = try first { (channel) throws(StoreError) in try compose(name, channel) }
        return archive.map { .immutable("application/zip", .archive($0)) }
    }

    /// Answers with a JSON document; a long one is written once and shared by all requests.
    /// - Parameter name: a text that differs whenever the document does.
    func json(
        isLong: Bool, named name: @autoclosure () -> String,
        _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> ClientAnswer {
        .json(isLong ? try origin.encoded(named: name(), write) : try write())
    }

    func url(of address: ObjectID) -> String {
        "\(configuration.baseURL)/\(OriginLayout.path(.object, address))"
    }
}

/// A malformed request; the answer is the sentence.
struct ClientRefusal: Error {
    var status = 400
    var sentence: String
}

extension ClientChannel {
    /// The newest offer of a content.
    /// - Parameter isLive: whether the pointer must still list it. Otherwise a client may finish what it began before
    ///   the pointer changed, as long as the origin holds the content.
    func offer(of content: ObjectID?, isLive: Bool) -> ClientOffer? {
        isLive
            ? live.first { $0.offer.content == content }?.offer
            : past.last { $0.content == content }
    }

    /// The newest release that fits a device, and whether the device already has it.
    ///
    /// A device that a roll-out does not select keeps the newer release it has.
    func newest(
        for device: String?, where fits: (Live) -> Bool, has: (Live) -> Bool
    ) throws(StoreError) -> (live: Live, isHeld: Bool)? {
        for live in live where fits(live) {
            if has(live) { return (live, true) }
            if try live.release.rollout?.includes(device) ?? true { return (live, false) }
        }
        return nil
    }

    /// The newest release that is for everybody.
    /// - Parameter kinds: the kinds of requirements that clients check themselves.
    func newest(besides kinds: [String]) -> Live? {
        live.first { live in
            (live.release.rollout?.perMille ?? 1000) >= 1000 && live.offer.version != nil
                && live.release.requirements.allSatisfy { kinds.contains($0.kind) }
        }
    }
}

/// The value of `Accept` or `Accept-Encoding` (RFC 9110, section 12.5).
struct Acceptance {
    /// By lower-case name, the weight in thousandths.
    private let weights: [(name: String, weight: Int)]

    /// Skips elements that break the grammar.
    init(_ list: String) {
        weights = list.split(separator: ",").compactMap { element in
            let parts = element.split(separator: ";", omittingEmptySubsequences: false)
            guard let name = parts.first.map(Self.word), !name.isEmpty else { return nil }
            for parameter in parts.dropFirst() {
                let halves = parameter.split(separator: "=", maxSplits: 1)
                guard halves.count == 2, Self.word(halves[0]) == "q" else { continue }
                guard let weight = acceptWeight(Self.word(halves[1]).utf8) else { return nil }
                return (name, weight)
            }
            return (name, 1000)
        }
    }

    /// Whether a name is acceptable, by the first of these patterns that the list contains: the exact name, then
    /// wider ones.
    func takes(_ patterns: [String]) -> Bool {
        for pattern in patterns {
            if let found = weights.first(where: { $0.name == pattern }) { return found.weight > 0 }
        }
        return false
    }

    private static func word(_ text: Substring) -> String {
        text.trimmed { $0 == " " || $0 == "\t" }.lowercased()
    }
}

extension StringProtocol {
    func trimmed(
        _ isBlank: (Unicode.Scalar) -> Bool = { $0 == " " || (9...13).contains($0.value) }
    ) -> String {
        String(Substring(self).unicodeScalars.trimmed(where: isBlank))
    }
}
