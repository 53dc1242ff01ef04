package import CASStore
package import HotPush
package import S3
import Storage
internal import Synchronization

/// Carries the requests of a bucket with libcurl, each on the calling thread.
///
/// Many threads may call at once. Each request has a handle while it lasts; handles and their open connections are
/// reused. Proxies come from the environment, unless the options name one.
package final class CurlBucketCarrier: BucketCarrier {
    private let options: TransportOptions
    private let free = Mutex<[CarryHandle]>([])

    /// Creates a carrier without connections.
    /// - Parameter options: only the connect timeout, the proxy, the certificates and the program's name matter.
    /// - Throws: `.transport` if libcurl cannot start or an option is bad.
    package init(_ options: TransportOptions = TransportOptions()) throws(StoreError) {
        try options.start()
        var options = options
        // Each concurrent request has a connection, so HTTP/2 has nothing to share.
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
