package import CASStore

/// The way to origins: what carries requests there, and how many it has carried.
///
/// The only part of a ``Pull`` with state. Belongs to one thread.
package final class OriginAccess {
    private let network: any Transport
    private let retries: RetryPolicy
    private let tell: @Sendable (Retry) -> Void
    /// Whether an answer has come, from wherever.
    private var hasAnswer = false
    let isInterrupted: () -> Bool
    /// How many requests have been sent.
    package private(set) var requestCount = 0

    /// Makes an access; nothing is sent yet.
    ///
    /// - Parameter network: carries the requests; a directory needs none.
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

    /// Why a bucket has refused a file: the request, and the right that would allow it; `nil` elsewhere.
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

    /// Asks for a document.
    /// - Parameters:
    ///   - tag: the entity tag of one that is here: the answer is 304 if it still has that.
    ///   - pastCaches: whether no cache may answer for the origin.
    ///   - isOptional: whether everything can be had without it: then nobody waits long, as for packs.
    /// - Returns: the final answer, whatever its status.
    /// - Throws: `.network`, `.tooLarge`, `.interrupted`.
    func document(
        _ path: String, at location: OriginLocation, accept: String = "application/json",
        byteCountMax: Int64, unless tag: String? = nil, pastCaches: Bool = false,
        isOptional: Bool = false
    ) throws(StoreError) -> DocumentFetch.Answer {
        let policy = isOptional ? retries.forPacks : retries
        let fetch = DocumentFetch(
            try OriginURL(of: location).url(of: path), accept: accept, byteCountMax: byteCountMax,
            unless: tag, pastCaches: pastCaches, retries: budget(policy),
            isInterrupted: isInterrupted)
        let answer = try run([fetch], at: location)[0]
        hasAnswer = true
        return answer
    }

    private func budget(_ policy: RetryPolicy) -> RetryBudget {
        RetryBudget(hasAnswer ? policy.afterAnswer : policy, tell: tell)
    }

    /// Asks for documents at the same time.
    /// - Returns: the final answers, in order, whatever their status.
    /// - Throws: `.network`, `.tooLarge`, `.interrupted`.
    func documents(
        _ wanted: [(path: String, byteCountMax: Int64)], at location: OriginLocation
    ) throws(StoreError) -> [DocumentFetch.Answer] {
        let origin = try OriginURL(of: location)
        let fetches = wanted.map { document in
            DocumentFetch(
                origin.url(of: document.path), accept: "application/json",
                byteCountMax: document.byteCountMax, retries: budget(retries),
                isInterrupted: isInterrupted)
        }
        return try run(fetches, at: location)
    }

    private func run(
        _ fetches: [DocumentFetch], at location: OriginLocation
    ) throws(StoreError) -> [DocumentFetch.Answer] {
        let fetches = DocumentFetches(fetches)
        defer { requestCount += fetches.requestCount }
        return try named(location) { () throws(StoreError) in
            try fetches.run(over: transport(to: location))
        }
    }

    /// Carries the requests for a pack.
    /// - Throws: what is wrong with the transport itself.
    func run(_ transfer: PackTransfer, at location: OriginLocation) throws(StoreError) {
        defer { requestCount += transfer.figures.requests }
        try named(location) { () throws(StoreError) in
            try transfer.run(over: transport(to: location))
        }
    }

    /// Carries the requests of a download.
    /// - Throws: what is wrong with the transport itself.
    func run(_ download: Download, at location: OriginLocation) throws(StoreError) {
        defer { requestCount += download.figures.requests }
        try named(location) { () throws(StoreError) in
            try download.run(over: transport(to: location))
        }
    }

    /// An error without what an origin was told in confidence, and may have repeated.
    func discreet(_ error: StoreError) -> StoreError {
        var error = error
        error.message = network.concealed(in: error.message)
        return error
    }

    /// Has errors say nothing of what an origin was told in confidence.
    func discreetly<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        do throws(StoreError) { return try body() } catch { throw discreet(error) }
    }

    /// Has errors name the files of a directory by their paths.
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
    /// The base of the URLs of ``DirectoryTransport``.
    fileprivate static let directory = "file:///"

    /// The base of relative sources; for a directory, the URLs of ``DirectoryTransport``.
    init(of location: OriginLocation) throws(StoreError) {
        switch location {
        case .web(let base): try self.init(base)
        case .directory: try self.init(Self.directory)
        case .bucket(let bucket): self.init(of: bucket)
        }
    }
}

extension DocumentFetch.Answer {
    /// Whether a castree origin has the requested document: a page in its place does not count.
    var isDocument: Bool {
        head.status == 200
            && ReleaseDocument(path: "").accepts(contentType: head["content-type"])
    }

