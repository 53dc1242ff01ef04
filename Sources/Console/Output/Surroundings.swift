internal import Platform

/// The streams, environment and clock of a running program, as a value, so that tests run whole programs in memory.
package struct Surroundings: Sendable {
    package let output: Output
    package let errors: Output
    package let environment: @Sendable (String) -> String?
    /// The line of a terminal that progress may use; nil if it is not visible.
    let statusLine: StatusLine?
    let now: @Sendable () -> Duration
}

extension Surroundings {
    static func process() -> Surroundings {
        // https://no-color.org: set and not empty means no colour, whatever its value.
        let isPlain =
            !(environmentVariable("NO_COLOR") ?? "").isEmpty
            || environmentVariable("TERM") == "dumb"
        let errorsAreSeen = System.isTerminal(System.standardError)
        let canRedraw = errorsAreSeen && environmentVariable("TERM") != "dumb"
        let statusLine = canRedraw ? StatusLine(descriptor: System.standardError) : nil
        let outputIsSeen = System.isTerminal(System.standardOutput)
        return Surroundings(
            output: Output(
                descriptor: System.standardOutput, isTerminal: outputIsSeen,
                usesColour: outputIsSeen && !isPlain, statusLine: statusLine),
            errors: Output(
                descriptor: System.standardError, isTerminal: errorsAreSeen,
                usesColour: errorsAreSeen && !isPlain, statusLine: statusLine),
            environment: environmentVariable, statusLine: statusLine, now: { SystemClock.now })
    }
}
