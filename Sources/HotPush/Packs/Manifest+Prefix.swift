import CASStore
import StrictJSON
import VersionTree

extension Manifest {
    /// What a manifest is encoded against: the entries of the content from which a pack leads, as
    /// `{"entries":[{"address":"…","bytes":1,"executable":true,"path":"…"}]}`.
    ///
    /// Any manifest of that content gives these bytes, whoever made it and under whatever name.
    func prefix() -> [UInt8] {
        JSONWriter.document { writer in
            writer.member("entries", entries) { writer, entry in
                writer.member("address", entry.address.description)
                writer.member("bytes", entry.byteCount)
                if entry.isExecutable { writer.member("executable", true) }
                writer.member("path", entry.path.description)
            }
        }
    }
}
