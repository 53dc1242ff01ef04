package import CASStore

/// Carries requests to origins and counts them, on one thread.
package final class OriginAccess {
    private let network: any Transport
    private let retries: RetryPolicy
    private let tell: @Sendable (Retry) -> Void
    private var hasAnswer = false
    let isInterrupted: () -> Bool
    package private(set) var requestCount = 0

    package init(
        over network: any Transport, retries: RetryPolicy = RetryPolicy(),
        tell: @escaping @Sendable (Retry) -> Void = { _ in },
        isInterrupted: @escaping () -> Bool = { false }
    ) {
        self.network = network
        self.retries = retries
        self.tell = tell
        self.isInterrupted = isInterrupted
    }

    /// The request that a bucket refused and the right that would allow it; `nil` elsewhere.
    package var refusal: StoreError? { (network as? SignedTransport)?.refusal }

    private func transport(
        to location: OriginLocation
    ) throws(StoreError) -> any Transport {
        switch location {
        case .web: return network
        case .directory(let path):
            return DirectoryTransport(path, byteRateMax: network.byteRateMax)
        case .bucket:
            guard network is SignedTransport else {
                throw StoreError(
                    .badOrigin,
                    "\(location) needs signed requests, which this transport does not make; castree pull "
                        + "does, and devices take the URL at which the bucket is served")
            }
            return network
        }
    }

    /// Returns the final answer, whatever its status.
    /// - Parameters:
    ///   - tag: the entity tag of a copy that is here; the answer is 304 if it still matches.
    ///   - isOptional: whether the pull can do without the document, so that it waits no longer than for packs.
    /// - Throws: `.network`, `.tooLarge`, `.interrupted`.
    func document(
        _ path: String, at location: OriginLocation, accept: String = "application/json",
        byteCountMax: Int64, unless tag: String? = nil, pastCaches: Bool = false,
        isOptional: Bool = false
    ) throws(StoreError) -> DocumentFetch.Answer {
        let policy = isOptional ? retries.forPacks : retries
        let fetch = DocumentFetch(
            try OriginURL(of: location).url(of: path), accept: accept, byteCountMax: byteCountMax,
            unless: tag, pastCaches: pastCaches)
        let answer = try answers(to: [fetch], policy, at: location)[0]
        hasAnswer = true
        return answer
    }

    /// Requests documents concurrently; returns the final answers in order, whatever their status.
    /// - Throws: `.network`, `.tooLarge`, `.interrupted`.
    func documents(
        _ wanted: [(path: String, byteCountMax: Int64)], at location: OriginLocation
    ) throws(StoreError) -> [DocumentFetch.Answer] {
        let origin = try OriginURL(of: location)
        let fetches = wanted.map { document in
            DocumentFetch(
                origin.url(of: document.path), accept: "application/json",
                byteCountMax: document.byteCountMax)
        }
        return try answers(to: fetches, retries, at: location)
    }

    private func answers(
        to fetches: [DocumentFetch], _ policy: RetryPolicy, at location: OriginLocation
    ) throws(StoreError) -> [DocumentFetch.Answer] {
        let budget = RetryBudget(hasAnswer ? policy.afterAnswer : policy, tell: tell)
        let fetches = DocumentFetches(fetches, budget, isInterrupted: isInterrupted)
        try run(fetches, at: location)
        return try named(location) { () throws(StoreError) in try fetches.answers() }
    }

    func run<Job, Attempt>(
        _ transfers: TransferRun<Job, Attempt>, at location: OriginLocation
    ) throws(StoreError) {
        defer { requestCount += transfers.figures.requests }
        try named(location) { () throws(StoreError) in
            try transfers.run(over: transport(to: location))
        }
    }

    /// Removes secrets sent to an origin from an error that may repeat them.
    func discreet(_ error: StoreError) -> StoreError {
        var error = error
        error.message = network.concealed(in: error.message)
        return error
    }

    func discreetly<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        do throws(StoreError) { return try body() } catch { throw discreet(error) }
    }

    /// Makes errors name the files of a directory by their paths.
    private func named<R>(
        _ location: OriginLocation, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        do throws(StoreError) { return try body() } catch {
            guard case .directory(let path) = location,
                let place = error.message.firstRange(of: OriginURL.directory)
            else { throw error }
            var error = error
            let directory = path.hasSuffix("/") ? path : path + "/"
            error.message.replaceSubrange(place, with: printable(directory))
            throw error
        }
    }
}

extension OriginURL {
    fileprivate static let directory = "file:///"

    /// The base of relative sources; for a directory, as URLs of ``DirectoryTransport``.
    init(of location: OriginLocation) throws(StoreError) {
        switch location {
        case .web(let base): try self.init(base)
        case .directory: try self.init(Self.directory)
        case .bucket(let bucket): self.init(of: bucket)
        }
    }
}

extension DocumentFetch.Answer {
    /// Whether the document came; a page in its place does not count.
    var isDocument: Bool {
        head.status == 200
            && ReleaseDocument(path: "").accepts(contentType: head["content-type"])
    }

    /// The type of a page that came in the document's place, nil if none did; 511: RFC 6585, section 6.
    var pageType: String? {
        let type = head["content-type"]?.prefix { $0 != ";" }.lowercased() ?? ""
        guard head.status == 511 || head.status == 200, type == "text/html" else { return nil }
        return type
    }

    /// Whether the origin does not have the document; some servers answer 403 for that.
    var isMissing: Bool { !isDocument && [200, 403, 404, 410].contains(head.status) }
}

