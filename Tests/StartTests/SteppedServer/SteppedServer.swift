import CASStore
import Foundation
import ServeFromCAS
import VersionTree

/// A server as `castree serve` is one, but that its time goes by in steps: one for each line of standard input.
///
///     SteppedServer STORE
///
/// A start must be confirmed within one step. The line `look` is a step between two looks after starts;
/// `late` is one so long that the server must have stood still. Each is answered by a line. Ends in order at SIGTERM.
@main
enum SteppedServer {
    /// Longer than a test takes, so that nothing but a step counts.
    private static let step = Duration.seconds(100_000)

    static func main() async throws {
        var ends = sigset_t()
        sigemptyset(&ends)
        sigaddset(&ends, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &ends, nil)

        var options = AppServerOptions()
        options.port = .exactly(0)
        options.confirmation = step
        options.startRules.pace = step + step / 2
        options.startRules.rest = step * 2
        options.notice = { say("notice: \($0)", to: 2) }
        let server = try AppServer(VersionStore.open(CommandLine.arguments[1]), options: options)
        try server.startUnattended()
        say("Serving at \(server.url)", to: 1)
        Thread.detachNewThread { obey(server) }
        var signal: Int32 = 0
        sigwait(&ends, &signal)
        server.stop(within: .zero)
        await server.waitUntilStopped()
    }

    private static func obey(_ server: AppServer) {
        var now = SystemClock.now
        while let line = readLine() {
            // What others have done meanwhile is seen at its beginning.
            server.lookAtStarts(now: now)
            now += line == "late" ? step * 100 : step + .seconds(1)
            server.lookAtStarts(now: now)
            say(line, to: 1)
        }
        // Nobody is there any more.
        kill(getpid(), SIGTERM)
    }

    /// Written at once: a reader waits for it.
    private static func say(_ line: String, to file: Int32) {
        // Whoever hears nothing sees that by himself.
        try? POSIXFileSystem().write(file, Array((line + "\n").utf8))
    }
}
