import CASStore
import ClientSystems
import HotPush
import ServeFromCAS
import Synchronization

/// The origin that is served, at its path: a link may be switched there, or a backup put back in its place.
final class StandingOrigin: ObjectFiles {
    private struct State {
        var responder: OriginResponder
        /// What stands at the path, as far as it is served.
        var root: FileStatus
        /// Whether nothing can be opened there, and that has been said.
        var isGone = false
    }

    private let state: Mutex<State>
    private let path: String
    /// A mirror's directory is nobody else's.
    private let isMirror: Bool
    private let fileSystem = POSIXFileSystem()
    private let notice: @Sendable (String) -> Void

    /// - Parameter notice: told when the origin is gone, is there again, and is another one.
    init(
        _ responder: OriginResponder, notice: @escaping @Sendable (String) -> Void
    ) throws(StoreError) {
        path = responder.origin.path
        isMirror = responder.isMirror
        self.notice = notice
        // If it is replaced between its opening and this look, the next one finds no change: it is opened once more.
        let root = try Self.root(path, fileSystem)
        var opened = responder
        if !isMirror { opened = responder.moved(to: try DirectoryOrigin(path)) }
        state = Mutex(State(responder: opened, root: root))
    }

    /// Answers from what was there at the last look.
    var responder: OriginResponder { state.withLock { $0.responder } }

    /// Answers from what stands at the path now.
    /// - Throws: `.noOrigin` if nothing does, or no origin; what opening throws.
    func look() throws(StoreError) -> OriginResponder {
        let known = state.withLock { $0 }
        if isMirror { return known.responder }
        do throws(StoreError) {
            let root = try Self.root(path, fileSystem)
            if root.isSameFile(as: known.root) {
                if known.isGone { goOn { $0.isGone = false } }
                return known.responder
            }
            let responder = known.responder.moved(to: try DirectoryOrigin(path))
            goOn { state in
                // Another thread may have been faster.
                if root.isSameFile(as: state.root) { return }
                state = State(responder: responder, root: root)
            }
            return responder
        } catch {
            let isNews = state.withLock { state in
                defer { state.isGone = true }
                return !state.isGone
            }
            if isNews { notice("\(error.message); nothing is served until there is one again") }
            throw error
        }
    }

    /// Notes what stands there now, and says so if something has changed.
    private func goOn(_ change: (inout State) -> Void) {
        let (before, after) = state.withLock { state in
            let before = state
            change(&state)
            return (before, state)
        }
        if !after.root.isSameFile(as: before.root) {
            notice(
                "there is another origin at \(printable(path)) now, and it is served from now on")
        } else if before.isGone, !after.isGone {
            notice("the origin at \(printable(path)) is back")
        }
    }

    /// What stat(2) says of the directory, links followed.
    private static func root(
        _ path: String, _ fileSystem: POSIXFileSystem
    ) throws(StoreError) -> FileStatus {
        let status: FileStatus?
        do throws(StoreError) {
            status = try fileSystem.status(POSIXFileSystem.workingDirectory, path + "/.")
        } catch {
            guard error.code == .notFound || error.isNotDirectory else { throw error }
            status = nil
        }
        guard let status else {
            throw StoreError(.noOrigin, "there is no origin in \(printable(path)) now")
        }
        return status
    }

    // MARK: Files

    func open(_ address: ObjectID) throws(StoreError) -> ObjectReader? {
        try responder.origin.open(address)
    }

    func missing(_ object: ObjectID) -> StoreError { responder.origin.missing(object) }
}
