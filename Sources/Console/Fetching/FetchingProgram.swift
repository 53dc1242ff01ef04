/// The program that speaks to networks.
///
/// `castree` itself is linked without any network library, so that it starts at once; what fetches
/// lives in a program beside it, as with git.
public enum FetchingProgram {
    /// Its file name.
    public static let name = "castree-pull"

    /// Replaces the running program by it, with the same arguments.
    /// - Throws: `noFetchingProgram` if it is not installed beside this one.
    public static func become() throws(CommandError) -> Never {
        let places = directories()
        for directory in places {
            let path = directory + "/" + name
            guard System.isProgram(path) else { continue }
            do throws(SystemError) {
                try System.become(path)
            } catch {
                throw CommandError(
                    code: "noFetchingProgram", message: "\(path) could not be run: \(error.text)")
            }
        }
        throw CommandError(
            code: "noFetchingProgram",
            message:
                "the program \(name), which speaks to networks, is not installed: it is looked "
                + "for in \(places.joined(separator: " and "))")
    }

    private static func directories() -> [String] {
        guard let path = System.programPath(), let slash = path.lastIndex(of: "/") else {
            return []
        }
        let directory = String(path[..<slash])
        return [directory, directory + "/../libexec/castree"]
    }
}
