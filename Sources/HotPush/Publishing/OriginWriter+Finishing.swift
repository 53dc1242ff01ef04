import CASStore

// What a publisher that signs was kept from finishing.

extension OriginWriter {
    /// Writes the pointers that were signed by a command which was cut short: see ``SignedSequences``.
    ///
    /// Devices may have seen them, whatever stands here now. All that they name was durable before they were signed.
    /// One that offers a release whose manifest is not there any more is left: its sequence stays used, and whoever wants the
    /// release publishes it again.
    /// - Throws: what writing throws.
    func finishSigned() throws(StoreError) {
        let sealing = options.sealing
        guard sealing.isSigning else { return }
        let pointers = try ChannelPointer.readSound(channels.raw, fileSystem, needing: nil)
        unfinished: for pointer in try sealing.unfinished(at: place, upon: pointers) {
            let before = pointers[pointer.channel]
            let known = Set((before?.releases ?? []).compactMap { $0.version?.manifest })
            for version in pointer.releases.compactMap(\.version)
            where !known.contains(version.manifest) {
                let name = OriginLayout.manifestFile(version.manifest)
                guard try fileSystem.status(manifests.raw, name) != nil else {
                    options.notice(PointerSealing.leaving(pointer, at: place))
                    continue unfinished
                }
            }
            options.notice(PointerSealing.finishing(pointer, at: place))
            try UnreferencedManifests.forget(pointer, in: self)
            try write(sealed: pointer, upon: before)
        }
    }
}
