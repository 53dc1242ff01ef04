package import CASStore
package import HotPush
package import S3
import Storage
internal import Synchronization

/// Carries the requests of a bucket with libcurl: each on the thread that asks.
///
/// Many threads may call at once. Each request has a handle of its own while it lasts; handles, and
/// with them open connections, wait for the next one. Proxies come from the environment, unless the
/// options name one.
package final class CurlBucketCarrier: BucketCarrier {
    private let options: TransportOptions
    private let free = Mutex<[CarryHandle]>([])

    /// Makes a carrier without connections.
    ///
    /// - Parameter options: how long connecting may take, the proxy, the certificates and the
    ///   program's name; the rest does not matter here.
    /// - Throws: `.transport` if libcurl cannot start or an option is bad.
    package init(_ options: TransportOptions = TransportOptions()) throws(StoreError) {
        try options.start()
        var options = options
        // A connection for each request at once: what HTTP/2 would share, no bucket needs.
        options.isHTTP2Allowed = false
        self.options = options
    }

    package func carry(
        _ request: CarriedRequest, onHead: (AnswerHead) -> Bool,
        onBytes: (UnsafeRawBufferPointer) -> Bool
    ) -> CarryEnd {
        let handle: CarryHandle
        do throws(StoreError) {
            let idle = free.withLock { $0.popLast() }
            if let idle { handle = idle } else { handle = try CarryHandle(options) }
        } catch { return .failed(CarryFailure(.useless, error.message)) }
        defer { free.withLock { $0.append(handle) } }
        return withoutActuallyEscaping(onHead) { onHead in
            withoutActuallyEscaping(onBytes) { onBytes in
                handle.carry(request, onHead, onBytes)
            }
        }
    }
}
