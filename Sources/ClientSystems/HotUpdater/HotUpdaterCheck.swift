/// A client's question which bundle it should run.
package struct HotUpdaterCheck {
    /// What the client says of its app.
    package var app: App
    /// `ios` or `android`.
    package var platform: String
    /// The channel, as hot-updater calls it.
    package var channel: String
    /// The oldest bundle that the app may run: made when the app was.
    package var minimum: String
    /// The bundle that it runs.
    package var current: String
    /// Its place in roll-outs.
    package var cohort: HotUpdaterCohort?

    /// What a client says of its app.
    package enum App: Hashable {
        /// The version in the store that it came from.
        case version(String)
        /// A digest of its native code.
        case fingerprint(String)
    }

    /// What the app runs that has fetched nothing yet, and what it goes back to.
    package static let builtIn = "00000000-0000-0000-0000-000000000000"

    /// Reads the segments of a path; `nil` if they are no question.
    package init?(_ segments: [String]) {
        // A slash at the end begins no cohort.
        let segments = segments.last == "" ? segments.dropLast() : segments
        guard (6...7).contains(segments.count), !segments.contains("") else { return nil }
        switch segments[0] {
        case "app-version": app = .version(segments[2])
        case "fingerprint": app = .fingerprint(segments[2])
        default: return nil
        }
        platform = segments[1]
        channel = segments[3]
        minimum = segments[4].lowercased()
        current = segments[5].lowercased()
        cohort = segments.count > 6 ? HotUpdaterCohort(segments[6]) : nil
    }

    /// The name of the deployment.
    package var deployment: String { "\(platform)/\(channel)" }
}
