import Foundation
import SocketTestSupport

/// The blocking socket calls of the test servers.
enum OriginSocket {
    /// A listener on a port of the IPv4 loopback; nil if the port is taken.
    static func listen(_ port: UInt16) -> Int32? {
        guard let raw = hold(port) else { return nil }
        #if canImport(Glibc)
            let isListening = Glibc.listen(raw, 128) == 0
        #else
            let isListening = Darwin.listen(raw, 128) == 0
        #endif
        if isListening { return raw }
        close(raw)
        return nil
    }

    /// Keeps a port of the IPv4 loopback from everybody else while nobody listens on it.
    static func hold(_ port: UInt16) -> Int32? {
        let raw = TestSocket.make()
        guard raw >= 0 else { return nil }
        set(raw, SOL_SOCKET, SO_REUSEADDR)
        if TestSocket.bind(raw, to: port) { return raw }
        close(raw)
        return nil
    }

    /// Whether somebody accepts connections on a port of the IPv4 loopback.
    static func isListening(_ port: UInt16) -> Bool {
        let raw = TestSocket.make()
        guard raw >= 0 else { return false }
        defer { close(raw) }
        return TestSocket.connect(raw, to: port)
    }

    static func accept(_ listener: Int32) -> Int32 {
        #if canImport(Glibc)
            let raw = Glibc.accept(listener, nil, nil)
        #else
            let raw = Darwin.accept(listener, nil, nil)
        #endif
        guard raw >= 0 else { return raw }
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        set(raw, Int32(IPPROTO_TCP), TCP_NODELAY)
        #if canImport(Darwin)
            set(raw, SOL_SOCKET, SO_NOSIGPIPE)
        #endif
        return raw
    }

    private static func set(_ raw: Int32, _ level: Int32, _ option: Int32) {
        var on: Int32 = 1
        setsockopt(raw, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The next close breaks the connection off.
    static func abort(_ raw: Int32) {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(raw, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    static func close(_ raw: Int32) { TestSocket.end(raw) }

    /// Ends what another thread waits for on the socket.
    static func wake(_ raw: Int32) { shutdown(raw, Int32(SHUT_RDWR)) }
}
