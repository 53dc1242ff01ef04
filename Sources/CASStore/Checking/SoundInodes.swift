/// The inodes of the objects that a check has found sound, by address.
///
/// A file of a tree that is one of these inodes needs no look of its own: its bytes and mode are the
/// object's. Sixteen bytes an object: the first eight of the address stand for all of it, and whoever
/// could make two SHA-256 agree in those would only make a check look closer, since the inodes differ.
package struct SoundInodes: Sendable {
    package struct Entry: Sendable {
        var prefix: UInt64
        var inode: UInt64
    }

    var objects: [Entry] = []
    var twins: [Entry] = []

    /// Whether an inode is that of a sound object.
    package func contains(_ address: ObjectID, executable: Bool, inode: UInt64) -> Bool {
        let entries = executable ? twins : objects
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].prefix < address.w0 { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].prefix == address.w0
            && entries[low].inode == inode
    }

    package init() {}

    /// Joins what chunks of the address space have found, each sorted, by their place.
    init(sorted chunks: [Int: SoundInodes]) {
        for place in chunks.keys.sorted() {
            guard let chunk = chunks[place] else { continue }
            objects += chunk.objects
            twins += chunk.twins
        }
    }
}
