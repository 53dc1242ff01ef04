package import CASStore
import VersionTree

// What a bucket has lost, from another origin: everything that never changes is named by its bytes.

extension Pull {
    /// Fetches files that a bucket has lost as objects of this pull's store.
    ///
    /// First under the names that they have in the bucket: another origin may be a copy of it. Then without an epoch,
    /// as in a directory that was published to; then objects wherever the origin's channels say. What does not come is
    /// left out.
    /// - Throws: as ``fetch(_:from:at:)``.
    package func fetch(
        _ lost: [OriginMender.Lost], of origin: String, at location: OriginLocation
    ) throws(StoreError) {
        var left = lost
        for isCopy in [true, false] {
            var places: [ObjectID: String] = [:]
            for one in left {
                let path = OriginLayout.epoch(of: one.path)?.path
                places[one.reference.address] = isCopy ? one.path : path
            }
            let came = try fetch(left.map(\.reference), from: location, at: places)
            left.removeAll { came.contains($0.reference.address) }
        }
        let objects = left.filter(\.isObject).map(\.reference)
        guard !objects.isEmpty else { return }
        _ = try repairSource(origin, at: location).objects(objects)
    }

    /// The small file that another origin has under a path; `nil` if it does not come.
    /// - Throws: `.interrupted`.
    package func file(
        _ path: String, byteCountMax: Int, at location: OriginLocation
    ) throws(StoreError) -> [UInt8]? {
        do throws(StoreError) {
            let answer = try access.document(
                path, at: location, byteCountMax: Int64(byteCountMax))
            return answer.head.status == 200 ? answer.bytes : nil
        } catch {
            guard error.code != .interrupted else { throw error }
            return nil
        }
    }
}
