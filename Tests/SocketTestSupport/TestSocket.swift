import Foundation

/// The blocking sockets of tests; whoever gets one closes it.
public enum TestSocket {
    /// An answer of the system that is no socket.
    public struct Refusal: Error, CustomStringConvertible {
        /// What was refused, on what.
        public let description: String
        /// The error's number, as in errno(3).
        public let number: Int32
    }

    /// A stream socket of IPv4, connected to nothing.
    public static func make() -> Int32 { make(AF_INET) }

    private static func make(_ family: Int32) -> Int32 {
        #if canImport(Glibc)
            let raw = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let raw = socket(family, SOCK_STREAM, 0)
        #endif
        // Children of other tests must not keep it.
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        return raw
    }

    /// Closes a socket.
    package static func end(_ raw: Int32) { close(raw) }

    /// Sends what the other end takes; below 1 if it is gone.
    package static func give(_ bytes: UnsafeRawBufferPointer, to raw: Int32) -> Int {
        #if canImport(Glibc)
            send(raw, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #else
            send(raw, bytes.baseAddress, bytes.count, 0)
        #endif
    }

    /// A connection to a port of the IPv4 loopback, or of the other address.
    ///
    /// A read that waits longer than two minutes fails with `EAGAIN`: a server must never hang, but a machine with
    /// other work may be slow.
    public static func connected(to port: UInt16, isIPv6: Bool = false) throws -> Int32 {
        let raw = make(isIPv6 ? AF_INET6 : AF_INET)
        limitWaiting(raw)
        guard connect(raw, to: port, isIPv6: isIPv6) else {
            let number = errno
            close(raw)
            throw Refusal(description: "unable to connect to port \(port)", number: number)
        }
        return raw
    }

    /// Connects a socket of ``make()``; `false` and `errno` if that is refused.
    public static func connect(_ raw: Int32, to port: UInt16, isIPv6: Bool = false) -> Bool {
        withLoopback(port, isIPv6: isIPv6) { address, length in
            #if canImport(Glibc)
                Glibc.connect(raw, address, length) == 0
            #else
                Darwin.connect(raw, address, length) == 0
            #endif
        }
    }

    /// Takes a port of the IPv4 loopback for a socket, 0 for any; `false` and `errno` if that is refused.
    public static func bind(_ raw: Int32, to port: UInt16) -> Bool {
        withLoopback(port, isIPv6: false) { address, length in
            #if canImport(Glibc)
                Glibc.bind(raw, address, length) == 0
            #else
                Darwin.bind(raw, address, length) == 0
            #endif
        }
    }

    /// The port that a socket has, by getsockname(2); 0 if it has none.
    public static func port(of raw: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(raw, $0, &length) }
        }
        return result == 0 ? UInt16(bigEndian: address.sin_port) : 0
    }

    /// Leaves a socket in the file system, where nobody listens; the path has fewer than 100 bytes.
    public static func leave(at path: String) throws {
        let raw = make(AF_UNIX)
        defer { close(raw) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let isShort = withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard path.utf8.count < 100 else { return false }
            place.copyBytes(from: path.utf8)
            return true
        }
        guard isShort else {
            throw Refusal(
                description: "too long for the path of a socket: \(path)", number: ENAMETOOLONG)
        }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                #if canImport(Glibc)
                    Glibc.bind(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                #else
                    Darwin.bind(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                #endif
            }
        }
        guard result == 0 else {
            throw Refusal(description: "unable to make a socket at \(path)", number: errno)
        }
    }

    /// Lets reading and writing fail that wait longer than two minutes.
    public static func limitWaiting(_ raw: Int32) {
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(raw, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    }

    private static func withLoopback<Result>(
        _ port: UInt16, isIPv6: Bool, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var six = sockaddr_in6()
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = port.bigEndian
        six.sin6_addr = in6addr_loopback
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = port.bigEndian
        four.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        func rebound<Address>(_ address: inout Address) -> Result {
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
        return isIPv6 ? rebound(&six) : rebound(&four)
    }
}
