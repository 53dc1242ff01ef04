import Foundation
import SocketTestSupport

/// The blocking socket calls of the test servers.
enum OriginSocket {
    /// A listener on a port of the IPv4 loopback; nil if the port is taken.
    static func listen(_ port: UInt16) -> Int32? {
        let raw = TestSocket.make()
        guard raw >= 0 else { return nil }
        // Children of other tests must not keep the port.
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        set(raw, SOL_SOCKET, SO_REUSEADDR)
        let hasPort = TestSocket.bind(raw, to: port)
        #if canImport(Glibc)
            let isListening = hasPort && Glibc.listen(raw, 128) == 0
        #else
            let isListening = hasPort && Darwin.listen(raw, 128) == 0
        #endif
        guard isListening else {
            close(raw)
            return nil
        }
        return raw
    }

    /// Keeps a port of the IPv4 loopback from everybody else while nobody listens on it.
    static func hold(_ port: UInt16) -> Int32? {
        let raw = TestSocket.make()
        guard raw >= 0 else { return nil }
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        set(raw, SOL_SOCKET, SO_REUSEADDR)
        guard TestSocket.bind(raw, to: port) else {
            close(raw)
            return nil
        }
        return raw
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
        TestSocket.limitPatience(raw)
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

    static func close(_ raw: Int32) {
        #if canImport(Glibc)
            Glibc.close(raw)
        #else
            Darwin.close(raw)
        #endif
    }

    /// Ends what another thread waits for on the socket.
    static func wake(_ raw: Int32) { shutdown(raw, Int32(SHUT_RDWR)) }

    /// Sends all of it; `false` if the peer is gone.
    static func send(_ raw: Int32, _ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                #if canImport(Glibc)
                    Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                #else
                    Darwin.send(raw, $0.baseAddress, $0.count, 0)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// What comes next; empty at the end.
    static func receive(_ raw: Int32) -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(raw, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            return count > 0 ? Array(chunk[..<count]) : []
        }
    }

    /// Lets time pass; `false` as soon as the peer goes or says something.
    static func pause(_ raw: Int32, milliseconds: Int32) -> Bool {
        var look = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
        return poll(&look, 1, milliseconds) == 0
    }
}
