package import Platform
import Storage

// GETs that somebody else carries: a pull, which has a client for many downloads at once.
extension S3Storage {
    /// A GET of a file, signed.
    ///
    /// Range and conditions may be added, since they are not signed. A server takes it for some fifteen
    /// minutes; each try needs a new one.
    /// - Throws: `.credentials`.
    package func signedGet(_ key: String) throws(StoreError) -> SignedGet {
        let call = S3Call("GET", location.key(key), action: "s3:GetObject")
        return try runner.signed(SignedGet(key: key, call: call, endpoint: runner.endpoint))
    }

    /// What the answer to such a GET means.
    ///
    /// Learns the region, the clock and the keys that it tells of.
    /// - Parameter body: of an answer that is no success: the first 64 KiB are enough.
    /// - Throws: `.credentials` if keys have ended and cannot be renewed.
    package func meaning(
        of head: AnswerHead, _ body: [UInt8], to get: SignedGet
    ) throws(StoreError) -> CarriedAnswer {
        var sent = SentRequest(signedAt: get.signedAt, endpoint: get.endpoint)
        (sent.end, sent.head, sent.body) = (.finished, head, body)
        guard case .refused(let refusal) = Verdict(sent, get.call, wasUndecided: false) else {
            return .passOn(nil)
        }
        if let again = try runner.mended(get, sent, refusal) { return .again(again) }
        let error = try refusal.error(get.call, get.endpoint, get.keys, options.fileSystem)
        return refusal.isAboutOneKey ? .passOn(error) : .refused(error)
    }
}

/// A GET with its signature, and what it was signed with.
package struct SignedGet: Sendable {
    /// The key, relative to the bucket's prefix.
    package let key: String
    /// The whole URL.
    package internal(set) var url = ""
    /// The fields that must go nowhere else.
    package internal(set) var fields: [(name: String, value: String)] = []
    let call: S3Call
    var keys: AccessKeys?
    var endpoint: BucketEndpoint
    var signedAt: Int64 = 0
    var tries = RequestRunner.Tries()
}

/// What to do after the answer to a ``SignedGet``.
package enum CarriedAnswer: Sendable {
    /// Take it as it is; with what it would need if it is a refusal of this key.
    case passOn(StoreError?)
    /// Send this one in its place, at once.
    case again(SignedGet)
    /// No other key fares better.
    case refused(StoreError)
}

extension Refusal {
    /// Whether another key may be allowed: those who may not list get it also for what is not there.
    fileprivate var isAboutOneKey: Bool {
        [401, 403].contains(status) && ["AccessDenied", ""].contains(error.code)
    }
}
