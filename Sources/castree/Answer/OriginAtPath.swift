import CASStore
import ClientSystems
import HotPush
import ServeFromCAS
import Synchronization

/// The origin that is served, at its path: a link may be switched there, or a backup restored in its place.
final class OriginAtPath: ObjectFiles {
    private struct State {
        var responder: OriginResponder
        var root: FileStatus
        var isGone = false
    }

    private let state: Mutex<State>
    private let path: String
    /// A mirror's directory is not replaced by others.
    private let isMirror: Bool
    private let fileSystem = POSIXFileSystem()
    private let notice: @Sendable (String) -> Void

    /// - Parameter notice: receives reports that the origin is gone, is back, or is another one.
    init(
        _ responder: OriginResponder, isMirror: Bool, notice: @escaping @Sendable (String) -> Void
    ) throws(StoreError) {
        path = responder.origin.path
        self.isMirror = isMirror
        self.notice = notice
        // If it is replaced between opening and this look, the next look finds a change and opens it once more.
        let root = try Self.root(path, fileSystem)
        var opened = responder
        if !isMirror { opened = responder.moved(to: try DirectoryOrigin(path)) }
        state = Mutex(State(responder: opened, root: root))
    }

    var responder: OriginResponder { state.withLock { $0.responder } }

    /// Answers from the origin that is at the path now.
    /// - Throws: `.noOrigin` if there is none; what opening throws.
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
