import CASStore
package import StrictJSON

// The form in which programs get a survey: `castree du --json`, and the page, which adds the map.
extension UsageSurvey {
    /// Writes the members of the document.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("store")
        writer.beginObject()
        store.writeMembers(to: &writer)
        writer.endObject()
        writer.key("versions")
        writer.beginArray()
        for version in versions {
            writer.beginObject()
            writer.text("version", version.version)
            writer.number("files", version.files)
            writer.number("apparentBytes", version.apparentBytes)
            writer.number("uniqueBytes", version.uniqueBytes)
            writer.number("sharedBytes", version.sharedBytes)
            writer.number("missingBytes", version.missingBytes)
            writer.number("createdAt", version.createdAt)
            writer.endObject()
        }
        writer.endArray()
        writeLargest(to: &writer)
        writeGrowth(to: &writer)
        writeSharing(to: &writer)
        writer.number("takenAt", takenAt)
        if let retirement { retirement.write(to: &writer) }
    }

    private func writeLargest(to writer: inout JSONWriter) {
        writer.key("largest")
        writer.beginArray()
        for entry in largest {
            writer.beginObject()
            writer.text("address", entry.object.address.description)
            writer.number("bytes", entry.object.byteCount)
            writer.number("references", entry.object.references)
            writer.key("paths")
            writer.beginArray()
            for path in entry.paths { writer.string(path) }
            writer.endArray()
            writer.key("pathsComplete")
            writer.bool(entry.arePathsComplete)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeGrowth(to writer: inout JSONWriter) {
        writer.key("growth")
        writer.beginArray()
        for point in growth {
            writer.beginObject()
            writer.text("version", point.version)
            writer.number("createdAt", point.createdAt)
            writer.number("newBytes", point.newBytes)
            writer.number("uniqueBytes", point.uniqueBytes)
            writer.number("apparentBytes", point.apparentBytes)
            writer.number("objectBytes", point.objectBytes)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeSharing(to writer: inout JSONWriter) {
        writer.key("sharing")
        writer.beginObject()
        writer.key("versions")
        writer.beginArray()
        for version in sharing.versions { writer.string(version) }
        writer.endArray()
        writer.number("omitted", sharing.omittedCount)
        writer.key("bytes")
        writer.beginArray()
        for row in sharing.versions.indices {
            writer.beginArray()
            for column in sharing.versions.indices { writer.integer(sharing[row, column]) }
            writer.endArray()
        }
        writer.endArray()
        writer.endObject()
    }
}

extension StoreUsage {
    /// Writes the figures of the store.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.number("objects", objects)
        writer.number("objectBytes", objectBytes)
        writer.number("diskBytes", diskBytes)
        writer.number("stagedBytes", stagedBytes)
        writer.number("unreferencedBytes", unreferencedBytes)
        writer.number("apparentBytes", apparentBytes)
        writer.key("ratio")
        writer.value(.number("\(ratio)"))
        writer.key("disk")
        writer.beginObject()
        let total = disk.total
        writer.number("files", total.files)
        writer.number("apparentBytes", total.apparentBytes)
        writer.number("diskBytes", total.diskBytes)
        writer.key("parts")
        writer.beginArray()
        for part in DiskUsage.Part.allCases {
            writer.beginObject()
            writer.text("part", part.rawValue)
            writer.number("files", disk[part].files)
            writer.number("apparentBytes", disk[part].apparentBytes)
            writer.number("diskBytes", disk[part].diskBytes)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}

extension Retirement {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.key("retire")
        writer.beginObject()
        writer.key("versions")
        writer.beginArray()
        for version in versions { writer.string(version) }
        writer.endArray()
        writer.number("objects", objects)
        writer.number("bytes", bytes)
        writer.number("separateBytes", separateBytes)
        writer.key("refused")
        writer.beginArray()
        for refusal in refused {
            writer.beginObject()
            writer.text("version", refusal.version)
            writer.text("reason", refusal.reason)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}

extension PathUsage {
    /// Writes one group as an object.
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.text("name", name)
        writer.number("files", files)
        writer.number("apparentBytes", apparentBytes)
        writer.number("uniqueBytes", uniqueBytes)
        writer.number("sharedBytes", sharedBytes)
        writer.number("missingBytes", missingBytes)
        writer.endObject()
    }
}

extension JSONWriter {
    mutating func text(_ key: String, _ value: String) {
        self.key(key)
        string(value)
    }

    mutating func number(_ key: String, _ value: some BinaryInteger) {
        self.key(key)
        integer(value)
    }
}
