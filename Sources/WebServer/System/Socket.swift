import CSystem
package import Platform

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The system calls for sockets, one verb each; EINTR is retried.
enum Socket {
    enum Transfer {
        case bytes(Int)
        case blocked
        /// 0 bytes: the peer has closed, or the file has ended.
        case end
        case failed(Int32)
    }

    @inline(__always)
    private static func transfer(_ call: () -> Int) -> Transfer {
        while true {
            let count = call()
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            let number = errno
            if number == EINTR { continue }
            return number == EAGAIN || number == EWOULDBLOCK ? .blocked : .failed(number)
        }
    }

    @inline(__always)
    static func receive(_ socket: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        transfer { castree_receive(socket, buffer.baseAddress, buffer.count) }
    }

    @inline(__always)
    static func send(
        _ socket: Int32, _ bytes: UnsafeRawBufferPointer, more: Bool
    ) -> Transfer {
        transfer { castree_send(socket, bytes.baseAddress, bytes.count, more ? 1 : 0) }
    }

    static func send(
        _ socket: Int32, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) -> Transfer {
        transfer {
            castree_send_two(
                socket, first.baseAddress, first.count, second.baseAddress, second.count, 0)
        }
    }

    static func sendFile(
        _ socket: Int32, _ file: Int32, at offset: Int64, count: Int
    ) -> Transfer {
        transfer { castree_sendfile(socket, file, offset, count) }
    }

    /// Reads a range of a file; `false` if not all of it can be read.
    static func readFile(
        _ file: Int32, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) -> Bool {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            switch transfer({
                pread(file, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            })
            {
            case .bytes(let count): done += count
            case .end, .blocked, .failed: return false
            }
        }
        return true
    }

    /// The errno of a peer that breaks the rules of TLS.
    static var protocolFailure: Int32 { EPROTO }

    /// Accepts a connection, ready for use; `nil` if none is waiting.
    static func accept(_ listener: Int32) -> Result<Int32, SystemFailure>? {
        while true {
            let raw = castree_accept(listener)
            if raw >= 0 {
                // Fails only on a connection that has already ended.
                _ = castree_no_delay(raw)
                return .success(raw)
            }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return nil
            case EMFILE, ENFILE: return .failure(SystemFailure(isOutOfFiles: true))
            default: return .failure(SystemFailure())
            }
        }
    }

    static func listen(_ address: SocketAddress) throws(StoreError) -> Int32 {
        let raw = address.address.withUnsafeBufferPointer {
            castree_listen(address.is6 ? 1 : 0, $0.baseAddress, address.port, 1024)
        }
        if raw >= 0 {
            // Fails only where the system does not have it; then the system's own choice has to do.
            if address.isLoopback { _ = castree_unpaced(raw) }
            return raw
        }
        let number = errno
        if number == EADDRINUSE {
            throw StoreError(
                .portInUse,
                "port \(address.port) is in use by \(portHolder(address.port)); stop it, or choose another port",
                cause: .systemCall("bind", errno: number, path: address.description))
        }
        throw StoreError(systemCall: "listen on", errno: number, path: address.description)
    }

    private static func portHolder(_ port: UInt16) -> String {
        LockHolder.listening(on: port)?.description ?? "another program"
    }

    /// Whether the system has no such address family (no IPv6 here).
    static func isFamilyMissing(_ error: StoreError) -> Bool {
        error.errno == EAFNOSUPPORT || error.errno == EADDRNOTAVAIL
    }

    static func connect(_ address: SocketAddress) throws(StoreError) -> Int32 {
        let raw = address.address.withUnsafeBufferPointer {
            castree_connect(address.is6 ? 1 : 0, $0.baseAddress, address.port)
        }
        guard raw >= 0 else {
            throw StoreError(systemCall: "connect to", errno: errno, path: address.description)
        }
        _ = castree_no_delay(raw)
        return raw
    }

    /// How a connection attempt ended: 0 or an errno.
    static func connectResult(_ socket: Int32) -> Int32 { castree_connect_result(socket) }

    static func port(of listener: Int32) -> UInt16 {
        UInt16(truncatingIfNeeded: max(0, castree_local_port(listener)))
    }

    /// The address of the other end; `nil` if the connection has ended.
    static func peer(of socket: Int32) -> SocketAddress? {
        var port: UInt16 = 0
        let address = [UInt8](unsafeUninitializedCapacity: 16) { bytes, count in
            count = max(0, Int(castree_peer(socket, bytes.baseAddress, &port)))
        }
        return address.isEmpty ? nil : SocketAddress(address: address, port: port)
    }

    /// Bytes given to the system that the peer has not acknowledged; 0 if the system cannot tell.
    static func unacknowledgedByteCount(_ socket: Int32) -> Int {
        max(0, Int(castree_unacknowledged(socket)))
    }

    static func hasUnread(_ socket: Int32) -> Bool { castree_has_unread(socket) != 0 }

    /// Makes `close` reset the connection; if this fails, the connection is already broken.
    static func resetOnClose(_ socket: Int32) { _ = castree_reset_on_close(socket) }

    /// Announces that nothing more will be sent; if this fails, the connection is already broken.
    static func finishSending(_ socket: Int32) { _ = shutdown(socket, Int32(SHUT_WR)) }

    /// Turns SIGPIPE off for this thread: a peer that leaves must not end the process.
    static func blockBrokenPipeSignal() { castree_block_sigpipe() }

    static func close(_ socket: Int32) {
        #if canImport(Glibc)
            _ = Glibc.close(socket)
        #else
            _ = Darwin.close(socket)
        #endif
    }
}

struct SystemFailure: Error {
    var isOutOfFiles = false
}

extension StoreError.Code {
    /// Another program uses the port.
    package static let portInUse = Self("portInUse")
}

/// Host names to addresses, as the system knows them (getaddrinfo(3)).
enum NameLookUp {
    typealias Function = @Sendable (_ name: String, _ port: UInt16) -> [SocketAddress]

    /// The addresses of a name, in the order to try; may block for seconds: never call it on a loop's thread.
    @Sendable static func addresses(of name: String, port: UInt16) -> [SocketAddress] {
        var found = [castree_resolved](repeating: castree_resolved(), count: 16)
        let count = castree_resolve(name, &found, Int32(found.count))
        var addresses: [SocketAddress] = []
        for each in found.prefix(max(0, Int(count))) {
            let bytes = withUnsafeBytes(of: each.bytes) { Array($0.prefix(Int(each.count))) }
            addresses.append(SocketAddress(address: bytes, port: port))
        }
        return addresses
    }
}
