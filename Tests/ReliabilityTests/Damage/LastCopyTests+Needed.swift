import StorageTestSupport

/// What of the content of a damaged store nothing tells from what nobody needs.
extension LastCopyTests {
    /// What nothing but a hidden tree shows whose version nobody speaks of: what a writer that died leaves looks the same.
    static func abandoned(_ victim: Victim, besides retired: String?) throws -> Set<ObjectID> {
        let versions = victim.path("versions")
        let said =
            (try? Damage.contents(victim.path("lifecycle.json"))).map {
                String(decoding: $0, as: UTF8.self)
            } ?? ""
        var hidden: Set<ObjectID> = []
        var others: Set<ObjectID> = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: versions)) ?? []
        where name != retired {
            let version = name.dropFirst().split(separator: ".").dropLast().joined(separator: ".")
            let isAbandoned =
                name.hasPrefix(".") && !said.isEmpty && !said.contains("\"\(version)\"")
            let contents = try contentsBelow(versions + "/" + name)
            if isAbandoned { hidden.formUnion(contents) } else { others.formUnion(contents) }
        }
        guard !hidden.isEmpty else { return [] }
        for name in try FileManager.default.contentsOfDirectory(atPath: victim.place.store)
        where name != "versions" {
            try others.formUnion(contentsBelow(victim.path(name)))
        }
        return hidden.subtracting(others)
    }

    /// The versions that have neither manifest nor a file in a tree, and what of their content no tree shows.
    static func traceless(_ victim: Victim) throws -> [String: Set<ObjectID>] {
        let shown = try contentsBelow(victim.path("versions"))
        var lost: [String: Set<ObjectID>] = [:]
        for (version, files) in Place.contents {
            let manifest = victim.path("manifests/\(version).json")
            let tree = victim.path("versions/\(version)")
            if FileManager.default.fileExists(atPath: manifest) { continue }
            guard try contentsBelow(tree).isEmpty else { continue }
            let texts = files.values.filter { !$0.isEmpty }
            lost[version] = Set(try texts.map { try address(of: $0) }).subtracting(shown)
        }
        return lost
    }

    /// What only versions without a trace had that the lifecycle does not name either.
    ///
    /// At most the index knows them, as after a retire that was interrupted; and a repair has the lifecycle forget
    /// what nothing else is left of.
    static func unspoken(
        _ traceless: [String: Set<ObjectID>], _ victim: Victim
    ) throws -> Set<ObjectID> {
        guard let named = Self.named(victim) else { return [] }
        var unspoken: Set<ObjectID> = []
        for (version, contents) in traceless where !named.contains(version) {
            unspoken.formUnion(contents)
        }
        for (version, files) in Place.contents
        where traceless[version] == nil || named.contains(version) {
            for text in files.values { unspoken.remove(try address(of: text)) }
        }
        return unspoken
    }

    /// The versions that the lifecycle needs; `nil` if it cannot be read.
    private static func named(_ victim: Victim) -> Set<String>? {
        guard let bytes = try? Damage.contents(victim.path("lifecycle.json")),
            let document = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        else { return nil }
        let one = ["current", "pending", "embedded", "before"].compactMap {
            document[$0] as? String
        }
        return Set(one + ["knownGood", "protected"].flatMap { document[$0] as? [String] ?? [] })
    }
}
