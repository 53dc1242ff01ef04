import CASStore
import VersionTree

/// The objects of a version by number, as packs name them: the rank of an address among the distinct addresses
/// of the version's entries.
///
/// So a pack spends two or three bytes on an object instead of 32. Every manifest of one content gives the
/// same numbers.
struct NumberedObjects: Sendable {
    /// The objects, sorted by address.
    let references: [Reference]

    init(of manifest: Manifest) {
        var all: [Reference] = []
        all.reserveCapacity(manifest.count)
        for position in 0..<manifest.count {
            all.append(
                Reference(
                    address: manifest.address(at: position),
                    byteCount: manifest.byteCount(at: position)))
        }
        self.init(all)
    }

    /// - Parameter all: what the entries name, in any order.
    init(_ all: [Reference]) {
        let all = all.sorted { $0.address < $1.address }
        var distinct: [Reference] = []
        distinct.reserveCapacity(all.count)
        for one in all where distinct.last?.address != one.address { distinct.append(one) }
        references = distinct
    }

    var count: Int { references.count }

    /// The number of an address; `nil` if the version does not name it.
    func number(of address: ObjectID) -> UInt32? {
        let place = references.firstPosition { $0.address < address }
        guard place < references.count, references[place].address == address else { return nil }
        return UInt32(place)
    }
}
