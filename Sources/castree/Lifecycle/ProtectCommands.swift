import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    /// `protect`: keeps a version.
    static let protect = Command(
        "protect", summary: "keeps a version from being retired",
        discussion: """
            Until 'castree unprotect', no policy retires the version, neither 'gc --keep' nor an \
            app that cleans up after itself, and 'castree retire' refuses to. 'castree serve \
            --shell VERSION' protects its version without being asked.

                castree protect www
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        let isNew = try invocation.openRecordingStore().protect(name)
        try invocation.report(name, isProtected: true) {
            isNew ? "Version \(name) is protected now." : "Version \(name) is protected already."
        }
        return .done
    }

    /// `unprotect`: takes the protection back.
    static let unprotect = Command(
        "unprotect", summary: "lets a protected version be retired again",
        discussion: """
            Takes the protection back, and retires nothing.

                castree unprotect www && castree retire www
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        try invocation.openRecordingStore().unprotect(name)
        try invocation.report(name, isProtected: false) {
            "Version \(name) is no longer protected."
        }
        return .done
    }
}

extension Invocation {
    fileprivate func report(
        _ version: String, isProtected: Bool, _ sentence: () -> DisplayText
    ) throws {
        let sentence = sentence()
        try report { writer in
            writer.member("version", version)
            writer.member("protected", isProtected)
        } text: { output in
            output.print(sentence)
        }
    }
}
