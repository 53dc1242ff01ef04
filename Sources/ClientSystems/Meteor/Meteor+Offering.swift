import HotPush
import Platform
import VersionTree

// What Meteor announces and records of a release: `manifest.json`.

extension Meteor {
    static let kinds = [Requirement.compatibility]

    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        objections.warnUnlessAsked(release.configuration)
        objections.refuseChoice(in: release, "Meteor's clients", besides: kinds)
        objections.warnIfMandatory(
            release, "Meteor's clients", "the app decides when it shows an update")
        guard let content = release.content else { return objections }
        let program: MeteorProgram
        do throws(StoreError) {
            program = try MeteorProgram(content.manifest)
        } catch {
            guard error.code == .unsuitableRelease else { throw error }
            objections.refuse(error.message)
            return objections
        }
        try objections.warn(ofPageElsewhere: release)
        let keys = program.compatibilityVersions
        for requirement in release.release.requirements
        where requirement.kind == Requirement.compatibility
            && !keys.contains(where: { $0.utf8.elementsEqual(requirement.value.utf8) })
        {
            objections.refuse(
                "Meteor's clients compare what its manifest says (\(keys.map { printable($0) }.joined(separator: ", "))), and "
                    + "the release requires \(printable(requirement.value)): publish without that")
        }
        return objections
    }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        guard let content = release.content else { return }
        let program = try MeteorProgram(content.manifest)
        let bytes = program.bytes
        prepared.add(try ClientDocument(of: bytes, id: program.version), bytes)
    }

    static func isIncomplete(_ offer: ClientOffer) -> Bool {
        offer.documents.isEmpty
    }

    static func forgery(
        in offer: ClientOffer, of release: ClientRelease, reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        guard let content = release.content else { return nil }
        let program = try MeteorProgram(content.manifest)
        let address = try ObjectID(of: program.bytes)
        let isOwn =
            offer.documents.count == 1
            && offer.documents.allSatisfy { $0.id == program.version && $0.address == address }
        return isOwn ? nil : "its manifest lists other files"
    }
}

extension [ClientObjection] {
    /// Warns if the version's page sends clients elsewhere: from then on they ask its `ROOT_URL`.
    fileprivate mutating func warn(ofPageElsewhere release: ClientRelease) throws(StoreError) {
        guard let page = release.content?.manifest[try TreePath(MeteorProgram.indexPath)] else {
            return
        }
        let bytes = try release.read(page.address)
        let configuration = release.configuration
        let places = configuration.deployments.keys.sorted().map { name in
            "\(configuration.baseURL)\(Meteor.prefix)\(PercentEncoding.unreserved(name))/"
        }
        // A page without a configuration leaves clients where they are.
        guard let rootURL = (try? MeteorRuntimeConfig(indexPage: bytes))?.rootURL,
            let place = places.first, !places.contains(rootURL)
        else { return }
        warn(
            "after this version Meteor's clients ask \(printable(rootURL)), which is the ROOT_URL of its page: let the "
                + "server that it is pulled from run with ROOT_URL=\(place) (and DDP_DEFAULT_CONNECTION_URL)"
        )
    }
}
