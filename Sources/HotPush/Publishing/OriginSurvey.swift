import CASStore
import Synchronization
import VersionTree

/// What an origin has of a version: the facts for a plan.
///
/// Only reads; a directory that does not exist holds nothing.
struct OriginSurvey: Sendable {
    let fileSystem: any FileSystem
    let options: PublisherOptions
    /// The directory of the objects; `nil` if there is none.
    var objects: Int32?
    /// The directory of the manifests; `nil` if there is none.
    var manifests: Int32?

    /// The positions of the objects that the origin lacks or has wrong, in order.
    func missing(_ wanted: [Reference]) throws(StoreError) -> [Int] {
        guard let objects else { return Array(wanted.indices) }
        let lacking = Mutex<[Int]>([])
        let survey = self
        let progress =
            options.verifiesObjects
            ? CheckingProgress(
                options, total: wanted.reduce(0) { $0.addingClamped($1.byteCount) }) : nil
        try Parallel.run(workers: Parallel.workerCount, count: wanted.count, chunk: 64) {
            (work) throws(StoreError) in
            var checker = try ObjectChecker()
            while let chunk = work.nextChunk() {
                if survey.options.isInterrupted() { throw OriginWriter.interruption }
                for position in chunk {
                    let stands = try survey.stands(
                        wanted[position], in: objects, &checker, progress)
                    if !stands { lacking.withLock { $0.append(position) } }
                }
            }
        }
        return lacking.withLock { $0 }.sorted()
    }

    private func stands(
        _ object: Reference, in objects: Int32, _ checker: inout ObjectChecker,
        _ progress: CheckingProgress?
    ) throws(StoreError) -> Bool {
        let isThere = try StoreLayout.withObjectPath(object.address) {
            (path) throws(StoreError) -> Bool in
            guard let status = try fileSystem.status(objects, path) else { return false }
            return status.kind == .regular && status.byteCount == object.byteCount
        }
        guard let progress else { return isThere }
        guard isThere else {
            progress.skip(object.byteCount)
            return false
        }
        let file = try StoreLayout.withObjectPath(object.address) {
            (path) throws(StoreError) -> Descriptor in
            try fileSystem.open(objects, path, .reading, mode: 0)
        }
        return try progress.address(of: file.raw, &checker, fileSystem) == object.address
    }

    /// Whether the manifest is there with the bytes that its name promises.
    func hasManifest(_ version: PublishedVersion) throws(StoreError) -> Bool {
        guard let manifests else { return false }
        let name = OriginLayout.manifestFile(version.manifest)
        guard let status = try fileSystem.status(manifests, name), status.kind == .regular,
            status.byteCount == version.manifestByteCount
        else { return false }
        let file = try fileSystem.open(manifests, name, .reading, mode: 0)
        var checker = try ObjectChecker()
        return try checker.hash(file.raw, fileSystem).address == version.manifest
    }
}
