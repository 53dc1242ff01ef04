package import Platform
package import Storage
import Synchronization

extension S3Storage {
    package func delete(_ keys: [String]) throws(StoreError) -> DeleteOutcome {
        precondition((1...1_000).contains(keys.count), "a deletion has 1 to 1,000 keys")
        var outcome = DeleteOutcome()
        var together: [String] = []
        var singly: [String] = []
        let deletesSingly = ways.withLock { $0.deletesSingly }
        for key in keys {
            if deletesSingly || !Self.isSpellable(key) {
                singly.append(key)
            } else {
                together.append(key)
            }
        }
        if !together.isEmpty, try !deleteTogether(together, &outcome) {
            ways.withLock { $0.deletesSingly = true }
            singly += together
        }
        for key in singly { try delete(key, &outcome) }
        return outcome
    }

    /// Whether an XML document can hold the key (XML 1.0, section 2.2).
    private static func isSpellable(_ key: String) -> Bool {
        key.unicodeScalars.allSatisfy {
            $0.value >= 0x20 && $0.value != 0xFFFE && $0.value != 0xFFFF
        }
    }

    /// Deletes all by one request; `false` if the store does not support it.
    private func deleteTogether(
        _ keys: [String], _ outcome: inout DeleteOutcome
    ) throws(StoreError) -> Bool {
        let document = DeleteAnswer.request(keys.map(location.key))
        let body = try StorageBody(document)
        // The reference demands one of them; this one is for a libcrypto without MD5.
        var check = ("x-amz-checksum-sha256", Base64.string(body.address.bytes))
        do throws(StoreError) {
            check = ("content-md5", Base64.string(try Digester.digest(.md5, of: document)))
        } catch { guard error.code == .unsupported else { throw error } }
        let end = try runner.run(make: {
            var call = S3Call("POST", nil, action: "s3:DeleteObject")
            call.query = [("delete", "")]
            call.fields = [("content-type", "application/xml"), check]
            call.send(body)
            // The answer comes after the last of a thousand deletions. If that takes longer than a request may be
            // silent, the next try finds fewer files.
            return call
        })
        guard case .answer(let answer) = end else {
            outcome.unknownCount += keys.count
            return true
        }
        switch answer.status {
        case 200: break
        case 501, 405, 400: return false
        default: throw strange(answer, "a deletion")
        }
        do throws(XMLScanner.Malformed) {
            let refused = try DeleteAnswer(answer.body).errors.filter { $0.code != "NoSuchKey" }
            outcome.refused += refused.map { (relative($0.key), $0.code) }
            outcome.deletedCount += max(keys.count - refused.count, 0)
        } catch { throw strange(answer, "a deletion") }
        return true
    }

    private func delete(_ key: String, _ outcome: inout DeleteOutcome) throws(StoreError) {
        let end = try runner.run(make: {
            S3Call("DELETE", location.key(key), action: "s3:DeleteObject")
        })
        guard case .answer(let answer) = end else {
            outcome.unknownCount += 1
            return
        }
        switch answer.status {
        case 200, 204, 404: outcome.deletedCount += 1
        default: throw strange(answer, "DELETE of \(key)")
        }
    }
}
