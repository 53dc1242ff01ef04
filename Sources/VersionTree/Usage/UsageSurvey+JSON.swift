import CASStore
package import StrictJSON

// The JSON form of a survey: `castree du --json`, and the page, which adds the map.
extension UsageSurvey {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("store") { writer in
            store.writeMembers(to: &writer)
            if let plainDiskBytes { writer.member("plainDiskBytes", plainDiskBytes) }
        }
        writer.member("versions", versions) { writer, version in
            writer.member("version", version.version)
            writer.member("files", version.files)
            writer.member("apparentBytes", version.apparentBytes)
            writer.member("uniqueBytes", version.uniqueBytes)
            writer.member("sharedBytes", version.sharedBytes)
            writer.member("missingBytes", version.missingBytes)
            writer.member("createdAt", version.createdAt)
            version.disk?.writeMembers(to: &writer)
        }
        writer.member("largest", largest) { writer, entry in
            writer.member("address", entry.object.address.description)
            writer.member("bytes", entry.object.byteCount)
            writer.member("diskBytes", entry.object.diskBytes)
            writer.member("references", entry.object.references)
            writer.member("paths", entry.paths)
            writer.member("pathsComplete", entry.arePathsComplete)
        }
        writer.member("growth", growth) { writer, point in
            writer.member("version", point.version)
            writer.member("createdAt", point.createdAt)
            writer.member("newBytes", point.newBytes)
            writer.member("uniqueBytes", point.uniqueBytes)
            writer.member("apparentBytes", point.apparentBytes)
            writer.member("objectBytes", point.objectBytes)
            writer.member("newDiskBytes", point.newDiskBytes)
            writer.member("diskBytes", point.diskBytes)
            writer.member("uniqueDiskBytes", point.uniqueDiskBytes)
            writer.member("plainDiskBytes", point.plainDiskBytes)
        }
        writer.member("sharing") { sharing.writeMembers(to: &$0) }
        writer.member("takenAt", takenAt)
        if let retirement { writer.member("retire") { retirement.writeMembers(to: &$0) } }
    }
}

extension SharingMatrix {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("versions", versions)
        writer.member("omitted", omittedCount)
        writer.key("bytes")
        writer.array(versions.indices) { writer, row in
            writer.array(versions.indices) { writer, column in writer.integer(self[row, column]) }
        }
    }
}

extension StoreUsage {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("objects", objects)
        writer.member("objectBytes", objectBytes)
        writer.member("diskBytes", diskBytes)
        writer.member("stagedBytes", stagedBytes)
        writer.member("unreferencedBytes", unreferencedBytes)
        if let unreferencedDiskBytes {
            writer.member("unreferencedDiskBytes", unreferencedDiskBytes)
        }
        writer.member("apparentBytes", apparentBytes)
        writer.key("ratio")
        writer.value(.number("\(ratio)"))
        writer.member("disk") { writer in
            disk.total.writeMembers(to: &writer)
            writer.member("parts", DiskUsage.Part.allCases) { writer, part in
                writer.member("part", part.rawValue)
                disk[part].writeMembers(to: &writer)
            }
        }
    }
}

extension DiskUsage.Figures {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("files", files)
        writer.member("apparentBytes", apparentBytes)
        writer.member("diskBytes", diskBytes)
    }
}

extension DiskShare {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("plainDiskBytes", plainBytes)
        writer.member("uniqueDiskBytes", uniqueBytes)
        writer.member("sharedDiskBytes", sharedBytes)
        writer.member("directoryDiskBytes", directoryBytes)
        writer.member("plainIsEstimated", isEstimated)
    }
}

extension Retirement {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("versions", versions)
        writer.member("objects", objects)
        writer.member("bytes", bytes)
        writer.member("separateBytes", separateBytes)
        writer.member("diskBytes", diskBytes)
        writer.member("separateDiskBytes", separateDiskBytes)
        writer.member("refused", refused) { $1.writeMembers(to: &$0) }
    }
}

extension RetentionPlan.Verdict {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.member("reason", reason)
    }
}

extension PathUsage {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", name)
            writer.member("files", files)
            writer.member("apparentBytes", apparentBytes)
            writer.member("uniqueBytes", uniqueBytes)
            writer.member("sharedBytes", sharedBytes)
            writer.member("missingBytes", missingBytes)
        }
    }
}
