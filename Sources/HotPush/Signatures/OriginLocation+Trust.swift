import Buckets
import CASStore

extension OriginLocation {
    /// The place as `trust.json` names it, in one spelling.
    ///
    /// Rather two places with one name than one with two: a release that is not signed is then refused where nobody asked
    /// for it, and not taken where somebody did. So neither user, default port nor endpoint counts.
    package var trustPlace: String {
        switch self {
        case .bucket(let bucket): return bucket.description
        case .directory(let path): return Self.canonical(path)
        case .web(let base):
            let (scheme, rest) = OriginReference.split(base)
            let authority = rest.dropFirst(2).prefix { $0 != "/" }
            let path = rest.dropFirst(2 + authority.count)
            var host = authority.split(separator: "@").last.map { $0.lowercased() } ?? ""
            for port in [":80", ":443"] where host.hasSuffix(port) {
                host.removeLast(port.count)
            }
            return "\((scheme ?? "").lowercased())://\(host)\(path)"
        }
    }

    /// The path from the root of the file system, without links; as it was given if nothing is there.
    private static func canonical(_ path: String) -> String {
        let fileSystem = POSIXFileSystem()
        // Nothing can be pulled from what cannot be opened.
        guard
            let directory = try? fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        else { return path }
        let known = fileSystem.path(of: directory.raw)
        return known.hasPrefix("/") ? known : path
    }
}
