import Foundation

/// Runs work that blocks on a thread of its own, like the main thread of a program.
///
/// A blocked thread of the pool that runs tests could be the last one that the other side needs.
func onOwnThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let start = Unmanaged.passRetained(
            Work { continuation.resume(with: Result(catching: work)) })
        #if canImport(Darwin)
            var thread: pthread_t?
            defer { if let thread { pthread_detach(thread) } }
        #else
            var thread = pthread_t()
            defer { pthread_detach(thread) }
        #endif
        let status = pthread_create(&thread, nil, entry, start.toOpaque())
        precondition(status == 0, "no thread")
    }
}

private final class Work: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

#if canImport(Darwin)
    private func entry(_ start: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<Work>.fromOpaque(start).takeRetainedValue().run()
        return nil
    }
#else
    private func entry(_ start: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let start else { return nil }
        Unmanaged<Work>.fromOpaque(start).takeRetainedValue().run()
        return nil
    }
#endif
