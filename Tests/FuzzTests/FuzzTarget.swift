import CASStore

/// A reader of bytes that come from strangers, and what must hold for whatever it is given.
///
/// The same targets run in two ways: seeded, in the tests, and under libFuzzer (`Tests/FuzzTests/run`).
struct FuzzTarget: Sendable {
    /// The name of its corpus and of the command's argument.
    var name: String
    /// Tokens of the language, for mutations to be made of.
    var words: [String]
    /// Reads the bytes; throws what is wrong with how they were read.
    ///
    /// To refuse bytes is right: an error of the reader is not thrown on.
    var check: @Sendable ([UInt8]) throws -> Void

    /// All of them.
    static let all: [FuzzTarget] = [
        requests, frames, bridgeFrames, fields, json, manifests, releases, pointers,
        places, deliveries, packTables, packOpenings, packFrames, deltas, responses, lifecycles,
        stamps, paths, answers, channelLists, serverFiles, checkFiles, bucketAnswers, logEntries,
        trustFiles, archives, facts, clientHistories, clientConfigurations, keys, canonical, trusts,
        markers, patches, patchLists,
    ]
}

/// What a reader must not do.
struct Complaint: Error, CustomStringConvertible {
    var description: String
}

func hold(_ condition: Bool, _ complaint: @autoclosure () -> String) throws {
    if !condition { throw Complaint(description: complaint()) }
}

/// What is read; `nil` if it is refused, in a sentence and with one of the codes that say so.
func unlessRefused<Value>(
    as codes: [StoreError.Code]? = nil, _ read: () throws -> Value
) throws -> Value? {
    do {
        return try read()
    } catch let error as StoreError {
        try hold(codes?.contains(error.code) ?? true && !error.message.isEmpty, "\(error)")
        return nil
    }
}
