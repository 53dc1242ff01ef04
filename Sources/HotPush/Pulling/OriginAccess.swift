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
