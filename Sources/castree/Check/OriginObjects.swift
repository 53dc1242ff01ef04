import CASStore
import Console
import HotPush
import StoreCommands
import VersionTree

extension Invocation {
    func repairTransport(to location: OriginLocation) throws -> any Transport {
        var options = try connectionOptions()
        options.byteRateMax = try byteCount("limit-rate")
        return try transport(to: location, options)
    }
}

/// Opens the argument of `fsck --from`: a web server, a bucket, or a directory.
/// - Throws: `.badOrigin`; the error that keeps libcurl from working. What is returned throws `.noOrigin`.
@Sendable func originObjects(
    _ invocation: Invocation, _ origin: String
) throws -> (VersionStore) throws -> RepairSource {
    let location = try invocation.origin(origin).location
    try invocation.refuseBucketAccess(to: location)
    let transport = try invocation.repairTransport(to: location)
    let retries = try invocation.retryPolicy()
    return { versions in
        let bar = invocation.progress("Fetching")
        var options = PullOptions()
        options.retries = retries
        options.progress = { bar.report($0.bytes, of: $0.bytesTotal) }
        return try OriginRepair(into: versions, over: transport, options)
            .source(origin, at: location) { bar.finish() }
    }
}
