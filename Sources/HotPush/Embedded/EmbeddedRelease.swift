import CASStore
import StrictJSON
import VersionTree

/// A publishing system's document in the app's own directory: the URLs of its files, their native requirements, the
/// app.
///
/// With it, the shipped version is served like a fetched one, and an origin's offer can be recognized in it.
struct EmbeddedRelease {
    var extras: [TreePath: Manifest.Extras] = [:]
    var requirements: [Requirement] = []
    var app: AppIdentity?
    /// The name that its publisher gave it.
    let version: String

    /// Whether the app that the version was shipped with can run one with these requirements; an app that does not name
    /// its compatibility key has that of its shipped version.
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

    /// Nil if there is no valid document of a known format; the app still shows its files by their paths.
    init?(in directory: String, _ fileSystem: any FileSystem) {
        let context = ReleaseContext(layout: .directory)
        for format in ReleaseFormats.all where !(format is CastreeFormat) {
            for document in format.documents(.directory, version: nil) {
                guard let bytes = Self.read(directory, document.path, fileSystem),
                    format.recognizes(bytes),
                    // A broken document: see above.
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
            // The shipped version is shown, whatever is wrong with its page.
            if let found = try? format.inspect(file, bytes, of: release, context) { app = found }
        }
    }

    /// Nil if the file cannot be read.
    private static func read(
        _ directory: String, _ path: String, _ fileSystem: any FileSystem
    ) -> [UInt8]? {
        // If anything is wrong with the directory, adopting it reports that.
        try? fileSystem.contents(
            POSIXFileSystem.workingDirectory, directory + "/" + path, limit: byteCountMax)
    }
}
