/// Expects a `StoreError` of a code, and gives it back.
@discardableResult
package func expectRefusal<R>(
    _ code: StoreError.Code, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
) -> StoreError? {
    do {
        let result = try body()
        Issue.record(
            "\(comment() ?? "") expected \(code), got \(result)", sourceLocation: sourceLocation)
    } catch let error as StoreError {
        #expect(error.code == code, comment() ?? "\(error)", sourceLocation: sourceLocation)
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
