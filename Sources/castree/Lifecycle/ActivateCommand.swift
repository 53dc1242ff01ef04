import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    /// `activate`: makes a version current, now or at the next boot.
    static let activate = Command(
        "activate", summary: "makes a version current, in one step",
        discussion: """
            Programs that read the current version see either the old one or the new one, whole. \
            With --at-next-boot the version is pending until the app starts again (castree boot).

                castree activate 42
                castree activate 42 --at-next-boot
            """,
        arguments: [.version],
        options: [.flag("at-next-boot", "switch when the app next starts")]
    ) { invocation in
        let name = try invocation.version()
        let versions = try invocation.openRecordingStore()
        if invocation.flag("at-next-boot") {
            try versions.activateAtNextBoot(name)
            try invocation.reportPending(try versions.lifecycle().pending, name)
        } else {
            let previous = try versions.activate(name)
            try invocation.report { writer in
                writer.member("current", name)
                writer.member("previous", previous)
            } text: { output in
                invocation.printSwitch(to: name, from: previous, on: output)
            }
        }
        return .done
    }
}

extension Invocation {
    /// Says that a version has become current.
    func printSwitch(to version: String, from previous: String?, on output: Output) {
        switch previous {
        case version?: output.print("Version \(version) is current, as before.")
        case let previous?: output.print("Version \(version) is current now (was \(previous)).")
        case nil: output.print("Version \(version) is current now.")
        }
    }

    fileprivate func reportPending(_ pending: String?, _ name: String) throws {
        try report { writer in
            writer.member("pending", pending)
        } text: { output in
            output.print(
                pending == nil
                    ? "Version \(name) is current already; nothing is pending."
                    : "Version \(name) becomes current at the next boot.")
        }
    }
}
