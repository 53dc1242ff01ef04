/// Computes the address and the fingerprint of an object in one pass; used by one thread at a time.
package struct ObjectHasher: ~Copyable {
    private var digester: Digester
    private var fingerprinter: Fingerprinter

    /// - Throws: `.unsupported` when libcrypto offers no SHA-256, `.outOfMemory`.
    package init() throws(StoreError) {
        // Both first: a noncopyable value must not be left half made when the second throws.
        let digester = try Digester(.sha256)
        let fingerprinter = try Fingerprinter()
        self.digester = digester
        self.fingerprinter = fingerprinter
    }

    package mutating func update(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { update($0) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        digester.update(bytes)
        fingerprinter.update(bytes)
    }

    package mutating func finish() -> (address: ObjectID, fingerprint: Fingerprint) {
        (digester.finish { ObjectID(unchecked: $0) }, fingerprinter.finish())
    }

    package mutating func hash(
        _ bytes: UnsafeRawBufferPointer
    ) -> (address: ObjectID, fingerprint: Fingerprint) {
        digester.update(bytes)
        let address = digester.finish { ObjectID(unchecked: $0) }
        return (address, Fingerprinter.fingerprint(bytes))
    }
}
