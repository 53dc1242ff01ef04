// A library of its own: Foundation costs start-up time and memory, which programs that print errors need not pay.
public import Foundation
public import Platform

/// Lets `error.localizedDescription` be the sentence of the error, with what it says of the system's or SQLite's own.
///
/// Import this module once in an app that shows errors by Foundation's or a user interface's means.
extension StoreError: LocalizedError {
    /// As ``Platform/StoreError/description``; English.
    public var errorDescription: String? { description }
}
