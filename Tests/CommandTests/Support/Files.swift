import ProgramTestSupport

/// Files of a workplace, by their paths there.
extension Workplace {
    func url(_ path: String) -> URL { directory.appending(path: path) }
    func path(_ path: String) -> String { url(path).path }
    func remove(_ path: String) throws { try FileManager.default.removeItem(at: url(path)) }

    func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(at: url(path), withIntermediateDirectories: true)
    }

    func names(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url(path).path).sorted()
    }

    func object(_ address: some StringProtocol, in origin: String) -> String {
        "\(origin)/objects/\(address.prefix(2))/\(address.dropFirst(2))"
    }
}
