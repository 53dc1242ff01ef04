import CASStore
import VersionTree

/// What brings new versions to a server's store, as the server and its pages see it.
///
/// The closures are called from any thread and must not wait for a network.
package struct ServedUpdates: Sendable {
    /// What a page may ask for.
    package enum Wish: String, Sendable, Hashable, CaseIterable {
        /// To ask the origin, and download nothing.
        case check
        /// To bring the app up to date.
        case update
    }

    /// A page asks; what comes of it is announced to all pages.
    package var ask: @Sendable (Wish) -> Void
    /// Whether pages are in the foreground: one is visible, or some page has no bridge to say so.
    package var noteForeground: @Sendable (Bool) -> Void

    package init(
        ask: @escaping @Sendable (Wish) -> Void,
        noteForeground: @escaping @Sendable (Bool) -> Void
    ) {
        self.ask = ask
        self.noteForeground = noteForeground
    }
}

/// When pages get a version that waits; the program that brings it decides.
package struct SwitchingRule: Sendable, Hashable {
    /// Whether only the first page of the next process starts it.
    package var waitsForStart: Bool
    /// Whether pages that hear of it load themselves again.
    package var reloads: Bool

    package init(waitsForStart: Bool = false, reloads: Bool = false) {
        self.waitsForStart = waitsForStart
        self.reloads = reloads
    }
}
