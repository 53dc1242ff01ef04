/// A client's check for the bundle that it should run.
struct HotUpdaterCheck {
    var app: App
    var platform: String
    var channel: String
    /// The oldest bundle that the app may run, made with the app.
    var minimum: String
    var current: String
    var cohort: HotUpdaterCohort?

    /// The two ways in which clients identify their app.
    enum App: Hashable {
        case version(String)
        case fingerprint(String)
    }

    /// The id of the app's built-in bundle.
    static let builtIn = "00000000-0000-0000-0000-000000000000"

    init?(_ segments: [String]) {
        // A trailing slash begins no cohort.
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

    var deployment: String { "\(platform)/\(channel)" }
}
