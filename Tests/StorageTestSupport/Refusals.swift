/// Expects a `StoreError`, of a code and with words in its message if they are given, and gives it back.
@discardableResult
package func expectRefusal<R>(
    _ code: StoreError.Code? = nil, _ comment: @autoclosure () -> Comment? = nil,
    saying words: String..., sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> R
) -> StoreError? {
    let expected = code.map { "\($0)" } ?? "a refusal"
    do {
        let result = try body()
        Issue.record(
            "\(comment() ?? "") expected \(expected), got \(result)", sourceLocation: sourceLocation
        )
    } catch let error as StoreError {
        #expect(
            error.code == code ?? error.code, comment() ?? "\(error)",
            sourceLocation: sourceLocation)
        for words in words where !(words.isEmpty || error.message.contains(words)) {
            Issue.record(
                "\(comment() ?? "") expected \(words), got \(error)", sourceLocation: sourceLocation
            )
        }
        return error
    } catch {
        Issue.record("\(comment() ?? "") \(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// The `StoreError` that `body` throws; `nil` if it throws none.
package func refusal<R>(_ body: () throws -> R) -> StoreError? {
    do {
        _ = try body()
    } catch let error as StoreError {
        return error
    } catch {
        Issue.record("\(error)")
    }
    return nil
}

/// The code of the `StoreError` that `body` throws; `nil` if it throws none.
package func code<R>(_ body: () throws -> R) -> StoreError.Code? { refusal(body)?.code }

/// What a blocking call ends with whose task was cancelled before it began.
package func cancelled<R: Sendable>(
    _ body: @escaping @Sendable () throws(StoreError) -> R
) async -> Result<R, any Error> {
    let task = Task {
        while !Task.isCancelled { await Task.yield() }
        return try await Blocking.perform(body)
    }
    task.cancel()
    return await task.result
}
