/// One thing that a check found wrong.
public struct Finding: Sendable, Hashable {
    /// What is wrong.
    ///
    /// The raw value is the `kind` of JSON output, and stays as it is.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// An object's bytes do not match its address.
        case damagedObject
        /// An object's executable copy does not match it.
        case damagedExecutableCopy = "damagedTwin"
        /// A version names an object that the index knows as present, but it is not there.
        case missingObject
        /// Something that is not a regular file stands in place of an object.
        case notAFile
        /// An object's file has a mode other than 0444 (its executable copy: 0555).
        case wrongMode
        /// A sound object that the index does not know.
        case unindexedObject
        /// The index holds a wrong fingerprint or size of a sound object.
        case wrongFingerprint
        /// A file in `objects/` that is not castree's. Never deleted.
        case strayFile
        /// The index disagrees with the manifests about who names what.
        case wrongCount
        /// The index file itself is damaged.
        case damagedIndex
        /// A manifest cannot be read.
        case damagedManifest
        /// A manifest is not the one that was registered: somebody has edited or replaced it.
        case editedManifest
        /// A version is registered, but its manifest is not there. Nothing that it names is collected.
        case missingManifest
        /// A manifest was made again from the tree of its version, and nothing shows that it says all.
        case recoveredManifest
        /// Files of a tree are copies of objects but could be links: the store was copied without its links.
        case copiedInTree
        /// A tree is missing a file of its manifest.
        case missingInTree
        /// A tree shows other bytes than its manifest says.
        case wrongInTree
        /// A tree has something that its manifest does not list.
        case strayInTree
        /// A file of a tree has the wrong mode.
        case wrongModeInTree
        /// A tree of no registered version.
        case strayTree
        /// A complete version that is current, pending or known good has no tree.
        case missingTree
        /// A version that is current, pending or known good is missing objects.
        case incompleteVersion
        /// An incomplete version promises a size that one of its objects does not have: it cannot become whole.
        case falseManifest
        /// `lifecycle.json` cannot be read.
        case damagedLifecycle
        /// `lifecycle.json` can be read but does not say what castree wrote: somebody has edited it.
        case editedLifecycle
        /// `trust.json` cannot be read: nothing is taken from any origin.
        case damagedTrust
        /// The lifecycle names a version that is not registered.
        case unknownVersion
        /// `current` does not point to the current version.
        case wrongCurrentLink
        /// A small file of the store, such as `server.json` or the event log, cannot be read.
        case damagedNote
        /// Something that a dead writer left.
        case leftover
        /// A file or directory of the store that belongs to another user than the store.
        case wrongOwner
    }

    /// What is wrong.
    public var kind: Kind
    /// The object concerned.
    public var object: ObjectID?
    /// The version concerned.
    public var version: String?
    /// The path concerned: inside the version's tree, or inside the store.
    public var path: String?
    /// A sentence for people.
    public var message: String
    /// Whether a repair has made the store agree with itself again.
    ///
    /// Lost content stays lost: the versions that had it are incomplete until it is added again.
    public var isRepaired: Bool
    /// Whether a repair can do no more: content that versions name is lost.
    package var isLost = false

    package init(
        _ kind: Kind, object: ObjectID? = nil, version: String? = nil, path: String? = nil,
        _ message: String, isRepaired: Bool = false
    ) {
        self.kind = kind
        self.object = object
        self.version = version
        self.path = path
        self.message = message
        self.isRepaired = isRepaired
    }
}

extension Finding {
    /// What is left of it after `body` has repaired it: if something cannot be opened, moved or removed, it stays, and the
    /// finding says why.
    package func repaired(
        by body: () throws(StoreError) -> Finding
    ) throws(StoreError) -> Finding {
        do throws(StoreError) {
            return try body()
        } catch { return try staying(error) }
    }

    /// The same, of which an error keeps the repair; throws any error that is not about one name.
    package func staying(_ error: StoreError) throws(StoreError) -> Finding {
        guard error.isOfOneName else { throw error }
        return adding(
            error.isMountPoint
                ? "; it stays: something is mounted there (unmount it, then repeat the repair)"
                : "; it stays: \(error.message)")
    }

    /// The same, with more to say.
    package func adding(_ text: String) -> Finding {
        var finding = self
        finding.message += text
        return finding
    }

    /// The same, repaired.
    package var done: Finding {
        var finding = self
        finding.isRepaired = true
        return finding
    }

    /// Whether something that is not castree's stands among the objects.
    package var isAmongObjects: Bool {
        kind == .strayFile && (path?.hasPrefix(StoreLayout.objects + "/") ?? false)
    }

    /// Whether the next writer or the next collection ends it: a writer that died has left it under its lease.
    package var mendsItself: Bool {
        guard kind == .leftover, let path else { return false }
        let parts = path.split(separator: "/")
        guard parts.count == 2, let name = parts.last else { return false }
        return parts[0] == StoreLayout.leases
            || Store.lease(thatLeft: String(name), in: .versions) != nil
    }
}

extension [Finding] {
    /// The paths, inside the store, at which a check found something in the wrong place.
    package var wrongPlaces: [String] {
        var places: Set<String> = []
        for finding in self {
            switch (finding.kind, finding.object) {
            case (.damagedObject, let object?), (.notAFile, let object?):
                places.insert("\(StoreLayout.objects)/\(StoreLayout.objectPath(object))")
            case (.damagedExecutableCopy, let object?):
                places.insert(
                    "\(StoreLayout.objects)/\(StoreLayout.objectPath(object, executable: true))")
            case (.strayFile, _):
                if let path = finding.path { places.insert(path) }
            default: continue
            }
        }
        return places.sorted()
    }
}
