/// The seen inodes of one device with their disk usage: a million in 32 megabytes.
///
/// Open addressing with linear probing. No attacker chooses inodes, so one multiplication spreads them well enough.
final class InodeTable {
    private struct Place {
        /// 0 is an empty place; no file has it as its inode.
        var inode: UInt64 = 0
        var diskBytes: Int64 = 0
    }

    private var places = [Place](repeating: Place(), count: 1024)
    private(set) var count = 0

    private func place(of inode: UInt64, in places: [Place]) -> Int {
        let mask = places.count - 1
        var place = Int(truncatingIfNeeded: (inode &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
        while places[place].inode != 0, places[place].inode != inode { place = (place + 1) & mask }
        return place
    }

    func diskBytes(of inode: UInt64) -> Int64? {
        guard inode != 0 else { return nil }
        let found = places[place(of: inode, in: places)]
        return found.inode == inode ? found.diskBytes : nil
    }

    /// Returns `false` if the inode was there.
    func insert(_ inode: UInt64, diskBytes: Int64) -> Bool {
        guard inode != 0 else { return true }
        let found = place(of: inode, in: places)
        guard places[found].inode == 0 else { return false }
        places[found] = Place(inode: inode, diskBytes: diskBytes)
        count += 1
        if count * 2 > places.count { grow() }
        return true
    }

    private func grow() {
        var larger = [Place](repeating: Place(), count: places.count * 2)
        for each in places where each.inode != 0 {
            larger[place(of: each.inode, in: larger)] = each
        }
        places = larger
    }
}
