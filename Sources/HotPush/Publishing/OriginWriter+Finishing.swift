import CASStore

// What a publisher that signs was kept from finishing.

extension OriginWriter {
    /// Writes the pointers that were signed by a command which was cut short: see ``SignedSequences``.
    ///
    /// Devices may have seen them, whatever stands here now. All that they name was durable before they were signed.
    /// - Throws: `.untrusted` if a release's manifest is not there any more; what writing throws.
    func finishSigned() throws(StoreError) {
        let sealing = options.sealing
        guard sealing.isSigning else { return }
        let pointers = try pointers()
        for pointer in try sealing.unfinished(at: place, upon: pointers) {
            let before = pointers[pointer.channel]
            let known = Set((before?.releases ?? []).compactMap { $0.version?.manifest })
            for version in pointer.releases.compactMap(\.version)
            where !known.contains(version.manifest) {
                let name = OriginLayout.manifestFile(version.manifest)
                guard try fileSystem.status(manifests.raw, name) != nil else {
                    throw PointerSealing.cannotFinish(pointer, at: place)
                }
            }
            options.notice(PointerSealing.finishing(pointer, at: place))
            try UnreferencedManifests.forget(pointer, in: self)
            try write(sealed: pointer, upon: before)
        }
    }
}
