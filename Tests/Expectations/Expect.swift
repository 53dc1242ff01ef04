@_exported public import Foundation
@_exported public import StrictJSON
@_exported public import Synchronization
@_exported public import Testing

// What `#expect` and `#require` say, as functions. A macro is expanded and checked at each of ten thousand places, which
// took a third of the time in which the tests are built (12 ms each; a call takes 1 or 2). What throws is expected by
// the macro still. Whoever imports this has `Testing` and `Foundation`, too.

/// Records an issue unless a condition holds; the test continues.
package func expect(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column
) {
    if condition { return }
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    record("this does not hold: \(sourceLine(place))", comment(), at: place)
}

/// Records an issue with both values unless they are equal; the test continues.
package func expect<Value: Equatable>(
    _ found: Value, equals expected: Value, _ comment: @autoclosure () -> Comment? = nil,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column
) {
    if found == expected { return }
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    record(
        "found \(shown(found)), expected \(shown(expected)): \(sourceLine(place))", comment(),
        at: place)
}

/// What is there; records an issue and ends the test if nothing is.
package func require<Value>(
    _ found: Value?, _ comment: @autoclosure () -> Comment? = nil,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column
) throws -> Value {
    if let found { return found }
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    record("nothing is there: \(sourceLine(place))", comment(), at: place)
    throw RequirementFailed()
}

/// Ends the test with an issue unless a condition holds.
package func require(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column
) throws {
    if condition { return }
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    record("this does not hold: \(sourceLine(place))", comment(), at: place)
    throw RequirementFailed()
}

/// Ends a test that cannot continue with what it has found.
package struct Unexpected: Error, CustomStringConvertible {
    package let description: String
    package init(_ found: some Any) { description = "\(found)" }
}

/// A requirement failed, and its issue is recorded.
private struct RequirementFailed: Error, CustomStringConvertible {
    var description: String { "a requirement failed, as recorded" }
}

/// A value as people read it: bytes as text, and of what is long the beginning.
private func shown(_ value: some Any) -> String {
    // An empty array of anything is one of bytes to `as?`.
    let bytes = (value as? [UInt8]).flatMap { $0.isEmpty ? nil : $0 }
    let text =
        bytes.map { "bytes \"\(String(decoding: $0, as: UTF8.self))\"" }
        ?? String(reflecting: value)
    return text.count > 2_000 ? text.prefix(2_000) + "…" : text
}

private func record(_ what: String, _ comment: Comment?, at place: SourceLocation) {
    let text = comment.map { "\(what)\n\($0.rawValue)" } ?? what
    Issue.record(Comment(rawValue: text), sourceLocation: place)
}

/// The line of a test that an issue stands in, as far as its file is available.
private func sourceLine(_ place: SourceLocation) -> String {
    // A program that was carried elsewhere has no sources beside it: its issues name file and line without the text.
    guard let text = try? String(contentsOf: URL(filePath: place.filePath), encoding: .utf8)
    else { return "\(place.fileID):\(place.line)" }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.indices.contains(place.line - 1) else { return "\(place.fileID):\(place.line)" }
    return lines[place.line - 1].trimmingCharacters(in: .whitespaces)
}
