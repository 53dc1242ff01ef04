/// A request to a ``ModelStorage``, as its schedule sees it.
package struct ModelRequest: Sendable, Hashable, CustomStringConvertible {
    /// The verbs of a bucket.
    package enum Verb: String, Sendable, Hashable {
        case get, head, put, putIfAbsent, putIf, list, delete

        init(_ condition: WriteCondition) {
            switch condition {
            case .none: self = .put
            case .absent: self = .putIfAbsent
            case .matching: self = .putIf
            }
        }
    }

    /// Counts the actor's requests, from 1: the same in every order of the actors.
    package var number: Int
    /// Whose it is.
    package var actor: String
    package var verb: Verb
    /// The key, the prefix of a listing, or the first key of a deletion.
    package var key: String

    package var isWrite: Bool {
        switch verb {
        case .put, .putIfAbsent, .putIf, .delete: true
        case .get, .head, .list: false
        }
    }

    package var description: String { "\(actor) \(number): \(verb.rawValue) \(key)" }
}

/// What happens to one request.
package enum RequestFate: Sendable, Hashable {
    /// It is applied and answered.
    case answered
    /// It is applied, and the answer is lost: a write is unknown, a read throws `.network`.
    case lostAnswer
    /// It is never applied, and no answer comes.
    case dropped
    /// No answer comes, and a write is applied just before a later request.
    ///
    /// The number says before which of all actors' requests: 1 is the next one. A read is only dropped.
    case ghost(requests: Int)
    /// A read shows what was there before the last change of the key; a listing, before the last
    /// change of the store. A write is answered.
    case stale
    /// A file comes with one bit turned, as without TLS it may. Anything else is answered.
    case turned
    /// The store refuses it: a right is missing.
    case denied
    /// A listing does not show that key.
    case unlisted(String)
    /// The caller ends here, as by a kill: `.interrupted` is thrown, and by every later call.
    case end(isApplied: Bool)
}

/// Decides what happens to each request; may block, to let others go first.
package typealias RequestSchedule = @Sendable (ModelRequest) -> RequestFate

/// What the store of a model can do and allows.
package struct ModelDialect: Sendable, Hashable {
    /// How `If-Match` may be spelled; empty: 501.
    package var tagSpellings: Set<String> = ["quoted"]
    /// Whether `If-None-Match: *` is known; otherwise 501.
    package var knowsIfNoneMatch = true
    /// The most keys of a page, whatever is asked for.
    package var pageCountMax = 1_000
    /// Bytes that fit in; a write beyond throws `.outOfSpace`.
    package var byteCountMax: Int64 = .max

    package init() {}
}

/// What an actor may do.
package struct ModelRights: OptionSet, Sendable, Hashable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let get = ModelRights(rawValue: 1)
    package static let put = ModelRights(rawValue: 2)
    /// Without it, a missing key is refused, too.
    package static let list = ModelRights(rawValue: 4)
    package static let delete = ModelRights(rawValue: 8)
    package static let all: ModelRights = [.get, .put, .list, .delete]
}
