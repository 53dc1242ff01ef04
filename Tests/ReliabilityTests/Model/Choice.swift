import Foundation

/// What of all that no sync has reached a power cut leaves.
struct Choice: Sendable, CustomStringConvertible {
    /// Of a file that was written to.
    enum Bytes: Sendable, Hashable { case old, new, torn }
    /// Of SQLite's files; `pages`: these of the changed ones, in a file that says it is the newer one.
    enum Index: Sendable, Hashable { case absent, old, new, torn, pages(Set<Int>) }

    var description: String
    /// The changes of names, by their place among those that are pending.
    var names: Set<Int>
    var bytes: Bytes
    /// What becomes of the bytes of single files.
    var exceptions: [Int: Bytes] = [:]
    /// Whether the mode of a file is there although its bytes are not.
    var keepsModes = false
    var index: Index

    /// What a cut may take or leave by itself.
    enum Part: Sendable, Hashable {
        case name(Int), bytes(Int), index, page(Int)
    }

    /// Nothing: the disk was slow.
    static let nothing = Choice(description: "nothing", names: [], bytes: .old, index: .old)

    /// Everything: the process was killed, and the machine lives.
    static func everything(_ device: Device) -> Choice {
        Choice(
            description: "everything", names: Set(device.pending.indices), bytes: .new,
            index: .new)
    }

    /// All names and modes, none of the bytes: delayed allocation.
    static func names(_ device: Device) -> Choice {
        Choice(
            description: "names", names: Set(device.pending.indices), bytes: .old,
            keepsModes: true, index: .old)
    }

    /// All names, torn bytes.
    static func torn(_ device: Device) -> Choice {
        Choice(
            description: "torn bytes", names: Set(device.pending.indices), bytes: .torn,
            index: .torn)
    }

    /// Everything but SQLite's files.
    static func unindexed(_ device: Device) -> Choice {
        var choice = everything(device)
        choice.description = "everything without an index"
        choice.index = .absent
        return choice
    }

    /// Everything but one part.
    ///
    /// - Parameters:
    ///   - pages: the changed pages of the index.
    ///   - inOrder: names reach the disk in the order of their changes, as with a journal.
    static func everything(
        _ device: Device, but part: Part, of pages: [Int], inOrder: Bool
    ) -> Choice {
        var choice = Choice.everything(device)
        choice.description = "everything but \(part)"
        switch part {
        case .name(let number) where inOrder: choice.names = Set(0..<number)
        case .name(let number): choice.names.remove(number)
        case .bytes(let node): choice.exceptions[node] = .old
        case .index: choice.index = .old
        case .page(let page): choice.index = .pages(Set(pages).subtracting([page]))
        }
        return choice
    }

    /// One part, and the names that lead to it; of a name also with its bytes.
    static func nothing(_ device: Device, but part: Part, inOrder: Bool) -> [Choice] {
        var choice = Choice.nothing
        choice.description = "nothing but \(part)"
        switch part {
        case .name(let number):
            choice.names = inOrder ? Set(0...number) : device.reaching(number)
            var whole = choice
            whole.description += " with its bytes"
            whole.bytes = .new
            return [choice, whole]
        case .bytes(let node): choice.exceptions[node] = .new
        case .index: choice.index = .new
        case .page(let page): choice.index = .pages([page])
        }
        return [choice]
    }

    /// The states of one point that are looked at.
    ///
    /// - Parameters:
    ///   - isEnd: the next change is a sync, or there is none: each part is taken away alone and left
    ///     alone here, where there are most that rely on it. Elsewhere only the newest part is left
    ///     alone, and one in turn taken away.
    ///   - turn: which.
    static func all(
        of device: Device, saved: RecordingDisk.IndexFiles?, now: RecordingDisk.IndexFiles,
        isEnd: Bool, turn: Int, inOrder: Bool
    ) -> [Choice] {
        var choices = [nothing, everything(device), names(device), torn(device)]
        let pages = now.changedPages(since: saved ?? .absent)
        var parts = device.pending.indices.map { Part.name($0) }
        if !isEnd, let newest = parts.last {
            choices += nothing(device, but: newest, inOrder: inOrder)
        }
        parts += device.unsaved.map { .bytes($0) }
        if saved != now { parts += [.index] + pages.map { .page($0) } }
        guard !parts.isEmpty else { return choices }
        guard isEnd else {
            let part = parts[turn % parts.count]
            return choices + [everything(device, but: part, of: pages, inOrder: inOrder)]
        }
        if saved != now { choices.append(unindexed(device)) }
        for part in parts {
            choices.append(everything(device, but: part, of: pages, inOrder: inOrder))
            choices += nothing(device, but: part, inOrder: inOrder)
        }
        return choices
    }
}

extension Device {
    /// A pending change of names, with those that make the directories it is in.
    func reaching(_ number: Int) -> Set<Int> {
        var reached: Set = [number]
        var queue = pending[number].entries.map(\.directory)
        while let directory = queue.popLast() {
            for index in pending.indices where !reached.contains(index) {
                let makes = pending[index].entries.contains { $0.node == directory }
                guard makes else { continue }
                reached.insert(index)
                queue += pending[index].entries.map(\.directory)
            }
        }
        return reached
    }
}

extension Device.Change {
    var isSync: Bool {
        switch self {
        case .sync, .failedSync, .syncAll, .syncIndex: true
        default: false
        }
    }
}

extension RecordingDisk.IndexFiles {
    static let pageSize = 4096

    /// The pages that differ from those of an older file.
    func changedPages(since old: Self) -> [Int] {
        guard let database else { return [] }
        let before = old.database ?? []
        return stride(from: 0, to: database.count, by: Self.pageSize).filter { start in
            let end = min(start + Self.pageSize, database.count)
            guard end <= before.count else { return true }
            return memcmp(
                Array(database[start..<end]), Array(before[start..<end]), end - start) != 0
        }.map { $0 / Self.pageSize }
    }

    /// This file, with those changed pages that `isNew` names, and the older ones or zeros for the others.
    func mixed(over old: Self, _ isNew: (Int) -> Bool) -> [UInt8]? {
        guard var mixed = database else { return nil }
        let before = old.database ?? []
        for page in changedPages(since: old) where !isNew(page) {
            let start = page * Self.pageSize
            let end = min(start + Self.pageSize, mixed.count)
            mixed.replaceSubrange(
                start..<end,
                with: end > before.count
                    ? ArraySlice(repeating: 0, count: end - start) : before[start..<end])
        }
        return mixed
    }
}
