/// A client's check for the bundle that it should run.
struct HotUpdaterCheck {
    /// The client's app.
    var app: App
    /// `ios` or `android`.
    var platform: String
    /// The channel in hot-updater's sense.
    var channel: String
    /// The oldest bundle that the app may run, made with the app.
    var minimum: String
    /// The bundle that it runs.
    var current: String
    /// Its place in roll-outs.
    var cohort: HotUpdaterCohort?

    /// The two ways in which clients identify their app.
    enum App: Hashable {
        /// The version in the store that it came from.
        case version(String)
        /// A digest of its native code.
        case fingerprint(String)
    }

    /// The id of the app's built-in bundle, which runs first and is gone back to.
    static let builtIn = "00000000-0000-0000-0000-000000000000"

    /// Reads the segments of a path; `nil` if they are no check.
    init?(_ segments: [String]) {
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
    var deployment: String { "\(platform)/\(channel)" }
}
