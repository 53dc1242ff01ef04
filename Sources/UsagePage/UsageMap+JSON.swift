import StrictJSON
import VersionTree

extension UsageMap {
    /// Writes the map in columns: a hundred thousand files in some three megabytes.
    func write(to writer: inout JSONWriter) {
        writer.key("map")
        writer.beginObject()
        writer.key("versions")
        writer.beginArray()
        for version in versions { writer.string(version) }
        writer.endArray()
        writer.key("omittedVersions")
        writer.integer(omittedVersionCount)
        writer.key("names")
        writer.beginArray()
        for node in nodes { writer.string(node.name) }
        // The root is there though nothing is in it.
        if nodes.isEmpty { writer.string("") }
        writer.endArray()
        column("children", nodes.isEmpty ? [0] : nodes.map(\.childCount), to: &writer)
        column("bytes", leaves.map(\.byteCount), to: &writer)
        column("references", leaves.map(\.references), to: &writer)
        column("sets", leaves.map(\.versionSet), to: &writer)
        column("objects", leaves.map(\.object), to: &writer)
        writer.key("versionSets")
        writer.beginArray()
        for set in versionSets {
            writer.beginArray()
            for run in set {
                writer.integer(run.lowerBound)
                writer.integer(run.upperBound)
            }
            writer.endArray()
        }
        writer.endArray()
        // Few leaves stand for several files: pairs of leaf and count.
        writer.key("folded")
        writer.beginArray()
        for (place, leaf) in leaves.enumerated() where leaf.files > 1 {
            writer.beginArray()
            writer.integer(place)
            writer.integer(leaf.files)
            writer.endArray()
        }
        writer.endArray()
        writer.endObject()
    }

    private func column(
        _ key: String, _ values: [some BinaryInteger], to writer: inout JSONWriter
    ) {
        writer.key(key)
        writer.beginArray()
        for value in values { writer.integer(value) }
        writer.endArray()
    }
}

extension UsageSurvey {
    /// Writes which version is what.
    func writeLifecycle(to writer: inout JSONWriter) {
        writer.key("path")
        writer.string(path)
        writer.key("lifecycle")
        writer.beginObject()
        for (key, version) in [
            ("current", lifecycle.current), ("pending", lifecycle.pending),
            ("embedded", lifecycle.embedded),
        ] {
            writer.key(key)
            if let version { writer.string(version) } else { writer.null() }
        }
        for (key, versions) in [
            ("knownGood", lifecycle.knownGood), ("usableGood", usableGood), ("bad", banned),
        ] {
            writer.key(key)
            writer.beginArray()
            for version in versions { writer.string(version) }
            writer.endArray()
        }
        writer.key("kept")
        writer.beginArray()
        for refusal in kept {
            writer.beginObject()
            writer.key("version")
            writer.string(refusal.version)
            writer.key("reason")
            writer.string(refusal.reason)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}
