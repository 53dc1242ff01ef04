import CASStore
import VersionTree

/// The source of new versions for a server's store; any thread calls it, so it must not wait for a network.
package struct ServedUpdates: Sendable {
    package enum Wish: String, Sendable, Hashable, CaseIterable {
        case check
        case update
    }

    /// Called when a page asks; the result is announced to all pages.
    package var ask: @Sendable (Wish) -> Void
    /// Receives whether pages are in the foreground: one is visible, or has no bridge to report that it is not.
    package var noteForeground: @Sendable (Bool) -> Void

    package init(
        ask: @escaping @Sendable (Wish) -> Void,
        noteForeground: @escaping @Sendable (Bool) -> Void
    ) {
        self.ask = ask
        self.noteForeground = noteForeground
    }
}

/// When pages get a version that waits; decided by the program that brings it.
package struct SwitchingRule: Sendable, Hashable {
    /// Whether only the first page of the next process starts it.
    package var waitsForStart: Bool
    /// Whether pages that hear of it reload themselves.
    package var reloads: Bool

    package init(waitsForStart: Bool = false, reloads: Bool = false) {
        self.waitsForStart = waitsForStart
        self.reloads = reloads
    }
}
