package import Archives
package import HotPush
package import Platform
package import VersionTree

extension ClientContent {
    /// The files as members of an archive, each from its twin if there is one.
    ///
    /// - Parameters:
    ///   - prefix: the folder that they are below, without a slash at its end; empty for none.
    ///   - leavingOut: whether a file is none of the archive's.
    /// - Throws: `.damagedOrigin` if the facts do not know an object: they are another version's, or damaged.
    package func members(
        below prefix: String, leavingOut isLeftOut: (Manifest.Entry) -> Bool = { _ in false }
    ) throws(StoreError) -> [ZipMember] {
        let folder = prefix.isEmpty ? "" : prefix + "/"
        var members: [ZipMember] = []
        members.reserveCapacity(manifest.count)
        for entry in manifest.entries where !isLeftOut(entry) {
            let known = try facts(of: entry)
            // An origin may be without the empty object: there is nothing to fetch.
            let content: ZipMember.Content =
                if entry.byteCount == 0 { .bytes([]) } else if let twin = known.twin {
                    .twin(twin.address, byteCount: twin.byteCount)
                } else { .object(entry.address) }
            members.append(
                ZipMember(
                    path: folder + entry.path.description, isExecutable: entry.isExecutable,
                    byteCount: entry.byteCount, crc32: known.crc32, content: content))
        }
        return members
    }

    /// The facts of a file.
    /// - Throws: `.damagedOrigin` if they are not known.
    package func facts(of entry: Manifest.Entry) throws(StoreError) -> ObjectFacts {
        guard let known = facts[entry.address], known.byteCount == entry.byteCount else {
            throw StoreError(
                .damagedOrigin,
                "the facts of version \(manifest.version) do not know \(printable(entry.path.description)); publish it "
                    + "again", object: entry.address)
        }
        return known
    }
}