// What the channels of an origin offer; fetches only their pointers.
extension OriginAccess {
    package typealias LostTeller = (
        DirectoryOrigin, _ there: Set<ChannelName>, _ only: ChannelName?
    ) throws(StoreError) -> Bool

    /// The pointers of an origin's channels, sorted by name.
    ///
    /// A web server does not list its directories, so the origin names its channels in `channels.json`. An origin
    /// without that file, written by an older castree, has at most the channel `stable`.
    /// - Parameters:
    ///   - text: a directory, the URL of an origin, or that of one pointer.
    ///   - tellsLost: tells what channels a directory has lost, given those that it has, and whether there is any.
    /// - Throws: `.badOrigin`, `.noOrigin`, `.badPointer`, `.tooLarge`, `.network`; `.notFound` if there is no channel.
    package func pointers(
        of text: String, countMax: Int = .max, tellsLost: LostTeller = { (_, _, _) in false }
    ) throws(StoreError) -> [ChannelPointer] {
        try discreetly { () throws(StoreError) in
            let reference = try OriginReference(parsing: text)
            var pointers: [ChannelPointer] = []
            var hasLost = false
            var status = 0
            switch reference.location {
            case .directory(let path):
                let origin = try DirectoryOrigin(path)
                var names = try origin.channels()
                if let named = reference.channel { names = [named] }
                for name in names.prefix(countMax) {
                    // A channel withdrawn between the two looks has no pointer.
                    if let pointer = try origin.pointer(name) { pointers.append(pointer) }
                }
                hasLost = try tellsLost(
                    origin, Set(pointers.map(\.channel)), reference.channel)
            case .web, .bucket:
                let names = try names(at: reference).prefix(countMax)
                let answers = try documents(
                    names.map { (OriginLayout.pointer($0), Int64(ChannelPointer.byteCountMax)) },
                    at: reference.location)
                for (name, answer) in zip(names, answers) {
                    status = answer.head.status
                    let place = reference.location.appending(OriginLayout.pointer(name))
                    guard let bytes = try bytes(of: answer, from: place) else { continue }
                    pointers.append(try ChannelPointer(parsing: bytes, of: name))
                }
            }
            guard !pointers.isEmpty else {
                if let refusal, status == 403 { throw refusal }
                throw StoreError(
                    .notFound,
                    status == 403
                        ? "\(reference.location.description) does not let its channels be read (it answered "
                            + "403): it is private, or has none"
                        : "\(reference.location.description) has no channel"
                            + (hasLost
                                ? " that can be shown" : "; castree publish creates one")
                )
            }
            return pointers
        }
    }

    private func names(at reference: OriginReference) throws(StoreError) -> [ChannelName] {
        if let named = reference.channel { return [named] }
        return try listedNames(at: reference.location) ?? [.stable]
    }

    func channelNames(at location: OriginLocation) throws(StoreError) -> [ChannelName] {
        guard case .directory(let path) = location else {
            return try listedNames(at: location) ?? []
        }
        return try DirectoryOrigin(path).channels()
    }

    private func listedNames(at location: OriginLocation) throws(StoreError) -> [ChannelName]? {
        let answer = try document(
            OriginLayout.channelList, at: location, byteCountMax: ChannelList.byteCountMax)
        let list = try bytes(of: answer, from: location.appending(OriginLayout.channelList))
        return try list.map { (list) throws(StoreError) in try ChannelList.names(parsing: list) }
    }

    /// Returns nil if it does not exist, or a page is in its place.
    private func bytes(
        of answer: DocumentFetch.Answer, from place: String
    ) throws(StoreError) -> [UInt8]? {
        if answer.isDocument { return answer.bytes }
        guard answer.isMissing else {
            throw ReleaseProblem.noAnswer(
                "\(place) answered \(answer.head.status)", answer.head.status)
        }
        return nil
    }
}

// Pack indexes (deliveries), which lie beside the pointer.
extension OriginAccess {
    /// The delivery that a release names; `nil` if it names none.
    /// - Throws: `.badPack`, `.tooLarge`, `.network` if it is useless; `.interrupted`.
    func delivery(
        of release: ChannelRelease, at location: OriginLocation
    ) throws(StoreError) -> Delivery? {
        guard let published = release.delivery, let version = release.version else { return nil }
        let answer = try document(
            OriginLayout.path(.delivery, published.address, in: published.epoch), at: location,
            byteCountMax: published.byteCount, isOptional: true)
        guard answer.head.status == 200 else {
            throw .badPack("the origin answered \(answer.head.status) for its delivery")
        }
        return try Delivery(answer.bytes, named: published, of: version)
    }

    /// The deliveries of what channels offer, by address, within ten minutes; omits those that cannot be fetched.
    /// - Throws: `.badOrigin`, `.interrupted`.
    package func deliveries(
        of pointers: [ChannelPointer], at text: String
    ) throws(StoreError) -> [ObjectID: Delivery] {
        let location = try OriginReference(parsing: text).location
        let end = ContinuousClock.now + DocumentFetch.timeout
        var deliveries: [ObjectID: Delivery] = [:]
        for release in pointers.flatMap(\.releases) {
            guard let published = release.delivery, deliveries[published.address] == nil,
                ContinuousClock.now < end
            else { continue }
            deliveries[published.address] = try allowing(
                [.badPack, .tooLarge, .network], try delivery(of: release, at: location))
        }
        return deliveries
    }
}

extension StoreError {
    /// Whether a delivery is unavailable or wrong, which costs only time: everything can be fetched without it.
    var isUselessDelivery: Bool { [.badPack, .tooLarge, .network].contains(code) }
}
