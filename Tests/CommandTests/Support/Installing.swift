import ProgramTestSupport

/// Programs in a directory of their own, as on a machine where others are not installed.
extension Workplace {
    /// Puts programs into a directory.
    func install(_ programs: ProgramUnderTest..., in name: String) throws {
        let place = directory.appending(path: name)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        for program in programs {
            let target = place.appending(path: program.rawValue)
            do {
                try FileManager.default.linkItem(at: program.url, to: target)
            } catch {
                // On another file system. A child that a test beside this one starts meanwhile has the copy
                // open for writing for a moment, and then it cannot be run.
                try FileManager.default.copyItem(at: program.url, to: target)
            }
        }
    }

    func run(_ program: String, _ arguments: String...) throws -> Finished {
        let url = directory.appending(path: program)
        return try Running(url, arguments, in: directory, environment: [:]).finished()
    }

    /// The environment of a program that does not find a library, by any of its names.
    func lacking(_ names: [String]) throws -> [String: String] {
        let place = "lacking-\(names[0])"
        for name in names { try write([name: ""], to: place) }
        return ["LD_LIBRARY_PATH": directory.appending(path: place).path]
    }
}
