package import CASStore
package import StrictJSON

/// An event in a store's log, which is made to be sent to others: without content, its paths, and secrets.
package struct StoreEvent: Sendable, Hashable {
    package let name: String
    /// The fields in the log, in the order of their keys; absent ones are left out.
    package let members: [JSONValue.Member]

    package init(name: String, members: [JSONValue.Member]) {
        self.name = name
        self.members = members.withSortedKeys
    }

    package init(_ name: String, _ members: KeyValuePairs<String, JSONValue?>) {
        self.init(name: name, members: .present(members))
    }

    private init(_ name: String, of version: String) {
        self.init(name, ["version": .text(version)])
    }

    package subscript(key: String) -> JSONValue? { JSONValue.object(members)[key] }
    package func text(_ key: String) -> String? { self[key]?.asString }
    package func number(_ key: String) -> Int64? { self[key]?.asInt64 }
}

// The events of a store's verbs.
extension StoreEvent {
    package static func added(
        version: String, files: Int, bytes: Int64, newObjects: Int, newBytes: Int64
    ) -> StoreEvent {
        StoreEvent(
            "add",
            [
                "version": .text(version), "files": .integer(Int64(files)),
                "bytes": .integer(bytes), "newObjects": .integer(Int64(newObjects)),
                "newBytes": .integer(newBytes),
            ])
    }

    package static func switched(version: String, from: String?) -> StoreEvent {
        StoreEvent("switch", ["version": .text(version), "from": .text(from)])
    }

    package static func pending(version: String) -> StoreEvent {
        StoreEvent("pending", of: version)
    }

    package static func withdrawn(version: String) -> StoreEvent {
        StoreEvent("withdraw", of: version)
    }

    package static func booted(version: String) -> StoreEvent { StoreEvent("boot", of: version) }

    package static func confirmed(version: String) -> StoreEvent {
        StoreEvent("confirm", of: version)
    }

    package static func rolledBack(version: String, from: String, reason: String) -> StoreEvent {
        StoreEvent(
            "rollback",
            ["version": .text(version), "from": .text(from), "reason": .text(reason)])
    }

    package static func banned(
        version: String, content: ObjectID, reason: String, count: Int
    ) -> StoreEvent {
        StoreEvent(
            "ban",
            [
                "version": .text(version), "content": .text(content), "reason": .text(reason),
                "count": .integer(Int64(count)),
            ])
    }

    /// A ban was lifted.
    package static func unbanned(version: String) -> StoreEvent {
        StoreEvent("forgive", of: version)
    }

    package static func retired(version: String, references: Int) -> StoreEvent {
        StoreEvent(
            "retire", ["version": .text(version), "references": .integer(Int64(references))])
    }

    package static func collected(objects: Int, bytes: Int64) -> StoreEvent {
        StoreEvent("collect", ["objects": .integer(Int64(objects)), "bytes": .integer(bytes)])
    }

    /// A check of the store found something; `kinds` counts the findings of each kind.
    package static func found(kinds: [String: Int], repaired: Int) -> StoreEvent {
        StoreEvent(
            "found",
            [
                "kinds": .named(kinds) { .integer(Int64($0)) },
                "repaired": .integer(Int64(repaired)),
            ])
    }

    /// The app was shipped with another version than before.
    package static func embedded(
        version: String, previous: String?, becameCurrent: Bool
    ) -> StoreEvent {
        StoreEvent(
            "embedded",
            [
                "version": .text(version), "previous": .text(previous),
                "becameCurrent": .bool(becameCurrent),
            ])
    }

    /// An operation failed, of the store unless an origin failed.
    package static func failed(
        operation: String, code: String, isOfStore: Bool, message: String
    ) -> StoreEvent {
        StoreEvent(
            "failed",
            [
                "deed": .text(operation), "code": .text(code),
                "ofStore": isOfStore ? .bool(true) : nil, "message": .text(message),
            ])
    }

    /// A service worker showed a page of another version than the server's, or one that names none.
    package static func stalePage(version: String, shown: String?) -> StoreEvent {
        StoreEvent("stalePage", ["version": .text(version), "from": .text(shown)])
    }

    /// Why a version is left whose page may be one that the server itself refused something.
    package static let refusedPages =
        "it was not confirmed, and the server had refused files, or a connection to the bridge, that may be its page's"

    /// The operation that fails if an object cannot be shown.
    package static let showing = "show"
}

extension VersionStore {
    /// The same store with an observer of what its verbs have done.
    ///
    /// It runs on the thread that called the verb, outside every lock, after the change is durable.
    package func observed(by observer: @escaping @Sendable (StoreEvent) -> Void) -> VersionStore {
        VersionStore(store, observer: observer, limits: limits)
    }

    package func note(_ event: StoreEvent) { observer?(event) }

    /// Reports to the store's observer that an object could not be shown.
    package func noteDamage(_ failure: StoreError) {
        note(
            .failed(
                operation: StoreEvent.showing, code: failure.code.description, isOfStore: true,
                message: failure.message))
    }
}
