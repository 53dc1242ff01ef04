package import Platform

/// A zip archive as a list of pieces, of known length, any range of which can be sent without storing it.
///
/// The same members always give the same bytes, on every machine.
package struct ZipArchive: Sendable, Hashable {
    /// By their paths' UTF-8 bytes.
    package let members: [ZipMember]
    /// Where each member's local header and content, each central header and the end record begin; last, the length.
    private let starts: [Int64]

    package enum Piece: Sendable, Hashable {
        case bytes([UInt8])
        /// A range of an object; `size` is the whole object's.
        case object(ObjectID, range: Range<Int64>, size: Int64)
        /// A range of a deflated copy; `size` is the whole copy's.
        case deflatedCopy(ObjectID, range: Range<Int64>, size: Int64)
    }

    /// - Parameter members: the files, in any order; may be empty.
    /// - Throws: `.unsupported` for what does not fit an archive that every client reads: more than 65,535 members,
    ///   more than 4 GiB − 1 bytes in one of them or in all; two members of one path, or one below another; a name
    ///   that could lead elsewhere. The message names the member.
    package init(_ members: [ZipMember]) throws(StoreError) {
        let members = Self.sorted(members)
        try Self.check(members)
        var starts: [Int64] = []
        starts.reserveCapacity(2 * members.count + 2)
        var position: Int64 = 0
        for member in members {
            starts.append(position)
            position +=
                ZipRecords.localByteCount + Int64(member.path.utf8.count) + member.storedByteCount
        }
        for member in members {
            starts.append(position)
            position += ZipRecords.centralByteCount + Int64(member.path.utf8.count)
        }
        starts.append(position)
        starts.append(position + ZipRecords.endByteCount)
        guard starts[starts.count - 1] <= ZipRecords.byteCountMax else {
            throw .noArchive(
                "it would have \(starts[starts.count - 1]) bytes, more than \(ZipRecords.byteCountMax)"
            )
        }
        self.members = members
        self.starts = starts
    }

    package var byteCount: Int64 { starts[starts.count - 1] }

    /// A tag of 64 hexadecimal digits that two archives share only if they have the same bytes.
    ///
    /// Takes time proportional to the number of members.
    /// - Throws: what a digest throws.
    package func entityTag() throws(StoreError) -> String {
        var digester = try Digester(.sha256)
        func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { digester.update($0) } }
        // The central headers say everything except the contents.
        for (position, member) in members.enumerated() {
            add(ZipRecords.central(member, offset: starts[position]))
            switch member.content {
            case .bytes(let bytes): add(try Digester.digest(.sha256, of: bytes))
            case .object(let address): add(address.bytes)
            case .deflatedCopy(let address, _): add(address.bytes)
            }
        }
        return digester.finish { Hex.string(Array($0)) }
    }

    /// The pieces of a range of the archive, in order.
    ///
    /// Takes time proportional to the answer, not to the archive; ask for a large one in steps of a mebibyte.
    /// - Parameter range: offsets of bytes; what is beyond the archive's end is left out.
    package func pieces(in range: Range<Int64>) -> [Piece] {
        var cut = ZipCut(range.clamped(to: 0..<byteCount))
        guard !cut.range.isEmpty else { return [] }
        // The last that begins at or before it; none is empty.
        var section = starts.firstPosition { $0 <= cut.range.lowerBound } - 1
        while section < starts.count - 1, starts[section] < cut.range.upperBound {
            add(section, to: &cut)
            section += 1
        }
        return cut.finish()
    }

    private func add(_ section: Int, to cut: inout ZipCut) {
        let count = members.count
        let start = starts[section]
        guard section < count else {
            let isEnd = section == 2 * count
            return cut.add(
                isEnd
                    ? ZipRecords.end(memberCount: count, directory: starts[count]..<start)
                    : ZipRecords.central(
                        members[section - count], offset: starts[section - count]),
                at: start)
        }
        let member = members[section]
        let content = start + ZipRecords.localByteCount + Int64(member.path.utf8.count)
        if content > cut.range.lowerBound { cut.add(ZipRecords.local(member), at: start) }
        switch member.content {
        case .bytes(let bytes): cut.add(bytes, at: content)
        case .object(let address):
            guard let part = cut.part(of: member.byteCount, at: content) else { return }
            cut.add(.object(address, range: part, size: member.byteCount))
        case .deflatedCopy(let address, let size):
            guard let part = cut.part(of: size, at: content) else { return }
            cut.add(.deflatedCopy(address, range: part, size: size))
        }
    }
}
