import Archives
import HotPush
package import Platform
import VersionTree

/// Makes the offers of CodePush: a label, the package hash, the digest of the archive, and the signature.
package enum CodePushPublishing: ClientPublishing {
    package static let system = ClientSystem.codePush

    package static func objections(
        to release: ClientRelease, _ configuration: ClientConfiguration
    ) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        for requirement in release.release.requirements {
            if let sentence = CodePushTerms.objection(to: requirement) {
                objections.append(ClientObjection(refuses: true, sentence))
            }
        }
        if let rollout = release.release.rollout, rollout.perMille % 10 != 0 {
            let percent = rollout.perMille / 10
            objections.append(
                ClientObjection(
                    refuses: false,
                    "it is for \(rollout.perMille) of 1000 devices, and CodePush knows whole per cents: "
                        + (percent == 0
                            ? "no client of CodePush gets it"
                            : "\(percent) % of its clients get it"))
            )
        }
        if release.release.target == .embedded {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "devices are to go back to what was shipped with the app, and CodePush's clients keep what they "
                        + "run: publish that content as a release of its own"))
        }
        objections += ClientObjection.unlessAsked(configuration)
        objections += ClientObjection.unlessRequiring(
            [Requirement.appVersionRange, Requirement.minimumAppVersion], release, "CodePush",
            example: "appVersionRange=^1.2")
        guard let content = release.content else { return objections }
        return try objections + self.objections(to: content, configuration)
    }

    private static func objections(
        to content: ClientContent, _ configuration: ClientConfiguration
    ) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        if content.manifest.count == 0 {
            objections.append(
                ClientObjection(
                    refuses: true, "it has no files, and CodePush's clients cannot unpack nothing"))
        }
        let prefix = Array("\(configuration.folder)/".utf8)
        if content.manifest.count > 0,
            content.manifest.entries.allSatisfy({ $0.path.description.utf8.starts(with: prefix) })
        {
            objections.append(
                ClientObjection(
                    refuses: true,
                    "all its files are below \(configuration.folder)/, which is put above them for CodePush's clients: "
                        + "add the files without that folder"))
        }
        let package = CodePushPackage(content, folder: configuration.folder)
        objections += try ClientObjection.unlessArchived { () throws(StoreError) in
            _ = try package.archive()
        }
        if let name = package.nameBeyondASCII {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "it has names beyond ASCII, \(printable(name.description)) first, for which CodePush's clients on "
                        + "iOS compute a wrong hash: all clients fetch the whole archive, and those on iOS that "
                        + "check signatures take none"))
        }
        if let objection = ClientObjection.ofExecutables(content.manifest, "CodePush's clients") {
            objections.append(objection)
        }
        return objections
    }

    package static func offer(
        _ release: ClientRelease, after history: ClientHistory,
        _ configuration: ClientConfiguration, signer: (any ClientSigner)?
    ) throws(StoreError) -> PreparedClientOffer {
        var offer = try ClientOffer(beginning: release, after: history)
        // Clients know a release by its label, and are chosen for roll-outs by it: the same release again keeps it, and
        // so does the first or the newest that is offered to more of them. Going back to an older one is a new release.
        let known = [
            history.offer(of: release.release.sequence),
            release.head.flatMap { history.offer(of: $0) }, history.newest,
        ]
        let same = known.lazy.compactMap { $0 }.first {
            $0.isSameContent(as: release.release.target)
        }
        if let label = same?.label {
            offer.label = label
        } else {
            offer.label = "v\(history.nextLabelNumber)"
        }
        guard let content = release.content else { return PreparedClientOffer(offer) }
        var package = CodePushPackage(content, folder: configuration.folder)
        let hash = try package.hash().description
        offer.packageHash = hash
        if let signer {
            try refuseOwnSignature(content)
            let signature = try CodePushSignature.sign(hash, signer)
            package.signature = signature
            offer.signatures["package"] = signature
        }
        offer.archive = try release.digest(package.archive())
        return PreparedClientOffer(offer)
    }

    package static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool? {
        guard let hash = offer.packageHash, let signature = offer.signatures["package"] else {
            return nil
        }
        return try CodePushSignature.sign(hash, signer) == signature
    }

    private static func refuseOwnSignature(_ content: ClientContent) throws(StoreError) {
        for entry in content.manifest.entries
        where entry.path.description == CodePushPackage.signatureName {
            throw StoreError(
                .badPath,
                "version \(content.manifest.version) has a file \(CodePushPackage.signatureName), where the signature "
                    + "for CodePush's clients would stand: remove the file, or publish without a key"
            )
        }
    }
}

extension ClientHistory {
    /// The number of the next label: above all that clients may know.
    fileprivate var nextLabelNumber: Int64 {
        // Read from a file, neither is so large that none follows.
        max(offers.map(\.labelNumber).max() ?? 0, labelCount) + 1
    }
}
