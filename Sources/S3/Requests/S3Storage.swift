package import Platform
package import Storage
import Synchronization

/// The real ``ObjectStorage``: a prefix in a bucket of an S3-compatible store.
package final class S3Storage: ObjectStorage {
    struct Ways: Sendable {
        /// DeleteObjects is refused: one by one.
        var deletesSingly = false
    }

    package let location: BucketLocation
    let runner: RequestRunner
    let options: BucketOptions
    let ways = Mutex(Ways())

    package init(
        _ location: BucketLocation, at endpoint: BucketEndpoint, keys: any KeySource,
        carrier: any BucketCarrier, _ options: BucketOptions = BucketOptions()
    ) {
        self.location = location
        self.options = options
        runner = RequestRunner(endpoint, keys, carrier, options)
    }

    /// Prepares the bucket that a user names, with endpoint, region and keys from their settings, without a request.
    ///
    /// Certificates to trust instead of the system's (`AWS_CA_BUNDLE`) are the carrier's.
    /// - Throws: `.badOrigin`, `.credentials`; see ``BucketSettings``.
    package convenience init(
        _ location: BucketLocation, _ settings: BucketSettings, carrier: any BucketCarrier,
        _ options: BucketOptions = BucketOptions()
    ) throws(StoreError) {
        let settings = settings.settings(of: location)
        self.init(
            location, at: try settings.endpoint(of: location),
            keys: try settings.keySource(carrier), carrier: carrier, options)
    }

    /// `s3://BUCKET/PREFIX at ENDPOINT`.
    package var place: String { "\(location) at \(runner.endpoint)" }
    /// The most that the options allow; the answers decide how many are really sent.
    package var parallelCount: Int { options.jobCount }
    /// Includes requests for parts and repeated ones.
    package var figures: StorageFigures { runner.figures }

    // MARK: reading

    package func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        let reading = Reading(request, "\(key) of \(place)", now: runner.now)
        var thrown: StoreError?
        let end = try runner.run(
            progress: { reading.deliveredCount },
            make: { call(key, reading) },
            onHead: { reading.begin($0) },
            onBytes: { bytes in
                let part = reading.wanted(bytes)
                guard !part.isEmpty else { return reading.problem == nil && !reading.hasSurplus }
                do throws(StoreError) {
                    try take(part)
                    return !reading.hasSurplus
                } catch {
                    thrown = error
                    return false
                }
            })
        if let thrown { throw thrown }
        return try reading.outcome(try answer(end))
    }

    private func call(_ key: String, _ reading: Reading) -> S3Call {
        var call = S3Call("GET", location.key(key), action: "s3:GetObject")
        let request = reading.request
        // A store without ranges also sends everything before the range.
        call.streamedByteCountMax = request.range?.upperBound ?? request.byteCountMax
        if let range = reading.rangeField { call.fields.append(("range", range)) }
        if let tag = request.unlessTag, reading.deliveredCount == 0 {
            call.fields.append(("if-none-match", tag.quoted))
        }
        return call
    }

    package func head(_ key: String) throws(StoreError) -> StoredFile? {
        let end = try runner.run(make: {
            S3Call("HEAD", location.key(key), action: "s3:GetObject")
        })
        let answer = try answer(end)
        switch answer.status {
        case 200:
            guard let length = answer.head["content-length"].flatMap(Int64.init), length >= 0
            else { throw strange(answer, "HEAD of \(key)") }
            return StoredFile(answer.head, byteCount: length, now: runner.now)
        case 404: return nil
        default: throw strange(answer, "HEAD of \(key)")
        }
    }

    package func list(_ request: ListRequest) throws(StoreError) -> ListPage {
        let start = location.key("")
        let end = try runner.run(make: {
            var call = S3Call("GET", nil, action: "s3:ListBucket")
            call.query = [
                ("list-type", "2"), ("encoding-type", "url"),
                ("max-keys", "\(min(max(request.countMax, 1), 1_000))"),
                ("prefix", location.key(request.prefix)),
            ]
            if let token = request.token {
                call.query.append(("continuation-token", token))
            } else if let after = request.startAfter {
                call.query.append(("start-after", location.key(after)))
            }
            call.answerByteCountMax = Self.listByteCountMax
            return call
        })
        let answer = try answer(end)
        guard answer.status == 200 else { throw strange(answer, "a listing") }
        do throws(XMLScanner.Malformed) {
            let listing = try ListAnswer(answer.body)
            guard listing.files.count <= 1_000 else { throw XMLScanner.Malformed() }
            var files = listing.files
            for index in files.indices {
                guard files[index].key.utf8.starts(with: start.utf8) else {
                    throw XMLScanner.Malformed()
                }
                files[index].key = relative(files[index].key)
            }
            return ListPage(
                files: files, next: listing.isTruncated ? listing.token : nil,
                answeredAt: answer.date ?? runner.now)
        } catch { throw strange(answer, "a listing") }
    }

    /// 1,000 keys of 1,024 bytes, each byte encoded as three, and their markup.
    static let listByteCountMax = 8 << 20

    // MARK: what the verbs have in common

    /// A key of the bucket without the prefix; cut by bytes, since a slash and a following accent are one character.
    func relative(_ key: String) -> String {
        String(decoding: key.utf8.dropFirst(location.key("").utf8.count), as: UTF8.self)
    }

    /// The answer of a read, which cannot be undecided.
    func answer(_ end: CallEnd) throws(StoreError) -> S3Answer {
        switch end {
        case .answer(let answer): return answer
        case .undecided(let reason):
            throw StoreError(reason.refusal ?? .network, reason.description)
        }
    }

    func strange(_ answer: S3Answer, _ what: String) -> StoreError {
        let error = ErrorAnswer(answer.status < 300 ? [] : answer.body)
        let code = error.code.isEmpty ? "" : " \(printable(error.code))"
        return StoreError(
            .bucketAnswer,
            "\(runner.endpoint) gave an answer to \(what) that is not one of S3: "
                + "\(answer.status)\(code), \(answer.body.count) bytes")
    }
}

extension StoredFile {
    /// - Parameter now: replaces the server's time if that is missing.
    init(_ head: AnswerHead, byteCount: Int64, now: Int64) {
        let date = AnswerTime.field(head["date"]) ?? now
        // Without a time it counts as just written, so no grace period has ended.
        self.init(
            byteCount: byteCount, tag: EntityTag(head["etag"] ?? ""),
            modifiedAt: AnswerTime.field(head["last-modified"]) ?? date, answeredAt: date)
    }
}

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
