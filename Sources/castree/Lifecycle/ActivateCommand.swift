import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let activate = Command(
        "activate", summary: "makes a version current, in one step",
        discussion: """
            Programs that read the current version see either the old one or the new one, never a \
            mixture. With --at-next-boot the version is pending until the app next starts (castree \
            boot). Without it, an older pending version is dropped.

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
            let pending = try versions.lifecycle().pending
            return try invocation.report(
                pending == nil
                    ? "Version \(name) is current already; nothing is pending."
                    : "Version \(name) becomes current at the next boot."
            ) { writer in
                writer.member("pending", pending)
            }
        }
        let waited = try versions.lifecycle().pending
        let previous = try versions.activate(name)
        if let waited, waited != name, try versions.lifecycle().pending == nil {
            invocation.note("version \(waited), which is older, is no longer pending")
        }
        return try invocation.report(sentence(onSwitchTo: name, from: previous)) { writer in
            writer.member("current", name)
            writer.member("previous", previous)
        }
    }
}

func sentence(onSwitchTo version: String, from previous: String?) -> DisplayText {
    switch previous {
    case version?: "Version \(version) is current, as before."
    case let previous?: "Version \(version) is current now (was \(previous))."
    case nil: "Version \(version) is current now."
    }
}
