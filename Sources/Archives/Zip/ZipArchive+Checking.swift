internal import Platform

extension ZipArchive {
    static func sorted(_ members: [ZipMember]) -> [ZipMember] {
        // Manifests have that order already.
        let isSorted = zip(members, members.dropFirst()).allSatisfy { first, second in
            first.path.utf8.lexicographicallyPrecedes(second.path.utf8)
        }
        return isSorted
            ? members
            : members.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }

    /// Refuses sorted members that make no archive for every client.
    static func check(_ members: [ZipMember]) throws(StoreError) {
        guard members.count <= ZipRecords.memberCountMax else {
            throw .noArchive(
                "it would have \(members.count) files, more than \(ZipRecords.memberCountMax)")
        }
        var previous: ZipMember?
        var directory: Substring?
        for member in members {
            if let problem = problem(with: member) {
                throw .noArchive("\"\(printable(member.path))\" \(problem)")
            }
            if let previous, previous.path.utf8.elementsEqual(member.path.utf8) {
                throw .noArchive("two files would be \"\(printable(member.path))\"")
            }
            previous = member
            // Neighbours mostly share their directory.
            let own = parent(of: member.path[...])
            if let own, directory.map({ $0.utf8.elementsEqual(own.utf8) }) == true { continue }
            directory = own
            var above = own
            while let path = above {
                if contains(path, members) {
                    throw .noArchive(
                        "\"\(printable(String(path)))\" would be a file and a directory")
                }
                above = parent(of: path)
            }
        }
    }

    private static func problem(with member: ZipMember) -> String? {
        if member.path.utf8.count > ZipRecords.nameByteCountMax {
            return "is a name of \(member.path.utf8.count) bytes, more than "
                + "\(ZipRecords.nameByteCountMax)"
        }
        // Readers treat these names differently.
        if member.path.utf8.contains(0) { return "contains NUL" }
        if member.path.utf8.contains(0x5C) { return "contains a backslash" }
        for component in member.path.utf8.split(separator: 0x2F, omittingEmptySubsequences: false) {
            if component.isEmpty || component.elementsEqual(".".utf8)
                || component.elementsEqual("..".utf8)
            {
                return "is no path below a directory"
            }
        }
        let sizes = [member.byteCount, member.storedByteCount]
        if let size = sizes.first(where: { $0 < 0 || $0 > ZipRecords.byteCountMax }) {
            return "has \(size) bytes, more than \(ZipRecords.byteCountMax)"
        }
        if case .bytes(let bytes) = member.content, Int64(bytes.count) != member.byteCount {
            return "has \(bytes.count) bytes instead of \(member.byteCount)"
        }
        return nil
    }

    /// By bytes: a combining mark at the start of a name would swallow the slash before it.
    private static func parent(of path: Substring) -> Substring? {
        path.utf8.lastIndex(of: 0x2F).map { Substring(path.utf8[..<$0]) }
    }

    private static func contains(_ path: Substring, _ members: [ZipMember]) -> Bool {
        let place = members.firstPosition { $0.path.utf8.lexicographicallyPrecedes(path.utf8) }
        return place < members.count && members[place].path.utf8.elementsEqual(path.utf8)
    }
}

extension StoreError {
    static func noArchive(_ problem: String) -> StoreError {
        StoreError(
            .unsupported, "no zip archive can be made that every client reads: \(problem)")
    }
}
