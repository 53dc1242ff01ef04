// Names that need not be text: another program's file may have any name.

extension FileSystem {
    /// Opens a path below a directory, given as names that each end in 0, through no symbolic link.
    package func openBeneath(
        _ directory: Int32, names: [[CChar]], _ access: Access
    ) throws(StoreError) -> Descriptor {
        var current = try open(directory, ".", .directory, mode: 0)
        for name in names.dropLast() { current = try open(current.raw, name, .directory, mode: 0) }
        guard let last = names.last else { return current }
        return try open(current.raw, last, access, mode: 0)
    }

    package func rawNames(in directory: Int32) throws(StoreError) -> [[CChar]] {
        var names: [[CChar]] = []
        try list(directory) { (entry, _) throws(StoreError) in
            names.append(RawName.bytes(of: entry))
            return true
        }
        return names
    }
}

/// Names as the disk has them: bytes that end in 0 and need not be text.
package enum RawName {
    package static func bytes(of name: UnsafePointer<CChar>) -> [CChar] {
        var count = 0
        while name[count] != 0 { count += 1 }
        return Array(UnsafeBufferPointer(start: name, count: count + 1))
    }

    /// A name that ends in 0, as text; bytes that are not text are replaced.
    package static func text(of name: [CChar]) -> String {
        String(decoding: name.prefix { $0 != 0 }.lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether a name is text, and so survives a conversion to text and back.
    package static func isText(_ name: UnsafePointer<CChar>) -> Bool {
        var count = 0
        var isASCII = true
        while name[count] != 0 {
            if UInt8(bitPattern: name[count]) >= 0x80 { isASCII = false }
            count += 1
        }
        return isASCII || String(validatingCString: name) != nil
    }
}
