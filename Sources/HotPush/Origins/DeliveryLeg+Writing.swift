import CASStore
package import StrictJSON

// How legs are shown: by `castree channels` and `castree du ORIGIN`.

extension DeliveryLeg {
    /// Writes the members of its object.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("from", base?.description)
        writer.member("fromVersion", version)
        writer.member("packBytes", packByteCount)
        writer.member("bytes", byteCount)
        writer.member("requests", requestCount)
        writer.member("rawBytes", rawByteCount)
        writer.member("rawRequests", rawRequestCount)
    }

    /// What it costs a device, in words.
    /// - Parameters:
    ///   - release: the version to which it leads.
    ///   - size: writes a number of bytes.
    package func sentence(to release: String, size: (Int64) -> String) -> String {
        let start =
            switch (base, version) {
            case (nil, _): "from nothing"
            case (_, let version?): "from \(version)\(channel.map { " of channel \($0)" } ?? "")"
            case (let base?, nil):
                "from a content that no channel here lists (\(base.shortDescription))"
            }
        return "\(release) \(start): \(size(byteCount)) in \(requestCount) requests; "
            + "raw \(size(rawByteCount)) in \(rawRequestCount)"
    }
}
