import HotPush
package import Platform

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
