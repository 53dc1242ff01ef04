import HotPush
package import Platform
import VersionTree

/// Writes what Meteor's Cordova clients are told of a release: `manifest.json`.
package enum MeteorPublishing: ClientPublishing {
    package static var system: ClientSystem { .meteor }

    /// The kind of requirement that these clients check themselves.
    static let kinds = [Requirement.compatibility]

    package static func objections(
        to release: ClientRelease, _ configuration: ClientConfiguration
    ) throws(StoreError) -> [ClientObjection] {
        var objections = ClientObjection.unlessAsked(configuration)
        objections += release.objectionsOfStaticClients("Meteor's clients", besides: kinds)
        if release.release.isMandatory {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "Meteor's clients know nothing mandatory: the app decides when it shows an update"
                ))
        }
        guard let content = release.content else { return objections }
        let program: MeteorProgram
        do throws(StoreError) {
            program = try MeteorProgram(content.manifest)
        } catch {
            guard error.code == .unsuitableRelease else { throw error }
            return objections + [ClientObjection(refuses: true, error.message)]
        }
        if let objection = try elsewhere(release, content, configuration) {
            objections.append(objection)
        }
        let keys = program.compatibilityVersions
        for requirement in release.release.requirements
        where requirement.kind == Requirement.compatibility
            && !keys.contains(where: { $0.utf8.elementsEqual(requirement.value.utf8) })
        {
            objections.append(
                ClientObjection(
                    refuses: true,
                    "Meteor's clients compare what its manifest says (\(keys.map(printable).joined(separator: ", "))), and "
                        + "the release requires \(printable(requirement.value)): publish without that"
                ))
        }
        return objections
    }

    /// Says where clients ask from then on, if the page of the version sends them away: they take its `ROOT_URL` for theirs.
    private static func elsewhere(
        _ release: ClientRelease, _ content: ClientContent, _ configuration: ClientConfiguration
    ) throws(StoreError) -> ClientObjection? {
        guard let page = content.manifest[try TreePath(MeteorProgram.indexPath)] else { return nil }
        let bytes = try release.read(page.address)
        // A page without a configuration leaves clients where they are.
        guard let rootURL = (try? MeteorRuntimeConfig(indexPage: bytes))?.rootURL else {
            return nil
        }
        let places = configuration.deployments.keys.sorted().map { name in
            "\(configuration.baseURL)\(MeteorDecider.prefix)\(PercentEncoding.unreserved(name))/"
        }
        guard let place = places.first, !places.contains(rootURL) else { return nil }
        return ClientObjection(
            refuses: false,
            "after this version Meteor's clients ask \(printable(rootURL)), which is the ROOT_URL of its page: let the "
                + "server that it is pulled from run with ROOT_URL=\(place) (and DDP_DEFAULT_CONNECTION_URL)"
        )
    }

    package static func offer(
        _ release: ClientRelease, after history: ClientHistory,
        _ configuration: ClientConfiguration, signer: (any ClientSigner)?
    ) throws(StoreError) -> PreparedClientOffer {
        var offer = try ClientOffer(beginning: release, after: history)
        try release.refuseOtherContent(under: "Meteor's clients", in: history)
        guard let content = release.content else { return PreparedClientOffer(offer) }
        let program = try MeteorProgram(content.manifest)
        let bytes = program.bytes
        let document = ClientDocument(
            platform: "", runtimeVersion: "", id: program.version,
            address: try ObjectID(of: bytes),
            byteCount: Int64(bytes.count))
        offer.documents = [document]
        return PreparedClientOffer(offer, documents: [document.address: bytes])
    }
}
