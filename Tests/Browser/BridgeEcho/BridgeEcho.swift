import CASStore
import ServeFromCAS
import VersionTree

/// A host whose app sends every message of the bridge back to the page it came from.
///
///     BridgeEcho STORE [SECONDS]
///
/// With SECONDS a new version must be confirmed within so many. Prints the ready line of
/// `castree serve`; runs until it is ended.
@main
enum BridgeEcho {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 1 else {
            say("usage: BridgeEcho STORE [SECONDS]", to: 2)
            return
        }
        var options = AppServerOptions()
        options.port = .exactly(0)
        options.notice = { say("notice: \($0)", to: 2) }
        if arguments.count > 2, let seconds = Int64(arguments[2]) {
            options.confirmation = .seconds(seconds)
        }
        let server = try AppServer(VersionStore.open(arguments[1]), options: options)
        try server.start()
        say("Serving at \(server.url)", to: 1)
        for await message in server.bridge.messages { await echo(message, server.bridge) }
    }

    private static func echo(_ message: BridgeMessage, _ bridge: Bridge) async {
        while true {
            do throws(StoreError) {
                switch message.content {
                case .text(let bytes):
                    try bridge.send(String(decoding: bytes, as: UTF8.self), to: message.session)
                case .binary(let bytes): try bridge.send(Array(bytes), to: message.session)
                }
                return
            } catch {
                // A page that is gone gets no answer.
                guard error.code == .queueFull else { return }
                await Task.yield()
            }
        }
    }

    /// Written at once: a reader waits for the ready line.
    private static func say(_ line: String, to file: Int32) {
        // Whoever hears nothing sees that by himself.
        try? POSIXFileSystem().write(file, Array((line + "\n").utf8))
    }
}
