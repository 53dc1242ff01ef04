package import CASStore

/// A file that marks a directory as castree's own; no version may contain it.
package struct OwnMark: Sendable {
    package let start: [UInt8]
    private let what: String

    private static let all: [[UInt8]: OwnMark] = [
        Array(StoreLayout.format.utf8): OwnMark(start: Array("castree ".utf8), what: "a store"),
        Array(originName.utf8): OwnMark(
            start: Array(#"{"castreeOrigin":"#.utf8), what: "an origin"),
    ]
    fileprivate static let originName = "origin.json"

    private init(start: [UInt8], what: String) {
        self.start = start
        self.what = what
    }

    /// The mark that a file of this name may be; `nil` for any other name.
    package init?(of name: some Sequence<UInt8>) {
        guard let mark = Self.all[Array(name)] else { return nil }
        self = mark
    }

    func isMark(_ name: String, in directory: Int32, _ fileSystem: any FileSystem)
        throws(StoreError) -> Bool
    {
        guard try fileSystem.status(directory, name)?.kind == .regular else { return false }
        let file = try fileSystem.open(directory, name, .reading, mode: 0)
        guard try fileSystem.status(file.raw).byteCount >= start.count else { return false }
        return try fileSystem.read(file.raw, at: 0, count: start.count) == start
    }

    /// Why the directory is refused, as the end of a sentence.
    package var objection: String {
        "it is \(what) of castree's, which no version holds; move it elsewhere, or leave it out by --exclude"
    }
}

extension FileSystem {
    /// The kind of castree's own directory that this is or is inside ("a store", "an origin"); `nil` outside of both.
    package func ownPlace(around directory: Int32) throws(StoreError) -> String? {
        let mark = OwnMark(of: OwnMark.originName.utf8)
        var found: String?
        _ = try anyAncestor(of: directory) { (directory, _) throws(StoreError) in
            if try isStore(directory) {
                found = "a store"
            } else if try mark?.isMark(OwnMark.originName, in: directory, self) == true {
                found = "an origin"
            }
            return found != nil
        }
        return found
    }
}
