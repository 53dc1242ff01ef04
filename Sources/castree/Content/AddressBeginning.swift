import CASStore
import Console
import StoreCommands
import VersionTree

/// An abbreviated address, by git's rule: at least four digits that only one object's address begins with.
enum AddressBeginning {
    /// Fewer digits would soon be ambiguous.
    static let digitCountMin = 4
    private static let candidateCountMax = 8

    static func isOne(_ text: String) -> Bool {
        (digitCountMin..<ObjectID.byteCount * 2).contains(text.utf8.count)
            && text.utf8.allSatisfy { Hex.value(of: $0) != nil }
    }

    /// The address of the only object that begins so.
    /// - Throws: `notFound` if there is none, `ambiguousAddress` with the candidates if there are several.
    static func address(_ digits: String, in versions: VersionStore) throws -> ObjectID {
        let limit = candidateCountMax + 1
        let found = try versions.store.addresses(beginningWith: digits, limit: limit)
        guard let address = found.first else {
            throw CommandError(
                StoreError(.notFound, "there is no object \(digits)… in the store"), .notFound)
        }
        guard found.count > 1 else { return address }
        var names = found.prefix(candidateCountMax).map { candidate in
            // The refusal can do without the place.
            let place = try? place(of: candidate, versions)
            return candidate.shortDescription + (place ?? "")
        }
        if found.count > candidateCountMax { names.append("more") }
        throw CommandError(
            code: "ambiguousAddress",
            message: "several objects begin with \(digits): \(names.joined(separator: ", ")); "
                + "give more digits")
    }

    /// Where the newest version shows an object, in brackets; nothing if no version does.
    private static func place(of address: ObjectID, _ versions: VersionStore) throws -> String {
        for (row, _) in try versions.store.naming([address]) {
            let entry = try versions.manifest(of: row.name).entries.first { $0.address == address }
            if let entry { return " (\(row.name):\(entry.path))" }
        }
        return ""
    }
}
