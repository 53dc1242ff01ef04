import CASStore
import Storage

// Whether devices would take what is signed: the keys of an origin may have changed.

extension PointerSealing {
    /// What a pointer takes over, if devices that follow the origin's keys count those that sign now.
    ///
    /// Who adopts a pointer takes nothing from it that somebody else may have put there: the version of the trust is the
    /// newest that the origin proves.
    /// - Throws: `.untrusted` if fewer of the keys that count sign than must, unless fewer are allowed.
    func counted(_ base: Base, in origin: any ObjectStorage) throws(StoreError) -> Base {
        var base = base
        var file: TrustFile?
        if adopts {
            file = try newest(of: base.origin, in: origin)
            if !allowsFewer, let claimed = base.trustVersion, claimed > file?.version ?? 1 {
                throw .untrusted(
                    "what is to be adopted in \(origin.identity) names version \(claimed) of the trust, and "
                        + "\(OriginLayout.trust(claimed)), or one before it, is not there; \(TrustFile.remedy); "
                        + "if a stranger has named it, say --unsigned, too")
            }
            base.trustVersion = file?.version
        } else if let version = base.trustVersion {
            file = try origin.trust(version)
            base.lacksTrust = file == nil
        }
        // Devices that know the version need no file: that it is gone keeps only those from following that are behind.
        guard let file, !allowsFewer else { return base }
        let signing = Set(signers.map(\.key))
        let count = file.trusted.keys.filter(signing.contains).count
        guard file.origin != base.origin || count < file.trusted.threshold else { return base }
        let path = OriginLayout.trust(file.version)
        let ids = file.trusted.keys.map(\.id).joined(separator: ", ")
        throw StoreError(
            .untrusted,
            file.origin == base.origin
                ? "\(path) of \(origin.identity) says that \(file.trusted.threshold) of \(ids) must sign, and \(count) of them "
                    + "would: devices would refuse it; sign by these keys, or change them (castree trust rotate); if none "
                    + "of them was ever yours, a stranger has put the file there: delete it"
                : "\(path) of \(origin.identity) belongs to another origin (\(file.origin)): somebody has copied it there; put "
                    + "the right one back")
    }

    /// The newest version of an origin's trust that follows from the ones before it; `nil` without any.
    private func newest(
        of origin: String, in place: any ObjectStorage
    ) throws(StoreError) -> TrustFile? {
        var newest: TrustFile?
        while let file = try TrustFile.ifSound({ () throws(StoreError) in
            try place.trust((newest?.version ?? TrustFile.firstVersion) + 1)
        }) {
            guard file.version <= TrustChain.versionMax else { return newest }
            do throws(StoreError) {
                // Who counted before the first change nobody has written down.
                let previous = newest?.trusted ?? file.trusted
                try file.check(follows: previous, file.version - 1, of: origin)
            } catch {
                // No device follows it either.
                guard error.code == .untrusted else { throw error }
                return newest
            }
            newest = file
        }
        return newest
    }
}
