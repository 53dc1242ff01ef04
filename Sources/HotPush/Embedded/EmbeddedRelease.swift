import CASStore
import StrictJSON
import VersionTree

/// What a publishing system's document in an app's own directory says of the files there: the URLs
/// that lead to them, what native code they need, which app they are.
///
/// With it, the shipped version is served like a fetched one, and what an origin offers is
/// recognized in it.
struct EmbeddedRelease {
    /// What it says of files, by path.
    var extras: [TreePath: Manifest.Extras] = [:]
    /// What an app must satisfy to run it.
    var requirements: [Requirement] = []
    /// What it says about the app.
    var app: AppIdentity?
    /// The name that its publisher gave it.
    let version: String

    /// Whether the app that it was shipped with can run a version with these requirements.
    ///
    /// An app that does not name its compatibility key has the key of what it was shipped with.
    func isFit(_ terms: [Requirement], _ app: AppTraits) -> Bool {
        func isKey(_ requirement: Requirement) -> Bool {
            requirement.kind == Requirement.compatibility
        }
        let keys = terms.filter(isKey)
        let ownKeys = requirements.filter(isKey)
        guard app.compatibility == nil, !keys.isEmpty, !ownKeys.isEmpty else {
            return app.objections(to: terms).isEmpty
        }
        let isMet = keys.contains { key in
            ownKeys.contains { own in
                own.value.utf8.elementsEqual(key.value.utf8)
                    && own.concerns(platform: key.platform)
            }
        }
        return isMet && app.objections(to: terms.filter { !isKey($0) }).isEmpty
    }

    private static let byteCountMax = 64 << 20

    /// Reads what is there; nil if there is no document of a known format, or a broken one: the app
    /// still shows its files by their paths.
    init?(in directory: String, _ fileSystem: any FileSystem) {
        let context = ReleaseContext(layout: .directory)
        for format in ReleaseFormats.all where !(format is CastreeFormat) {
            for document in format.documents(.directory, version: nil) {
                guard let bytes = Self.read(directory, document.path, fileSystem),
                    format.recognizes(bytes),
                    // Broken: see above.
                    let release = try? format.read(bytes, context)
                else { continue }
                self.init(release, format, context) { Self.read(directory, $0, fileSystem) }
                return
            }
        }
        return nil
    }

    private init(
        _ release: Release, _ format: any ReleaseFormat, _ context: ReleaseContext,
        read: (String) -> [UInt8]?
    ) {
        version = release.version.description
        requirements = release.requirements
        for file in release.files {
            extras[file.path] = Manifest.Extras(routes: file.routes, foreign: file.foreign)
            guard file.needsInspection, let bytes = read(file.path.description) else { continue }
            // What is shipped is shown, whatever is wrong with its page.
            if let found = try? format.inspect(file, bytes, of: release, context) { app = found }
        }
    }

    /// The bytes of a file; nil if they cannot be read.
    private static func read(
        _ directory: String, _ path: String, _ fileSystem: any FileSystem
    ) -> [UInt8]? {
        // If anything is wrong with the directory, adopting it reports that.
        try? fileSystem.contents(
            POSIXFileSystem.workingDirectory, directory + "/" + path, limit: byteCountMax)
    }
}
