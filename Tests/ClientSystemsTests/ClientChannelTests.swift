import Testing

@testable import ClientSystems
