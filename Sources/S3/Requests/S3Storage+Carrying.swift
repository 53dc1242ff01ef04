package import Platform
import Storage

// GETs carried by a pull's client, which handles many downloads at once.
extension S3Storage {
    /// A signed GET of a file, valid for some fifteen minutes; each try needs a new one.
    ///
    /// Range and conditions may be added, since they are not signed.
    /// - Throws: `.credentials`.
    package func signedGet(_ key: String) throws(StoreError) -> SignedGet {
        let call = S3Call("GET", location.key(key), action: "s3:GetObject")
        return try runner.signed(SignedGet(key: key, call: call, endpoint: runner.endpoint))
    }

    /// The meaning of the answer to such a GET, whose region, clock and keys are learned.
    /// - Parameter body: of an answer that is no success; the first 64 KiB are enough.
    /// - Throws: `.credentials` if keys have expired and cannot be renewed.
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

package struct SignedGet: Sendable {
    package let key: String
    package internal(set) var url = ""
    /// The fields, which must go nowhere else.
    package internal(set) var fields: [(name: String, value: String)] = []
    let call: S3Call
    var keys: AccessKeys?
    var endpoint: BucketEndpoint
    var signedAt: Int64 = 0
    var tries = RequestRunner.Tries()
}

package enum CarriedAnswer: Sendable {
    /// Use it; with the error if it is a refusal of this key.
    case passOn(StoreError?)
    /// Send this one instead, at once.
    case again(SignedGet)
    /// Other keys would be refused, too.
    case refused(StoreError)
}

extension Refusal {
    /// Whether another key may be allowed: without the right to list, a missing file is refused as well.
    fileprivate var isAboutOneKey: Bool {
        [401, 403].contains(status) && ["AccessDenied", ""].contains(error.code)
    }
}
