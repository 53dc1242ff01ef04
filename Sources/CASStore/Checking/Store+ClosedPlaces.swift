// What is closed to the store's owner: mode 000, say, after a chmod that went too far; or another user's.

extension Store {
    /// Finds everything in a store that its owner may not read, and lets them with a repair.
    ///
    /// For checks that were refused something; it looks at every file.
    /// - Parameters:
    ///   - path: where the store is.
    ///   - repairing: whether to set the modes.
    ///   - fileSystem: makes the calls.
    /// - Throws: what is wrong with the root of the store; what looking and setting modes throw.
    static func checkClosed(
        at path: String, repairing: Bool, fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) -> [Finding] {
        let root = try openRoot(path, fileSystem)
        let fileSystem = try OwnersFileSystem.around(fileSystem, root: root.raw, of: path)
        let owner = Owner(try fileSystem.status(root.raw))
        guard [0, owner.user].contains(effectiveUser()) else { return [] }
        var findings: [Finding] = []
        // The quarantine first: what is made anew is put there.
        let names = try fileSystem.names(in: root.raw).filter(StoreLayout.topLevelNames.contains)
            .sorted()
        for isFirst in [true, false] {
            let quarantine = try openQuarantineOrRoot(root.raw, fileSystem)
            try checkClosed(
                names.filter { ($0 == StoreLayout.quarantine) == isFirst }, in: root.raw, "", owner,
                mending: repairing ? quarantine.raw : nil, fileSystem, &findings)
        }
        return findings
    }

    /// Where to put what is made anew; the root of the store, if the quarantine itself cannot be opened.
    private static func openQuarantineOrRoot(
        _ root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            let there = try fileSystem.openIfPresent(root, StoreLayout.quarantine, .directory)
            if let there { return there }
        } catch {
            guard error.isOfOneName || error.isNotDirectory else { throw error }
        }
        return try fileSystem.open(root, ".", .directory, mode: 0)
    }

    private static func checkClosed(
        _ names: [String], in directory: Int32, _ prefix: String, _ owner: Owner,
        mending quarantine: Int32?, _ fileSystem: any FileSystem, _ findings: inout [Finding]
    ) throws(StoreError) {
        for name in names {
            guard let status = try fileSystem.status(directory, name) else { continue }
            let path = prefix + name
            if let finding = try checkForeign(
                name, path, status, in: directory, owner, mending: quarantine, fileSystem)
            {
                findings.append(finding)
                // Root has given it back; the owner has another one, or none.
                guard finding.isRepaired, effectiveUser() == 0 else { continue }
            }
            let now = try fileSystem.status(directory, name) ?? status
            if let finding = try checkClosed(
                name, path, now, in: directory, owner.user, repairing: quarantine != nil,
                fileSystem)
            {
                findings.append(finding)
                if quarantine == nil { continue }
            }
            guard status.kind == .directory, now.owner == owner.user,
                let inner = try fileSystem.openIfPresent(directory, name, .directory)
            else { continue }
            try checkClosed(
                fileSystem.names(in: inner.raw).sorted(), in: inner.raw, path + "/", owner,
                mending: quarantine, fileSystem, &findings)
        }
    }

    /// Finds out whether one thing is closed to the owner of the store, whose it is.
    ///
    /// - Parameter path: where it is, inside the store.
    static func checkClosed(
        _ name: String, _ path: String, _ status: FileStatus, in directory: Int32, _ owner: UInt32,
        repairing: Bool, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Finding? {
        guard status.owner == owner, let mode = Self.leastMode(of: path, status.kind),
            status.mode & mode & 0o700 != mode & 0o700
        else { return nil }
        if repairing { try fileSystem.setMode(directory, name, status.mode | mode) }
        return Finding(
            .wrongMode, path: printable(path, .max),
            "\(printable(path)) in the store is closed to its owner (mode \(octal(status.mode)))"
                + (repairing ? "" : "; castree fsck --repair opens it"),
            isRepaired: repairing)
    }

    /// The rights that castree gives at least; `nil` for what is opened by nobody.
    private static func leastMode(of path: String, _ kind: FileStatus.Kind) -> UInt32? {
        let isFixed = [StoreLayout.objects, StoreLayout.manifests, StoreLayout.versions].contains {
            path.hasPrefix($0 + "/")
        }
        // What is staged is read-only from the moment in which it is whole, and so is what was put aside.
        let isOnlyRead = [StoreLayout.staging, StoreLayout.quarantine].contains {
            path.hasPrefix($0 + "/")
        }
        switch kind {
        case .directory:
            // Trees, and those that were put aside.
            let isOfTree = [StoreLayout.versions, StoreLayout.quarantine].contains {
                path.hasPrefix($0 + "/")
            }
            return isOfTree ? 0o555 : 0o755
        case .regular: return isFixed ? 0o444 : isOnlyRead ? 0o400 : 0o600
        default: return nil
        }
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode & 0o777, radix: 8)
        return String(repeating: "0", count: 3 - digits.count) + digits
    }
}
