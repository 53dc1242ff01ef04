// A separate library: Foundation costs start-up time and memory, which programs that only print errors need not pay.
public import Foundation
public import Platform

/// Makes `error.localizedDescription` the sentence of the error, with what that says of the system or SQLite.
///
/// Import this module once in an app that shows errors through Foundation or a user interface.
extension StoreError: LocalizedError {
    /// The same as ``Platform/StoreError/description``; in English.
    public var errorDescription: String? { description }
}
