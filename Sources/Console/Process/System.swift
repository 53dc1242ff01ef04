// The system calls of this module, except for signals: writing, terminals, the environment, the arguments.

import CStartup
import Platform

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

package struct SystemError: Error, Hashable, CustomStringConvertible {
    let number: Int32

    package var description: String { text }

    /// What writing to a pipe without a reader reports (write(2)).
    static let closedPipe = SystemError(number: EPIPE)

    var isClosedPipe: Bool { number == EPIPE }

    package var text: String {
        strerror(number).map { String(cString: $0) } ?? "error \(number)"
    }
}

package enum System {
    static let standardOutput: Int32 = 1
    static let standardError: Int32 = 2

    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { cWrite(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
                continue
            }
            // A device that takes nothing and reports nothing would keep the loop going forever.
            let number = count < 0 ? errno : EIO
            switch number {
            case EINTR: continue
            case EAGAIN:
                // Another program may have made a shared terminal or pipe non-blocking.
                _ = try isWritable(descriptor, within: nil)
            default: throw SystemError(number: number)
            }
        }
    }

    /// Whether a file accepts bytes, or fails; waits until it does, at most `limit` if there is one.
    static func isWritable(
        _ descriptor: Int32, within limit: Duration?
    ) throws(SystemError) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let milliseconds = limit.map { Int32(clamping: $0.components.seconds * 1000) } ?? -1
        let count = poll(&request, 1, milliseconds)
        if count < 0, errno != EINTR { throw SystemError(number: errno) }
        return count > 0
    }

    /// Whether writes to a file wait for a disk at most, and never for a reader.
    static func isRegularFile(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Closes a descriptor; a network file system reports here what it could not write.
    static func close(_ descriptor: Int32) throws(SystemError) {
        // close(2): after EINTR the descriptor is gone on Linux; a second call could close another.
        if cClose(descriptor) < 0 && errno != EINTR { throw SystemError(number: errno) }
    }

    static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// Whether a terminal controls this process: then it can be opened (tty(4)).
    static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        if terminal >= 0 { _ = cClose(terminal) }
        return terminal >= 0
    }

    /// The width of a terminal; nil if it does not say.
    static func columnCount(of descriptor: Int32) -> Int? {
        // A winsize, ioctl_tty(2). Which module declares it depends on which one is searched first.
        var size: (rows: UInt16, columns: UInt16, width: UInt16, height: UInt16) = (0, 0, 0, 0)
        let result = ioctl(descriptor, UInt(TIOCGWINSZ), &size)
        return result == 0 && size.columns > 0 ? Int(size.columns) : nil
    }

    /// The arguments after the program's name; nil in place of one that is not UTF-8.
    static func arguments() -> [String?] {
        rawArguments.dropFirst().map { String(validatingCString: $0) }
    }

    /// The arguments as they were given, for as long as the process runs.
    static var rawArguments: [UnsafeMutablePointer<CChar>] {
        guard let first = castree_arguments() else { return [] }
        return Array(
            sequence(state: first) { place in
                defer { place += 1 }
                return place.pointee
            })
    }

    static func pause() { _ = cPause() }

    /// Makes sure that descriptors 0, 1 and 2 are taken: a file opened later could get the number, and the results.
    ///
    /// The replacement is opened the wrong way round, so that using it fails.
    static func reserveStandardDescriptors() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one, because all below are taken by now. A directory cannot be written
            // to, not even when opened once more as /dev/stdout.
            _ = descriptor == 0 ? open("/dev/null", O_WRONLY) : open("/", O_RDONLY)
        }
    }

    /// Makes a pipe that child processes do not inherit, not even those that another thread is just starting.
    /// - Parameter isWake: whether its writing end never waits.
    static func makePipe(
        isWake: Bool = false
    ) throws(SystemError) -> (source: Int32, target: Int32) {
        guard let ends = openPipe() else { throw SystemError(number: errno) }
        if isWake { _ = fcntl(ends.target, F_SETFL, fcntl(ends.target, F_GETFL) | O_NONBLOCK) }
        return ends
    }

    /// Makes the other end of a pipe readable; safe in a signal handler.
    static func wake(_ descriptor: Int32) {
        var byte: UInt8 = 1
        // A full pipe is readable already.
        _ = cWrite(descriptor, &byte, 1)
    }

    static func waitUntilReadable(_ descriptors: [Int32]) throws(SystemError) -> [Int32] {
        var requests = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while poll(&requests, nfds_t(requests.count), -1) < 0 {
            if errno != EINTR { throw SystemError(number: errno) }
        }
        return requests.filter { $0.revents != 0 }.map(\.fd)
    }

    /// Ends the process at once, after its output was written, without the libraries' slow clean-up.
    ///
    /// `ORDERLY_EXIT` is for scripts/coverage: the clean-up writes what the compiler counts.
    static func exit(_ status: ExitStatus) -> Never {
        cExit(status.rawValue)
    }
}

// Names for the functions of the C library that the methods above would shadow.
private func cWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

private func cClose(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func cPause() -> Int32 { pause() }

#if ORDERLY_EXIT
    private func cExit(_ status: Int32) -> Never { exit(status) }
#else
    private func cExit(_ status: Int32) -> Never { _exit(status) }
#endif
