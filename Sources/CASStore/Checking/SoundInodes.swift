/// The inodes of the objects that a check has found sound, by address.
///
/// A file of a tree that is one of these inodes needs no look of its own: its bytes and mode are the
/// object's. Sixteen bytes an object: the first eight of the address stand for all of it. Two SHA-256
/// that somebody makes agree in those only make a check look closer, because the inodes differ.
package struct SoundInodes: Sendable {
    package struct Entry: Sendable {
        var prefix: UInt64
        var inode: UInt64
    }

    /// Of parts of the address space, ascending; each sorted.
    private var parts: [Part] = [Part()]

    private struct Part: Sendable {
        var begin: UInt64 = 0
        var objects: [Entry] = []
        var executableCopies: [Entry] = []
    }

    package init() {}

    /// Those of a part of the address space, from `begin` on.
    init(from begin: UInt64) { parts = [Part(begin: begin)] }

    mutating func append(_ address: ObjectID, inode: UInt64) {
        parts[parts.count - 1].objects.append(Entry(prefix: address.w0, inode: inode))
    }

    mutating func appendExecutableCopy(_ address: ObjectID, inode: UInt64) {
        parts[parts.count - 1].executableCopies.append(Entry(prefix: address.w0, inode: inode))
    }

    /// Whether an inode is that of a sound object.
    package func contains(_ address: ObjectID, executable: Bool, inode: UInt64) -> Bool {
        // The last part that does not begin after the address.
        let place = parts.firstPosition { $0.begin <= address.w0 }
        guard place > 0 else { return false }
        let entries = executable ? parts[place - 1].executableCopies : parts[place - 1].objects
        let low = entries.firstPosition { $0.prefix < address.w0 }
        return low < entries.count && entries[low].prefix == address.w0
            && entries[low].inode == inode
    }

    /// Joins what was found in parts of the address space, in any order.
    init(joining found: [SoundInodes]) {
        parts = found.flatMap(\.parts).sorted { $0.begin < $1.begin }
    }
}
