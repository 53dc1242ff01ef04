import CASStore
import Console
import CurlTransport
import HotPush
import VersionTree

/// Opens what `fsck --from` names: a web server, a bucket, or a directory.
///
/// - Throws: `.badOrigin`; the error that keeps libcurl from working.
@Sendable func originObjects(
    _ invocation: Invocation, _ origin: String
) throws -> (VersionStore) throws -> RepairSource {
    let location = try OriginReference(parsing: origin).location
    var transportOptions = TransportOptions()
    transportOptions.byteRateMax = try invocation.byteCount("limit-rate")
    transportOptions.userAgent = "castree/\(invocation.program.version)"
    let transport = try invocation.transport(to: location, transportOptions)
    return { versions in
        let bar = invocation.progress("Fetching")
        var options = PullOptions()
        options.progress = { bar.report($0.bytes, of: $0.bytesTotal) }
        return Pull(into: versions, over: transport, options)
            .repairSource(origin, at: location) { bar.finish() }
    }
}
