package import CASStore

/// The progress of a version with missing objects, whichever process downloads them.
package struct VersionProgress: Sendable, Hashable {
    package var version: String
    package var missingObjects: Int
    package var missingBytes: Int64
    /// How many of these bytes are staged: parts of objects, and whole ones that are not recorded yet.
    package var stagedBytes: Int64
    /// The size of everything that it names, each object once.
    package var totalBytes: Int64
}

extension VersionStore {
    /// The progress of each incomplete version, newest first; costs what these name, and a listing of `staging/`.
    package func progress() throws(StoreError) -> [VersionProgress] {
        var result: [VersionProgress] = []
        for (row, _) in try store.versionRows() where !row.isComplete {
            // A version with a rebuilt manifest may be missing nothing that could be fetched.
            guard let missing = try store.missingObjects(of: row.name), !missing.isEmpty,
                let bytes = try store.namedBytes(of: row.name)
            else { continue }
            result.append(
                VersionProgress(
                    version: row.name, missingObjects: missing.count,
                    missingBytes: bytes.missing, stagedBytes: try stagedBytes(of: missing),
                    totalBytes: bytes.present + bytes.missing))
        }
        return result
    }

    private func stagedBytes(of missing: [Reference]) throws(StoreError) -> Int64 {
        var sizes: [String: Int64] = [:]
        for object in missing { sizes[object.address.description] = object.byteCount }
        var staged: [String: Int64] = [:]
        let staging = directories.staging.raw
        try fileSystem.list(staging) { (name, kind) throws(StoreError) in
            if kind == .directory {
                guard let lease = try self.fileSystem.openIfPresent(staging, name, .directory)
                else { return true }
                try self.fileSystem.list(lease.raw) { (inner, _) throws(StoreError) in
                    try self.note(inner, in: lease.raw, sizes, &staged)
                    return true
                }
            } else {
                try self.note(partOf: String(cString: name), in: staging, sizes, &staged)
            }
            return true
        }
        var sum: Int64 = 0
        for (name, bytes) in staged { sum += min(bytes, max(sizes[name] ?? 0, 0)) }
        return sum
    }

    /// Records how much of an object has arrived in a part; for a compressed or delta part, in proportion.
    private func note(
        partOf name: String, in staging: Int32, _ sizes: [String: Int64],
        _ staged: inout [String: Int64]
    ) throws(StoreError) {
        guard let part = PartName(name) else { return }
        let address = part.object.description
        // It may have been finished meanwhile.
        guard let size = sizes[address], let status = try fileSystem.status(staging, name) else {
            return
        }
        var bytes = status.byteCount
        if let byteCount = part.leadsTo?.byteCount {
            bytes = Int64(Double(min(bytes, byteCount)) / Double(byteCount) * Double(size))
        }
        staged[address] = max(staged[address] ?? 0, bytes)
    }

    /// Records how much of an object is staged in a file of a lease: `<address>` or `<placeholder>.<address>`.
    ///
    /// Two writers may stage one object: the one that is further counts.
    private func note(
        _ name: UnsafePointer<CChar>, in directory: Int32, _ sizes: [String: Int64],
        _ staged: inout [String: Int64]
    ) throws(StoreError) {
        for part in String(cString: name).split(separator: ".") {
            let address = String(part)
            guard sizes[address] != nil else { continue }
            // It may have been published meanwhile.
            guard let status = try fileSystem.status(directory, name) else { return }
            staged[address] = max(staged[address] ?? 0, status.byteCount)
            return
        }
    }
}
