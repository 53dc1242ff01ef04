// The index against the manifests: who names what, counted again.

extension Store {
    /// Compares the index with the manifests.
    ///
    /// Reads the manifests without holding the index, so that other threads can use it. Looks again,
    /// in one transaction, at what seems wrong; if somebody else writes meanwhile, once more while
    /// nobody can.
    /// - Parameters:
    ///   - isDeep: look every row up in every index; the check of the objects finds most of what is
    ///     wrong there, too.
    ///   - sum: what each readable manifest says, by version.
    /// - Returns: findings of kind `.damagedIndex` and `.wrongCount`; and `.editedManifest` for a
    ///   manifest that is not the one that was registered, which is compared no further.
    package func checkIndex(
        isDeep: Bool, _ sum: (String) throws(StoreError) -> ManifestSum?
    ) throws(StoreError) -> [Finding] {
        let names = try reading { (index) throws(StoreError) in try index.versions().map(\.name) }
        var expected: [String: ManifestSum] = [:]
        for name in names { expected[name] = try sum(name) }
        let suspects = try reading { (index) throws(StoreError) in
            try index.disagreeing(isDeep: isDeep) { (name) throws(StoreError) in
                expected[name]
            }
        }
        guard !suspects.isEmpty else { return [] }
        let (found, isCertain) = try reading {
            (transaction) throws(StoreError) -> ([Finding], Bool) in
            let found = try transaction.disagreeing(isDeep: isDeep, sum)
            // A writer that has published a manifest but not committed is still at work: while this
            // transaction reads, nobody commits.
            return (found, try !transaction.index.locks.isSomebodyWriting())
        }
        if isCertain || found.isEmpty || found.contains(where: { $0.kind == .damagedIndex }) {
            return found
        }
        var last: [Finding] = []
        try excludingWriters { (index) throws(StoreError) in
            last = try index.disagreeing(isDeep: isDeep, sum)
        }
        return last
    }

    static func wrongCount(_ version: String?) -> Finding {
        Finding(
            .wrongCount, version: version, path: StoreLayout.index,
            version.map { "the index and the manifest of version \($0) say different things" }
                ?? "the index counts the references of an object wrongly")
    }

    /// A finding about the damage for which the index was made again since the store was opened, or for which the
    /// manifests were read instead, where nothing can be written.
    package func damageFinding() throws(StoreError) -> Finding? {
        try index { (index) throws(StoreError) in
            index.damage.map { (reason, isRepaired) in
                Finding(
                    .damagedIndex, path: StoreLayout.index,
                    isRepaired
                        ? reason : reason + "; it cannot be rebuilt here, and stays as it is",
                    isRepaired: isRepaired)
            }
        }
    }

    /// Makes the index again from the objects and manifests.
    package func rebuildIndex(because reason: String) throws(StoreError) {
        try index { (index) throws(StoreError) in
            // Open the file first, so that the rebuild knows which one it is to replace.
            _ = try index.read { (index) throws(StoreError) in try index.versions() }
            try index.rebuild(because: reason)
        }
    }
}

/// What a manifest says that the index repeats, in short: from a manifest or from a row of the index.
package struct ManifestSum: Equatable {
    private var manifest: ObjectID
    private var addresses: AddressSum
    private var numbers: [Int64]

    /// - Parameters:
    ///   - manifest: the address of the file's bytes.
    ///   - numbers: how many files and bytes it has, when it was registered, and its ordinal.
    package init(_ manifest: ObjectID, _ references: References, numbers: [Int64]) {
        self.manifest = manifest
        addresses = AddressSum(references)
        self.numbers = numbers
    }

    fileprivate init(_ row: VersionRow, _ addresses: AddressSum) {
        manifest = row.manifest
        self.addresses = addresses
        numbers = [row.fileCount, row.byteCount, row.createdAt, row.ordinal]
    }

    fileprivate func isOf(_ row: VersionRow) -> Bool { manifest == row.manifest }
}

/// Sums a set of addresses, in any order: equal sets have equal sums, and an accident will not make
/// different sets agree.
struct AddressSum: Equatable {
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    private var count: Int64 = 0

    init() {}

    init(_ references: References) {
        for position in 0..<references.count { add(references[position].address) }
    }

    mutating func add(_ address: ObjectID) {
        words.0 &+= address.w0
        words.1 &+= address.w1
        words.2 &+= address.w2
        words.3 &+= address.w3
        count += 1
    }

    static func == (left: AddressSum, right: AddressSum) -> Bool {
        left.words == right.words && left.count == right.count
    }
}

extension IndexTransaction {
    /// Findings where the index disagrees with itself or with the sums of the manifests.
    fileprivate func disagreeing(
        isDeep: Bool,
        _ expected: (String) throws(StoreError) -> ManifestSum?
    ) throws(StoreError) -> [Finding] {
        if let problem = try index.integrityProblem(connection, quickly: !isDeep) {
            return [
                Finding(
                    .damagedIndex, path: StoreLayout.index,
                    "the index file is damaged: \(problem)")
            ]
        }
        var recount = try IndexRecount(self)
        try recount.run()
        var findings: [Finding] = []
        for row in try versions() {
            guard let expected = try expected(row.name) else { continue }
            if !expected.isOf(row) {
                findings.append(
                    Finding(
                        .editedManifest, version: row.name,
                        path: StoreLayout.manifestPath(row.name),
                        StoreError.editedManifest(row.name)))
            } else if ManifestSum(row, recount.sum(of: row.id)) != expected {
                findings.append(Store.wrongCount(row.name))
            }
        }
        return findings + recount.findings
    }
}
