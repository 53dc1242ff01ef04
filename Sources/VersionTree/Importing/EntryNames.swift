import CASStore

/// The names of a directory's entries, and what each says that it is: in two arrays, as there may be a million.
struct EntryNames {
    private var bytes: [UInt8] = []
    private var entries: [(end: Int, kind: FileStatus.Kind)] = []
    /// Whether one of them is a `.castreeignore`.
    private(set) var holdIgnoreFile = false

    var count: Int { entries.count }

    mutating func append(_ name: UnsafePointer<CChar>, _ kind: FileStatus.Kind) {
        withBytes(of: name) {
            bytes += $0
            if $0.elementsEqual(UnwantedName.nameOfIgnoreFile) { holdIgnoreFile = true }
        }
        entries.append((bytes.count, kind))
    }

    subscript(position: Int) -> (name: [UInt8], kind: FileStatus.Kind) {
        let start = position == 0 ? 0 : entries[position - 1].end
        return (Array(bytes[start..<entries[position].end]), entries[position].kind)
    }
}
