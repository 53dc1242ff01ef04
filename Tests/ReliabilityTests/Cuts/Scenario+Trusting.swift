import HotPush
import Origin
import StorageTestSupport

// Whose releases are taken: the old trust or the new one is there at any time, and stands before anything comes of it.
extension Scenario {
    private static let id = "00112233445566778899aabbccddeeff"

    private static func trust(_ place: Place) throws -> String? {
        guard FileManager.default.fileExists(atPath: place.store + "/trust.json") else {
            return nil
        }
        return String(decoding: try Damage.contents(place.store + "/trust.json"), as: UTF8.self)
    }

    private static func put(_ place: String, in versions: VersionStore, _ key: SigningKey) throws {
        try versions.changeTrust { (trust) throws(StoreError) in
            if trust.origin(at: place) != nil { return }
            try trust.put(
                TrustedOrigin(places: [place], id: id, keys: [key.verificationKey], threshold: 1))
        }
    }

    /// Another origin, or another key, beside what is trusted already.
    static let trusting = Scenario(
        testDescription: "trust add",
        prepare: { place in
            try makeStore(place)
            try put("https://a.example", in: place.open(), SigningKey.generate())
        },
        run: verb { _, versions in
            try versions.changeTrust { (trust) throws(StoreError) in
                let known = trust.origin(id)
                guard var origin = known else {
                    throw StoreError(.notFound, "the trust is gone")
                }
                if !origin.isAt("https://b.example") { origin.places.append("https://b.example") }
                try trust.put(origin, insteadOf: known)
            }
        },
        isKept: { _, versions in
            try versions.trust().origin(id)?.places == ["https://a.example", "https://b.example"]
        },
        holds: { place in
            let text = try trust(place) ?? ""
            return text.hasSuffix("}\n") && text.contains("https://a.example")
        })

    /// A pull of what is signed: before a release is shown, its pointer's sequence is remembered.
    static let pullSigned = Scenario(
        testDescription: "pull of a signed release",
        prepare: { place in
            try makeStore(place)
            let path = place.beside + "/signed"
            let publishing = try VersionStore.create(
                at: place.beside + "/signer", options: Place.options(false)
            ).versions
            try place.add("1", to: publishing)
            try publish(["1"], of: publishing, to: path, packs: .never)
            let key = try SigningKey.generate()
            guard var pointer = try DirectoryOrigin(path).pointer(.stable) else { return }
            pointer.origin = id
            pointer.signatures = [
                PointerSignature(
                    key: key.verificationKey.id, signature: try key.sign(pointer.signedBytes))
            ]
            try Damage.overwrite(
                "\(path)/\(OriginLayout.pointer(.stable))", with: pointer.serialized())
            let location = try OriginReference(parsing: path).location
            try put(location.trustPlace, in: place.open(), key)
        },
        run: { place, disk, isDurable in
            var options = PullOptions()
            options.destination = .current
            let origin = place.beside + "/signed"
            let versions = try place.open(on: disk, isDurable: isDurable)
            _ = try Pull(into: versions, over: DirectoryTransport(origin), options).run(origin)
        },
        isKept: { _, versions in
            let sequences = try versions.trust().origin(id)?.sequences ?? [:]
            return try versions.lifecycle().current == "1" && sequences["stable"] != nil
        },
        holds: { place in
            guard let text = try trust(place), text.hasSuffix("}\n"), text.contains(id) else {
                return false
            }
            // What is not there yet, or a link that leads nowhere, shows nothing.
            let shown = try? FileManager.default.destinationOfSymbolicLink(
                atPath: place.store + "/current")
            let isThere = FileManager.default.fileExists(atPath: place.store + "/manifests/1.json")
            return shown != "versions/1" && !isThere || text.contains("\"sequences\":{\"stable\":")
        })

    static let trustingOrigins = [trusting, pullSigned]
}
