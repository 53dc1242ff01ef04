/// The name of a file in `staging/` with partial content.
///
/// `<address>`, or `<placeholder>` where the address is not known, for an object. `<name>.<object>.<bytes>` for bytes
/// that are not an object, such as a part of a pack: the largest object that they lead to, and their final number.
/// The name thus tells every process what the bytes are for, and how complete they are.
package struct PartName: Sendable, Hashable, CustomStringConvertible {
    package let name: ObjectID
    /// The object to which the bytes lead if they are none, and their final number.
    package let leadsTo: (object: ObjectID, byteCount: Int64)?

    package init(_ name: ObjectID) {
        self.name = name
        leadsTo = nil
    }

    package init(_ name: ObjectID, byteCount: Int64, leadingTo object: ObjectID) {
        self.name = name
        leadsTo = byteCount > 0 ? (object, byteCount) : nil
    }

    /// - Returns: `nil` if it is the name of something else.
    package init?(_ fileName: String) {
        let words = fileName.split(separator: ".", omittingEmptySubsequences: false)
        guard words.count == 1 || words.count == 3, let name = ObjectID(String(words[0])) else {
            return nil
        }
        self.name = name
        guard words.count == 3 else {
            leadsTo = nil
            return
        }
        guard let object = ObjectID(String(words[1])), let byteCount = Int64(words[2]),
            byteCount > 0, words[2].utf8.elementsEqual(byteCount.description.utf8)
        else { return nil }
        leadsTo = (object, byteCount)
    }

    package var object: ObjectID { leadsTo?.object ?? name }

    package var description: String {
        leadsTo.map { "\(name).\($0.object).\($0.byteCount)" } ?? name.description
    }

    package static func == (left: PartName, right: PartName) -> Bool {
        left.name == right.name && left.leadsTo?.object == right.leadsTo?.object
            && left.leadsTo?.byteCount == right.leadsTo?.byteCount
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
