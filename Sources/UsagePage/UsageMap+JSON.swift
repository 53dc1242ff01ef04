import StrictJSON
import VersionTree

extension UsageMap {
    /// Writes the map in columns: a hundred thousand files in some three megabytes.
    func write(to writer: inout JSONWriter) {
        writer.member("map") { writer in
            writer.member("versions", versions)
            writer.member("omittedVersions", omittedVersionCount)
            // The root exists even if it is empty.
            writer.member("names", nodes.isEmpty ? [""] : nodes.map(\.name))
            writer.column("children", nodes.isEmpty ? [0] : nodes.map(\.childCount))
            writer.column("bytes", leaves.map(\.byteCount))
            writer.column("references", leaves.map(\.references))
            writer.column("sets", leaves.map(\.versionSet))
            writer.column("objects", leaves.map(\.object))
            writer.key("versionSets")
            writer.array(versionSets) { writer, set in
                writer.integers(set.flatMap { [$0.lowerBound, $0.upperBound] })
            }
            // Pairs of leaf and bytes for the leaves whose disk usage is not their size in whole units, as for most.
            writer.member("unit", unit)
            writer.key("disk")
            writer.array(leaves.enumerated().filter { $1.diskByteCount != rounded($1) }) {
                (writer, leaf) in
                writer.integers([Int64(leaf.offset), leaf.element.diskByteCount])
            }
            writer.key("twins")
            writer.array(leaves.enumerated().filter { $1.copyByteCount != 0 }) { writer, leaf in
                writer.integers([Int64(leaf.offset), leaf.element.copyByteCount])
            }
            // Few leaves stand for several files: pairs of leaf and count.
            writer.key("folded")
            writer.array(leaves.enumerated().filter { $1.files > 1 }) { writer, folded in
                writer.integers([folded.offset, folded.element.files])
            }
        }
    }
}

extension UsageMap {
    /// A leaf's size in whole units; the largest number for impossible sizes.
    private func rounded(_ leaf: Leaf) -> Int64 {
        let units = leaf.byteCount / unit + (leaf.byteCount % unit > 0 ? 1 : 0)
        let (product, isTooLarge) = units.multipliedReportingOverflow(by: unit)
        return isTooLarge ? .max : product
    }
}

extension JSONWriter {
    fileprivate mutating func column(_ key: String, _ values: [some BinaryInteger]) {
        self.key(key)
        integers(values)
    }

    fileprivate mutating func integers(_ values: [some BinaryInteger]) {
        array(values) { writer, value in writer.integer(value) }
    }
}

extension UsageSurvey {
    func writeLifecycle(to writer: inout JSONWriter) {
        writer.member("path", path)
        writer.member("lifecycle") { writer in
            writer.member("current", lifecycle.current)
            writer.member("pending", lifecycle.pending)
            writer.member("embedded", lifecycle.embedded)
            writer.member("knownGood", lifecycle.knownGood)
            writer.member("usableGood", usableGood)
            writer.member("bad", banned)
            writer.member("kept", kept) { writer, refusal in
                writer.member("version", refusal.version)
                writer.member("reason", refusal.reason)
            }
        }
    }
}
