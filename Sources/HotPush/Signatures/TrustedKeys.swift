package import CASStore

/// The keys whose signatures count, and how many of them must have signed.
package struct TrustedKeys: Sendable, Hashable {
    /// Sorted by id, each distinct.
    package let keys: [VerificationKey]
    /// How many different keys must have signed a pointer.
    package let threshold: Int

    /// - Throws: `.badKey` for no key, more than ``PointerSignature/countMax``, equal ids, or an unreachable threshold.
    package init(_ keys: [VerificationKey], threshold: Int = 1) throws(StoreError) {
        let sorted = keys.sorted { $0.id < $1.id }
        guard 1...PointerSignature.countMax ~= sorted.count else {
            throw .badKey(
                "\(sorted.count) keys cannot be trusted: name 1 to \(PointerSignature.countMax)")
        }
        for (one, other) in zip(sorted, sorted.dropFirst()) where one.id == other.id {
            throw StoreError(
                .badKey,
                one == other
                    ? "key \(one.id) is named twice: each counts once"
                    : "two different keys have the id \(one.id): somebody made one of them to look like the other"
            )
        }
        guard 1...sorted.count ~= threshold else {
            throw .badKey(
                "\(threshold) signatures are asked for, and \(sorted.count == 1 ? "1 key is" : "\(sorted.count) keys are") "
                    + "trusted: ask for 1 to \(sorted.count)")
        }
        self.keys = sorted
        self.threshold = threshold
    }

    /// The ids of the trusted keys whose signatures of some bytes verify; distinct and sorted.
    package func signers(of signedBytes: [UInt8], _ signatures: [PointerSignature]) -> [String] {
        keys.filter { key in
            signatures.contains {
                $0.key == key.id && key.verifies($0.signature, of: signedBytes)
            }
        }.map(\.id)
    }

    /// Distinct and sorted ids, as of ``signers(of:_:)``.
    package func signers(of pointer: ChannelPointer) -> [String] {
        signers(of: pointer.signedBytes, pointer.signatures)
    }

    /// Whether enough trusted keys have signed a pointer of the expected origin, whatever its sequence and expiry.
    /// - Parameter origin: the id of the origin; `nil` if it is not known yet.
    package func judge(_ pointer: ChannelPointer, of origin: String? = nil) -> PointerJudgement {
        guard pointer.isSigned else { return PointerJudgement(objection: "it is not signed") }
        let signers = signers(of: pointer)
        guard signers.count >= threshold else {
            return PointerJudgement(objection: shortage(of: pointer, signers))
        }
        if let origin, let other = pointer.origin, other != origin {
            return PointerJudgement(objection: "it belongs to another origin (\(other))")
        }
        return PointerJudgement(signers: signers)
    }

    private func shortage(of pointer: ChannelPointer, _ signers: [String]) -> String {
        let (known, there) = (Set(keys.map(\.id)), pointer.signatures.map(\.key))
        // It was changed, or put together.
        let wrong = there.filter { known.contains($0) && !signers.contains($0) }
        let unknown = there.filter { !known.contains($0) }
        var parts: [String] = []
        if threshold > 1 {
            parts.append("\(signers.count) of \(threshold) trusted keys have signed it")
        }
        if !wrong.isEmpty {
            parts.append(
                "the signature of key \(wrong.joined(separator: ", ")) is not of this pointer")
        }
        if !unknown.isEmpty {
            parts.append(
                "key \(unknown.joined(separator: ", ")) has signed it and is not trusted")
        }
        return parts.joined(separator: "; ")
    }
}

/// Whether a pointer counts, and why not.
package struct PointerJudgement: Sendable, Hashable {
    package var signers: [String] = []
    /// What is wrong, as the end of a sentence about the pointer; `nil` if it counts.
    package var objection: String?
}
