// A whole program: an app that serves its page and answers what the page says.
import CASStore
import ServeFromCAS
import VersionTree

let arguments = CommandLine.arguments  // Echo STORE PORT
guard arguments.count == 3, let port = UInt16(arguments[2]) else {
    fatalError("usage: Echo STORE PORT")
}

var options = AppServerOptions()
options.port = .exactly(port)  // the default follows from the app's id
let server = try AppServer(VersionStore.open(arguments[1]), options: options)
try server.start()
print(server.url)

// On the thread that serves: an answer needs no other one. A task that takes its time has no executor.
let bridge = server.bridge
try await Task.detached(executorPreference: server.executor) {
    for await message in bridge.messages {
        if let text = message.text {
            try bridge.send(text, to: message.session)
        } else {
            try bridge.send(Array(message.bytes), to: message.session)
        }
    }
}.value
