import HotPush
import Platform
import Synchronization

/// What is to come, and who waits for it.
struct MirrorFetches: Sendable {
    /// By the files where they are asked for: elsewhere the same file may not be there.
    private var waiting: [PlacedFile: [MirrorErrand]] = [:]
    /// In the order in which they were asked for.
    private var known: ArraySlice<PlacedFile> = []
    private var strays: ArraySlice<PlacedFile> = []
    private var threadCount = 0
    private var strayCount = 0

    /// So many threads fetch what nobody knows to be there.
    private static let strayThreadMax = 2
    /// The largest archive and some more, in about 10 MB of memory; who comes then is told to come back.
    private static let countMax = 70_000

    /// Takes files for an errand, which counts each of them.
    /// - Returns: how many threads are to be started; `nil` if too much waits already.
    mutating func add(
        _ files: [PlacedFile], _ areKnown: Bool, _ errand: MirrorErrand, threadMax: Int
    ) -> Int? {
        guard waiting.count + files.count <= Self.countMax else { return nil }
        let news = files.filter { waiting[$0] == nil }
        for file in files { waiting[file, default: []].append(errand) }
        if areKnown { known += news } else { strays += news }
        let threads = min(news.count, max(threadMax, 1) - threadCount)
        threadCount += threads
        return threads
    }

    /// What comes next; `nil` if a thread has nothing to do.
    mutating func next() -> (file: PlacedFile, isKnown: Bool)? {
        while let file = known.popFirst() { if isWanted(file) { return (file, true) } }
        while strayCount < Self.strayThreadMax, let file = strays.popFirst() {
            guard isWanted(file) else { continue }
            strayCount += 1
            return (file, false)
        }
        threadCount -= 1
        return nil
    }

    /// Who has lost one file needs no other.
    private mutating func isWanted(_ file: PlacedFile) -> Bool {
        if waiting[file]?.contains(where: { !$0.hasEnded }) ?? false { return true }
        waiting[file] = nil
        return false
    }

    /// Takes a file that has come, or has not.
    /// - Returns: who waits for it.
    mutating func end(_ file: PlacedFile, _ isKnown: Bool) -> [MirrorErrand] {
        if !isKnown { strayCount -= 1 }
        return waiting.removeValue(forKey: file) ?? []
    }
}

/// Files that somebody waits for: all of them, or the first that cannot be had.
final class MirrorErrand: Sendable {
    /// Who has been told needs nothing any more: nothing is let go while a lock is held.
    private let state: Mutex<(left: Int, then: (@Sendable (StoreError?) -> Void)?)>

    init(_ count: Int, _ then: @escaping @Sendable (StoreError?) -> Void) {
        state = Mutex((count, then))
    }

    var hasEnded: Bool { state.withLock { $0.then == nil } }

    /// Counts a file.
    func end(_ failure: StoreError?) {
        let then = state.withLock { state in
            state.left -= 1
            return failure != nil || state.left == 0 ? state.then.take() : nil
        }
        then?(failure)
    }
}
