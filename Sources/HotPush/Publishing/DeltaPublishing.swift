import CASStore
import VersionTree

/// Writes the deltas that lead from the manifests of a channel's older releases to a new one.
///
/// Only a saving: if a delta cannot be made, clients fetch the whole manifest.
struct DeltaPublishing {
    let origin: OriginWriter
    private var staged: [PublishedDelta] = []

    init(to origin: OriginWriter) { self.origin = origin }

    /// Writes deltas aside; the caller makes them durable, then calls ``publish()``.
    mutating func stage(
        _ manifest: Manifest, _ address: ObjectID, from bases: [ObjectID]
    ) throws(StoreError) {
        guard !bases.isEmpty else { return }
        let bytes = try manifest.serialized()
        let reader = try DirectoryOrigin(origin.path, fileSystem: origin.fileSystem)
        for base in bases {
            try origin.checkInterruption()
            let before: [UInt8]?
            do throws(StoreError) {
                before = try reader.manifestBytes(base)
            } catch {
                guard error.code == .damagedOrigin || error.code == .tooLarge else { throw error }
                continue
            }
            guard let before else { continue }
            let delta = ManifestDelta(from: before, to: bytes).serialized()
            // No client takes a larger one.
            guard delta.count <= bytes.count / 2 else { continue }
            let file = try origin.fileSystem.open(
                origin.staging.raw, stagedName(staged.count), .creating,
                mode: OriginWriter.fileMode)
            try origin.fileSystem.write(file.raw, delta)
            if !origin.fileSystem.canSyncAll { try origin.sync(file.raw) }
            staged.append(PublishedDelta(manifest: address, base: base))
        }
    }

    /// Puts the deltas in their places; the caller makes their names durable.
    func publish() throws(StoreError) {
        for (position, delta) in staged.enumerated() {
            try origin.fileSystem.rename(
                origin.staging.raw, stagedName(position), to: origin.manifests.raw,
                OriginLayout.deltaFile(delta.manifest, from: delta.base))
        }
    }

    /// Whether there is nothing to publish.
    var isEmpty: Bool { staged.isEmpty }

    private func stagedName(_ position: Int) -> String { "delta-\(position)" }
}
