import HotPush
import Platform
import StrictJSON
import VersionTree

/// The output of `npx expo export` in a version: `metadata.json`, with `expoConfig.json` beside it.
struct ExpoExport {
    struct Program {
        /// `ios` or `android`.
        var platform: String
        var runtimeVersion: String
        /// The launch script first, then the files that it loads.
        var files: [Asset]
    }

    struct Asset {
        var entry: Manifest.Entry
        /// The file's ending on the device, without a point; its name in the export has none.
        var ending: String
    }

    var programs: [Program]
    var config: JSONValue?

    static let platforms = ["android", "ios"]
    static let metadataPath = "metadata.json"
    static let configPath = "expoConfig.json"
    private static let limits = JSONLimits(byteCount: 16 << 20)

    /// - Throws: `.unsuitableRelease` with what is missing; what reading throws.
    init(_ release: ClientRelease, _ content: ClientContent) throws(StoreError) {
        guard let metadata = try Self.document(Self.metadataPath, release, content) else {
            throw Self.refusal(
                "it has no \(Self.metadataPath): publish the folder that `npx expo export` writes (dist)"
            )
        }
        guard let files = metadata["fileMetadata"], files.asObject != nil else {
            throw Self.refusal("\(Self.metadataPath) has no \"fileMetadata\"")
        }
        var parts: [(platform: String, files: [Asset])] = []
        for platform in Self.platforms {
            guard let part = files[platform] else { continue }
            parts.append((platform, try Self.files(platform, part, content.manifest)))
        }
        guard !parts.isEmpty else {
            throw Self.refusal("\(Self.metadataPath) names neither android nor ios")
        }
        config = try Self.document(Self.configPath, release, content)
        if let config, config.asObject == nil {
            throw Self.refusal("\(Self.configPath) is no object")
        }
        programs = []
        for (platform, files) in parts {
            let version = try ExpoRuntime.version(
                for: platform, release.release.requirements, config)
            programs.append(Program(platform: platform, runtimeVersion: version, files: files))
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

    private static func files(
        _ platform: String, _ part: JSONValue, _ manifest: Manifest
    ) throws(StoreError) -> [Asset] {
        guard let launchPath = part["bundle"]?.asString, let assets = part["assets"]?.asArray
        else {
            throw refusal("\(metadataPath) names no \"bundle\" and \"assets\" for \(platform)")
        }
        var files = [
            Asset(entry: try file(launchPath, manifest), ending: ExpoAsset.launchEnding)
        ]
        for asset in assets {
            guard let path = asset["path"]?.asString, let ending = asset["ext"]?.asString else {
                throw refusal(
                    "an asset for \(platform) in \(metadataPath) has no \"path\" and \"ext\"")
            }
            files.append(Asset(entry: try file(path, manifest), ending: ending))
        }
        return files
    }

    private static func file(
        _ path: String, _ manifest: Manifest
    ) throws(StoreError) -> Manifest.Entry {
        // An export made on Windows uses backslashes in paths.
        for spelling in [path, path.replacing("\\", with: "/")] {
            // A text that is not a path names no file.
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
