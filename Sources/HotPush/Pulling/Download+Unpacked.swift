import CASStore
import VersionTree

// Content that comes out of packs, or is found staged.

extension Download {
    /// How many objects packs may bring, and their bytes.
    var missing: (count: Int, byteCount: Int64) {
        (wanted.count, wanted.values.reduce(0) { $0.addingClamped($1.byteCount ?? 0) })
    }

    /// Whether a pack may bring an object.
    func isMissing(_ address: ObjectID) -> Bool { wanted[address] != nil }

    /// Begins an object that comes out of a pack; `nil` if it is not wanted.
    func begin(_ object: Reference) throws(StoreError) -> Arrival? {
        guard let content = wanted[object.address] else { return nil }
        return try begin(content)
    }

    /// Takes an object whose bytes have all come.
    /// - Returns: whether they are the object's; else they are deleted.
    func finish(_ address: ObjectID, _ arrival: consuming Arrival) throws(StoreError) -> Bool {
        guard let content = wanted[address] else { return true }
        let file = file(of: content)
        let arrived: Arrived
        do throws(StoreError) {
            arrived = try arrival.finish { (digests) throws(StoreError) in
                try file.isProved(by: digests)
            }
        } catch {
            guard error.code == .mismatch else { throw error }
            return false
        }
        wanted[address] = nil
        unpacked.insert(content.name)
        figures.files += 1
        try add(content, arrived.object)
        return true
    }

    /// Takes whole contents that an earlier pull has left when it was killed.
    func takeStaged() throws(StoreError) {
        for content in plan.contents where content.byteCount ?? 0 > 0 {
            guard let address = file(of: content).address, isMissing(address) else { continue }
            let arrival = try begin(content)
            if arrival.offset == content.byteCount { _ = try finish(address, arrival) }
        }
    }
}
