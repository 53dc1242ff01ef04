package import CASStore
package import Console
package import VersionTree

/// Where the commands of a program find the path of their store.
package enum StoreSource: Hashable, Sendable {
    /// `--store DIR`, else `$CASTREE_STORE`, else `.castree`, here or above.
    case option
    /// The first operand, STORE.
    case operand

    func example(_ words: String) -> String {
        switch self {
        case .option: "castree \(words)"
        case .operand: "castree-fsck \(words) /srv/app-store"
        }
    }

    var arguments: [Argument] {
        switch self {
        case .option: []
        case .operand: [Argument("STORE", "the store's directory", completion: .directories)]
        }
    }
}

extension Option {
    package static let store = Option.text(
        "store", placeholder: "DIR", "the store", environment: "CASTREE_STORE",
        fallback: ".castree", completion: .directories)
    package static let wait = Option.text(
        "wait", placeholder: "TIME",
        "wait at most this long for other processes that use the store (10m; serve: 30s)")
}

extension Invocation {
    /// The path of the store, whether or not there is one.
    package func storePath(from source: StoreSource = .option) throws(CommandError) -> String {
        switch source {
        case .option: try requiredValue("store")
        case .operand: argument("STORE")
        }
    }

    /// Opens the store, which must exist, here or above; see `existingStorePath`.
    /// - Parameter notice: as in `storeOptions`.
    package func openStore(
        from source: StoreSource = .option, notice: (@Sendable (String) -> Void)? = nil
    ) throws -> VersionStore {
        let path = try existingStorePath(from: source)
        let options = try storeOptions(notice: notice)
        do throws(StoreError) {
            return try VersionStore.open(path, options: options)
        } catch {
            throw source == .option ? sayingWhoNamedStore(error) : error
        }
    }

    /// The error, extended by where the path came from if there is no such store: another one may be meant.
    package func sayingWhoNamedStore(_ error: StoreError) -> StoreError {
        guard error.code == .noStore else { return error }
        let source =
            if isGiven("store") {
                "--store names it"
            } else if isStoreNamed {
                "$CASTREE_STORE names it; --store DIR names another"
            } else {
                "it is the default; --store DIR names another"
            }
        var named = error
        named.message += " (\(source))"
        return named
    }

    /// The path of the store for a command that creates none: a named one, one here, or the nearest above, reported.
    /// - Throws: `noStore` if there is only another user's.
    package func existingStorePath(from source: StoreSource = .option) throws -> String {
        let path = try storePath(from: source)
        guard try source == .option && !isStoreNamed && !Self.isStore(path),
            let above = POSIXFileSystem().storeAbove(named: path)
        else { return path }
        guard above.isOwn else {
            throw StoreError(
                .noStore,
                "no store at \(path); \(above.path) belongs to another user: --store \(above.path) uses it"
            )
        }
        note("using the store \(above.path)")
        return above.path
    }

    /// The store, here or above, for a command that also works without one; `nil` if none can be read.
    package func storeIfAny() throws(CommandError) -> VersionStore? {
        .readable(at: try storePath(), isNamed: isStoreNamed)
    }

    /// Does work that may create the store; if it fails, a store that it created is removed if nothing is in it.
    package func leavingNoEmptyStore(_ body: () throws -> ExitStatus) throws -> ExitStatus {
        let path = try storePath()
        if try Self.isStore(path) { return try body() }
        do {
            return try body()
        } catch {
            // Why the work failed matters more than what is left.
            if (try? VersionStore.open(path).store.removeUnlessUsed()) == true {
                note("removed the store \(path) again; nothing is in it")
            }
            throw error
        }
    }

    private static func isStore(_ path: String) throws(StoreError) -> Bool {
        try POSIXFileSystem().status(
            POSIXFileSystem.workingDirectory, "\(path)/\(StoreLayout.format)") != nil
    }

    private var isStoreNamed: Bool {
        isGiven("store") || Option.store.environment.flatMap(environment)?.isEmpty == false
    }

    /// Opens the store, or creates it.
    /// - Parameters:
    ///   - check: called before a store is created at that path; it may throw.
    ///   - notice: as in `storeOptions`.
    package func openOrCreateStore(
        isDurable: Bool = true, check: (String) throws -> Void = { _ in },
        notice: (@Sendable (String) -> Void)? = nil
    ) throws -> VersionStore {
        let path = try storePath()
        let options = try storeOptions(isDurable: isDurable, notice: notice)
        do {
            return try VersionStore.open(path, options: options)
        } catch {
            guard .noStore ~= error else { throw error }
            try check(path)
            let (versions, isNew) = try VersionStore.create(at: path, options: options)
            if isNew {
                let above = isStoreNamed ? nil : POSIXFileSystem().storeAbove(named: path)
                let hint = above.map { "; there is one above: --store \($0.path) uses that" }
                note("created the store \(path)\(hint ?? "")")
            }
            return versions
        }
    }

    /// The options by which every command opens its store: the engine's notices become warnings, and a signal stops
    /// long work.
    /// - Parameter notice: takes notices instead of standard error, which might block.
    package func storeOptions(
        isDurable: Bool = true, notice: (@Sendable (String) -> Void)? = nil
    ) throws(CommandError) -> StoreOptions {
        // A browser shows nothing while its server waits, so a server waits less.
        let usual: Duration = command.name == "serve" ? .seconds(30) : .seconds(600)
        return StoreOptions(
            isDurable: isDurable, waitLimit: try duration("wait") ?? usual,
            notice: notice ?? { diagnostics.warn(code: "notice", $0) },
            isInterrupted: { Interruption.isRequested })
    }
}

extension Completion {
    /// The names of the versions; none if they cannot be read, because a completion must not fail.
    package static func versions(from source: StoreSource = .option) -> Completion {
        .words { context in
            context.store(from: source).flatMap { try? $0.store.manifestNames() } ?? []
        }
    }
}

extension CompletionContext {
    /// The store that the command line names; nil without one, because a completion must not fail.
    package func store(from source: StoreSource = .option) -> VersionStore? {
        guard let path = source == .option ? value("store") : operands.first else { return nil }
        return .readable(at: path, isNamed: source == .operand || isNamed("store"))
    }
}

extension VersionStore? {
    /// The store at a path or, if it was not named, the user's nearest one above; `nil` if none can be read, since
    /// completions work without it.
    fileprivate static func readable(at path: String, isNamed: Bool) -> VersionStore? {
        if let store = try? VersionStore.open(path) { return store }
        guard !isNamed, let above = POSIXFileSystem().storeAbove(named: path), above.isOwn
        else { return nil }
        // As above.
        return try? VersionStore.open(above.path)
    }
}
