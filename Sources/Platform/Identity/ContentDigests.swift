/// The digests of one content at a time by several algorithms, in one pass over its bytes.
package final class ContentDigests {
    private final class Running {
        var digester: Digester
        init(_ algorithm: DigestAlgorithm) throws(StoreError) {
            digester = try Digester(algorithm)
        }
    }

    private let running: [Running]
    // The address is computed anyway.
    private let wantsAddress: Bool

    package init(_ algorithms: [DigestAlgorithm]) throws(StoreError) {
        var running: [Running] = []
        for algorithm in algorithms where algorithm != .sha256 {
            running.append(try Running(algorithm))
        }
        self.running = running
        wantsAddress = algorithms.contains(.sha256)
    }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        for one in running { one.digester.update(bytes) }
    }

    /// Returns the digest by each algorithm, and begins the next content.
    package func finish(address: ObjectID) -> [Label] {
        var labels = running.map { one in
            let bytes = one.digester.finish { Array($0) }
            return Label(unchecked: one.digester.algorithm, bytes: bytes)
        }
        if wantsAddress { labels.append(Label(unchecked: .sha256, bytes: address.bytes)) }
        return labels
    }

    package func reset() {
        for one in running { one.digester.reset() }
    }
}

extension Label {
    /// Whether the digests of a content include a different one by the same algorithm.
    package func isContradicted(by digests: [Label]) -> Bool {
        digests.contains { $0.algorithm == algorithm && $0.bytes != bytes }
    }
}

extension [Label] {
    /// The first of these labels that the digests of a content contradict.
    package func firstContradicted(by digests: [Label]) -> Label? {
        first { $0.isContradicted(by: digests) }
    }
}
