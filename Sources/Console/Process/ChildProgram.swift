#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A child program with pipes as its standard input and output; belongs to one thread, and is killed with its value.
final class ChildProgram {
    private let process: pid_t
    /// Whether it has a process group of its own, so that its children end with it if it is killed.
    private let isLeader: Bool
    let output: Int32
    private(set) var input: Int32?
    /// Once it has been waited for, its process id may be reused.
    private var isReaped = false

    /// Starts a program; its standard error is this program's.
    /// - Parameter words: its arguments, beginning with the name it is called by.
    init(_ path: String, _ words: [String], isLeader: Bool) throws(SystemError) {
        let out = try System.makePipe()
        let inward: (source: Int32, target: Int32)
        do throws(SystemError) {
            inward = try System.makePipe()
        } catch {
            Self.shut([out.source, out.target])
            throw error
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        #if canImport(Glibc)
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #else
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        // A copy made by dup2 stays open in the new program; the originals do not.
        posix_spawn_file_actions_adddup2(&actions, inward.source, 0)
        posix_spawn_file_actions_adddup2(&actions, out.target, 1)
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGPIPE, SIGXFSZ] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = POSIX_SPAWN_SETSIGDEF | (isLeader ? POSIX_SPAWN_SETPGROUP : 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var process = pid_t()
        let result = posix_spawn(&process, path, &actions, &attributes, &arguments, environ)
        Self.shut([inward.source, out.target])
        guard result == 0 else {
            Self.shut([inward.target, out.source])
            throw SystemError(number: result)
        }
        self.process = process
        self.isLeader = isLeader
        (output, input) = (out.source, inward.target)
    }

    deinit {
        if !isReaped {
            kill(isLeader ? -process : process, SIGKILL)
            _ = wait()
        }
        closeInput()
        Self.shut([output])
    }

    /// Lets it find the end of its standard input.
    func closeInput() {
        if let open = input { Self.shut([open]) }
        input = nil
    }

    /// Whether it has ended, without reaping it.
    var hasEnded: Bool {
        var info = siginfo_t()
        return waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0
            && info.si_signo != 0
    }

    /// Waits for the end.
    /// - Returns: the exit status; `nil` if a signal ended it.
    func wait() -> Int32? {
        isReaped = true
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return nil }
        }
        // As the macros of wait(2) read it, which Swift does not import.
        return status & 0x7f == 0 ? (status >> 8) & 0xff : nil
    }

    private static func shut(_ descriptors: [Int32]) {
        for descriptor in descriptors { close(descriptor) }
    }
}
