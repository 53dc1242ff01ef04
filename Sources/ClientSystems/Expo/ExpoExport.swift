import HotPush
import Platform
import StrictJSON
import VersionTree

/// What `npx expo export` has written, as a version has it: `metadata.json`, and `expoConfig.json` beside it.
struct ExpoExport {
    /// What one platform's app runs.
    struct Program {
        /// `ios` or `android`.
        var platform: String
        /// The script that is started first.
        var launchFile: Manifest.Entry
        /// What the script asks for.
        var assets: [Asset]
    }

    /// A file that the script asks for.
    struct Asset {
        /// The file.
        var file: Manifest.Entry
        /// The ending that it has on the device, without a point; its name has none.
        var ending: String
    }

    /// The platforms, in the order of their names.
    var programs: [Program]
    /// The app's configuration, as its modules read it; `nil` without an `expoConfig.json`.
    var config: JSONValue?

    static let metadataPath = "metadata.json"
    static let configPath = "expoConfig.json"
    private static let platforms = ["android", "ios"]
    private static let limits = JSONLimits(byteCount: 16 << 20)

    /// Reads the export from a release's files.
    /// - Throws: `.unsuitableRelease` with what it lacks; what reading throws.
    init(_ release: ClientRelease, _ content: ClientContent) throws(StoreError) {
        guard let metadata = try Self.document(Self.metadataPath, release, content) else {
            throw Self.refusal(
                "it has no \(Self.metadataPath): publish the folder that `npx expo export` writes (dist)"
            )
        }
        guard let files = metadata["fileMetadata"], files.asObject != nil else {
            throw Self.refusal("\(Self.metadataPath) has no \"fileMetadata\"")
        }
        programs = []
        for platform in Self.platforms {
            guard let part = files[platform] else { continue }
            programs.append(try Self.program(platform, part, content.manifest))
        }
        guard !programs.isEmpty else {
            throw Self.refusal("\(Self.metadataPath) names neither android nor ios")
        }
        config = try Self.document(Self.configPath, release, content)
        if let config, config.asObject == nil {
            throw Self.refusal("\(Self.configPath) is no object")
        }
    }

    private static func document(
        _ path: String, _ release: ClientRelease, _ content: ClientContent
    ) throws(StoreError) -> JSONValue? {
        guard let entry = content.manifest[try TreePath(path)] else { return nil }
        let bytes = try release.read(entry.address)
        do throws(JSONError) {
            return try JSONValue.parse(bytes, limits: limits)
        } catch {
            throw refusal("\(path) cannot be read: \(error.message)")
        }
    }

    private static func program(
        _ platform: String, _ part: JSONValue, _ manifest: Manifest
    ) throws(StoreError) -> Program {
        guard let launchPath = part["bundle"]?.asString, let assets = part["assets"]?.asArray
        else {
            throw refusal("\(metadataPath) names no \"bundle\" and \"assets\" for \(platform)")
        }
        var program = Program(
            platform: platform, launchFile: try file(launchPath, manifest), assets: [])
        for asset in assets {
            guard let path = asset["path"]?.asString, let ending = asset["ext"]?.asString else {
                throw refusal(
                    "an asset for \(platform) in \(metadataPath) has no \"path\" and \"ext\"")
            }
            program.assets.append(Asset(file: try file(path, manifest), ending: ending))
        }
        return program
    }

    private static func file(
        _ path: String, _ manifest: Manifest
    ) throws(StoreError) -> Manifest.Entry {
        // An export that was made on Windows names files as they are named there.
        for spelling in [path, path.replacing("\\", with: "/")] {
            // What is no path is the path of no file.
            if let treePath = try? TreePath(spelling), let entry = manifest[treePath] {
                return entry
            }
        }
        let isOfWindows = path.contains("\\")
        throw refusal(
            "\(metadataPath) names \(isOfWindows ? "\(path) (with backslashes, as on Windows)" : printable(path)), "
                + "which is not among the files")
    }

    static func refusal(_ problem: String) -> StoreError {
        StoreError(.unsuitableRelease, "Expo's clients cannot run this version: \(problem)")
    }
}
