import HotPush
import Platform
import StrictJSON
import VersionTree

// What CodePush announces and records of a release: label, package hash, archive digest, signature.

extension CodePush {
    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        for requirement in release.release.requirements {
            if let sentence = CodePushTerms.objection(to: requirement) {
                objections.refuse(sentence)
            }
        }
        if let perMille = release.release.rollout?.perMille, perMille % 10 != 0 {
            objections.warn(
                "it is for \(perMille) of 1000 devices, and CodePush knows whole per cents: "
                    + (perMille < 10
                        ? "no client of CodePush gets it"
                        : "\(perMille / 10) % of its clients get it"))
        }
        if release.release.target == .embedded {
            objections.warn(
                "devices are to go back to the embedded version, and CodePush's clients keep what they "
                    + "run: publish that content as a release of its own")
        }
        objections.warnUnlessAsked(release.configuration)
        objections.warnUnless(
            release, requires: CodePushTerms.kinds, "CodePush", example: "appVersionRange=^1.2")
        guard let content = release.content else { return objections }
        let package = CodePushPackage(content, folder: release.configuration.folder)
        if content.manifest.count == 0 {
            objections.refuse("it has no files, and CodePush's clients cannot unpack nothing")
        } else if content.paths.allSatisfy({ $0.utf8.starts(with: "\(package.folder)/".utf8) }) {
            objections.refuse(
                "all its files are below \(package.folder)/, which is put above them for CodePush's clients: "
                    + "add the files without that folder")
        }
        try objections.refuseUnlessArchived { () throws(StoreError) in _ = try package.archive() }
        if let name = package.nameBeyondASCII {
            objections.warn(
                "it has names beyond ASCII, \(printable(name)) first, for which CodePush's clients on "
                    + "iOS compute a wrong hash: all clients fetch the whole archive, and those on iOS that "
                    + "check signatures take none")
        }
        objections.warn(ofExecutablesIn: content.manifest, "CodePush's clients")
        return objections
    }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        // Clients identify a release by its label, and roll-outs select by it. So the same release keeps its label,
        // also when it is offered to more clients, provided it is the first or the newest. Rolling back to an older
        // one is a new release.
        let known = [
            history.offer(of: release.release.sequence),
            release.head.flatMap { history.offer(of: $0) }, history.newest,
        ]
        let same = known.lazy.compactMap { $0 }.first {
            $0.content == release.release.version?.content
        }
        prepared.offer.label = same?.label ?? "v\(history.nextLabelNumber)"
        guard let content = release.content else { return }
        var package = CodePushPackage(content, folder: release.configuration.folder)
        let hash = try package.hash().description
        prepared.offer.packageHash = hash
        if let signer {
            if content.paths.contains(CodePushPackage.signatureName) {
                throw StoreError(
                    .badPath,
                    "version \(content.manifest.version) has a file \(CodePushPackage.signatureName), where the signature "
                        + "for CodePush's clients would stand: remove the file, or publish without a key"
                )
            }
            package.signature = try signature(of: hash, signer)
            prepared.offer.signatures["package"] = package.signature
        }
        prepared.offer.archive = try release.digest(package.archive())
    }

    /// Signs a package hash: a JWT (RFC 7519) by RS256 (RFC 7518, section 3.3).
    private static func signature(
        of hash: String, _ signer: any ClientSigner
    ) throws(StoreError) -> String {
        let header = JSONWriter.document { writer in
            writer.member("alg", "RS256")
            writer.member("typ", "JWT")
        }
        let claims = JSONWriter.document { writer in
            writer.member("claimVersion", "1.0.0")
            writer.member("contentHash", hash)
        }
        let message = Base64.urlString(header) + "." + Base64.urlString(claims)
        return message + "." + Base64.urlString(try signer.sign(Array(message.utf8)))
    }

    static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool? {
        guard let hash = offer.packageHash, let known = offer.signatures["package"] else {
            return nil
        }
        return try signature(of: hash, signer) == known
    }

    static func isIncomplete(_ offer: ClientOffer) -> Bool {
        offer.label == nil || offer.packageHash == nil
    }

    static func forgery(
        in offer: ClientOffer, of release: ClientRelease, reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        guard let content = release.content else { return nil }
        let package = CodePushPackage(content, folder: release.configuration.folder)
        let isOwn = try offer.packageHash == package.hash().description
        return isOwn ? nil : "its files have another package hash"
    }
}