    /// The type of a page that came in the document's place; nil if none did.
    ///
    /// 511: RFC 6585, section 6.
    var pageType: String? {
        let type = head["content-type"]?.prefix { $0 != ";" }.lowercased() ?? ""
        guard head.status == 511 || head.status == 200, type == "text/html" else { return nil }
        return type
    }

    /// Whether it does not have the document; everything else is a failure.
    ///
    /// Some servers answer 403 for what does not exist.
    var isAbsence: Bool { !isDocument && [200, 403, 404, 410].contains(head.status) }
}

// What the channels of an origin offer; only their pointers are fetched.
extension OriginAccess {
    /// The pointers of an origin's channels, sorted by name.
    ///
    /// A web server does not list its directories: the origin gives the names in `channels.json`. If the
    /// castree that last published to it wrote no such file, it has at most the channel `stable`.
    /// - Parameters:
    ///   - text: a directory, the URL of an origin, or that of one pointer.
    ///   - countMax: the most channels that are asked for.
    /// - Throws: `.badOrigin`, `.noOrigin`, `.badPointer`, `.tooLarge`, `.network`; `.notFound` if there is no channel.
    package func pointers(
        of text: String, countMax: Int = .max
    ) throws(StoreError) -> [ChannelPointer] {
        try discreetly { () throws(StoreError) in
            let reference = try OriginReference(parsing: text)
            var pointers: [ChannelPointer] = []
            var status = 0
            switch reference.location {
            case .directory(let path):
                let origin = try DirectoryOrigin(path)
                var names = try origin.channels()
                if let named = reference.channel { names = [named] }
                for name in names.prefix(countMax) {
                    // If it was withdrawn between the two looks, it is no channel.
                    if let pointer = try origin.pointer(name) { pointers.append(pointer) }
                }
            case .web, .bucket:
                let names = try names(at: reference).prefix(countMax)
                // All at once: together they may take no longer than one.
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
                        : "\(reference.location.description) has no channel; castree publish makes one"
                )
            }
            return pointers
        }
    }

    private func names(at reference: OriginReference) throws(StoreError) -> [ChannelName] {
        if let named = reference.channel { return [named] }
        return try listedNames(at: reference.location) ?? [.stable]
    }

    /// The channels that an origin says it has; none if it does not say.
    func channelNames(at location: OriginLocation) throws(StoreError) -> [ChannelName] {
        guard case .directory(let path) = location else {
            return try listedNames(at: location) ?? []
        }
        return try DirectoryOrigin(path).channels()
    }

    /// - Returns: nil if there is no list.
    private func listedNames(at location: OriginLocation) throws(StoreError) -> [ChannelName]? {
        let answer = try document(
            OriginLayout.channelList, at: location, byteCountMax: ChannelList.byteCountMax)
        let list = try bytes(of: answer, from: location.appending(OriginLayout.channelList))
        return try list.map { (list) throws(StoreError) in try ChannelList.names(parsing: list) }
    }

    /// - Returns: nil if it does not exist, or a page is in its place.
    private func bytes(
        of answer: DocumentFetch.Answer, from place: String
    ) throws(StoreError) -> [UInt8]? {
        if answer.isDocument { return answer.bytes }
        guard answer.isAbsence else {
            throw ReleaseProblem.noAnswer(
                "\(place) answered \(answer.head.status)", answer.head.status)
        }
        return nil
    }
}

// Which packs lead to a release: a document beside the pointer.
extension OriginAccess {
    /// The delivery that a release names; `nil` if it names none.
    /// - Throws: `.badPack`, `.tooLarge`, `.network` if it is of no use; `.interrupted`.
    func delivery(
        of release: OfferedRelease, at location: OriginLocation
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

    /// The deliveries of what channels offer, by address; those that cannot be had, or are not asked for within ten
    /// minutes, are left out.
    /// - Parameter text: as for ``pointers(of:)``.
    /// - Throws: `.badOrigin`, `.interrupted`.
    package func deliveries(
        of pointers: [ChannelPointer], at text: String
    ) throws(StoreError) -> [ObjectID: Delivery] {
        let location = try OriginReference(parsing: text).location
        let end = ContinuousClock.now + DocumentFetch.patience
        var deliveries: [ObjectID: Delivery] = [:]
        for release in pointers.flatMap(\.releases) {
            guard let published = release.delivery, deliveries[published.address] == nil,
                ContinuousClock.now < end
            else { continue }
            let found = try allowing(.badPack, .tooLarge, .network) { () throws(StoreError) in
                try delivery(of: release, at: location)
            }
            deliveries[published.address] = found ?? nil
        }
        return deliveries
    }
}

extension StoreError {
    /// Whether a delivery cannot be had, or is not what it should be: everything can be had without it.
    var isUselessDelivery: Bool { [.badPack, .tooLarge, .network].contains(code) }
}
