import CASStore
import ClientSystems
import Console
import HotPush
import S3
import Storage
import StoreCommands
import WebServer

// How an origin in a bucket is mirrored, by the command line.

extension Invocation {
    /// The mirror of an origin in a bucket, which is not contacted yet.
    /// - Parameters:
    ///   - cache: the directory for it.
    ///   - notice: receives reports about the bucket.
    /// - Throws: `usage`, `.credentials`, `.foreignCache`, `.busy`; the error that keeps libcurl from working.
    func mirror(
        of location: BucketLocation, at cache: String,
        notice: @escaping @Sendable (String) -> Void
    ) throws -> OriginMirror {
        try refuseOwnPlace(cache)
        var options = CachedStorage.Options()
        options.byteCount = try byteCount("cache-size") ?? options.byteCount
        options.notice = notice
        return try OriginMirror(
            try openBucket(location, tellsRetries: false), at: cache, options)
    }
}

extension OriginResponder {
    /// The answer to a request after everything it needs has come from the bucket, if the origin is there.
    /// - Parameter isWhole: whether the whole body is wanted, and not only what people read of it.
    /// - Throws: what fetching throws; as ``response(to:_:mayRead:)``.
    func suppliedResponse(
        to head: RequestHead, _ body: [UInt8], from mirror: OriginMirror?, isWhole: Bool
    ) throws(StoreError) -> PlannedResponse {
        if let lack = mirror.flatMap({ servedFile(head).flatMap($0.lack) }) {
            try mirror?.bring(lack)
        }
        let response = try response(to: head, body, mayRead: true)
        // What is in an archive is known before its files are here.
        if let source = response.source, isWhole || !source.isArchive {
            _ = try mirror?.bring(source.files)
        }
        return response
    }
}
