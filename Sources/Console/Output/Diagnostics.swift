import Platform
import StrictJSON

/// Messages on standard error; with `--json`, errors and warnings are JSON, one a line, and there are no notes.
package struct Diagnostics: Sendable {
    let program: String
    let errors: Output
    let isJSON: Bool
    let isQuiet: Bool
    /// Gets warnings instead of standard error.
    var warned: (@Sendable (String) -> Void)?

    /// Prints a note, unless `--quiet` or `--json` is given.
    package func note(_ text: DisplayText) {
        guard !isQuiet && !isJSON else { return }
        errors.print(text)
        deliver()
    }

    /// Prints a warning: something a person should know, although the command continues.
    package func warn(code: String, _ message: String) {
        if let warned { return warned(shown(message)) }
        report("warning", code: code, message: message, .yellow)
    }

    /// The line of a warning, for callers that must not wait until it is written; see ``LineQueue``.
    package func warningLine(code: String, _ message: String) -> [UInt8] {
        line("warning", code: code, message: message, .yellow)
    }

    /// The line of a note, for callers that must not wait for writing; nil with `--quiet`, JSON with `--json`.
    package func noteLine(code: String, _ message: String) -> [UInt8]? {
        if isQuiet { return nil }
        if isJSON { return line("note", code: code, message: message, .faint) }
        let text: DisplayText = "\(program): \(shown(message))"
        return Array((text.rendered(inColour: false) + "\n").utf8)
    }

    func report(_ error: CommandError) {
        report("error", code: error.code, message: error.message, .red)
    }

    /// Prints where to learn more, after a usage error, which a list of options would push off the screen.
    func advise(_ help: String) {
        // No one is left to be told that standard error cannot be written.
        try? errors.write(trusted: "\(help)\n")
        deliver()
    }

    private func report(
        _ severity: String, code: String, message: String, _ style: DisplayText.Style
    ) {
        let line = line(severity, code: code, message: message, style)
        // As above.
        try? errors.write(line)
        deliver()
    }

    private func line(
        _ severity: String, code: String, message: String, _ style: DisplayText.Style
    ) -> [UInt8] {
        let message = shown(message)
        guard isJSON else {
            let word = severity == "error" ? "" : "\(severity): "
            let text: DisplayText = "\(program): \(word, style)\(message)"
            return Array((text.rendered(inColour: errors.usesColour) + "\n").utf8)
        }
        let document = JSONWriter.document { writer in
            writer.member(severity) { writer in
                writer.member("code", code)
                writer.member("message", message)
            }
        }
        return Output.line(json: document)
    }

    /// Removes the secrets that addresses may carry.
    package func shown(_ message: String) -> String {
        withoutSecrets(message, mark: "…", ofAddressesOnly: true)
    }

    private func deliver() {
        // As above.
        try? errors.flush()
    }
}
