import HotPush
import Platform
import VersionTree

extension ClientContent {
    /// The facts of a file.
    /// - Throws: `.badPointer` if they do not know its object: they are another version's, or damaged.
    func facts(of entry: Manifest.Entry) throws(StoreError) -> ObjectFacts {
        guard let known = facts[entry.address] else {
            throw StoreError(
                .badPointer,
                "the facts of version \(manifest.version) do not know \(printable(entry.path.description)): "
                    + "publish the version again", object: entry.address)
        }
        return known
    }
}
