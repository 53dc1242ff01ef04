import StorageTestSupport
import StrictJSON

/// The part of JSON Schema (draft 2020-12) that castree's schemas use.
///
/// A keyword that is not known here is a failure of its own: nothing is silently unchecked.
package struct JSONSchema {
    private let root: JSONValue

    /// - Parameter name: its file in docs/schema.
    package init(_ name: String) throws {
        var path = URL(filePath: #filePath)
        for _ in 0..<4 { path.deleteLastPathComponent() }
        let bytes = try Data(contentsOf: path.appending(path: "docs/schema/\(name).json"))
        root = try JSONValue.parse(Array(bytes))
    }

    /// What is wrong with a document; empty if nothing.
    package func problems(of document: some Sequence<UInt8>) throws -> [String] {
        check(try JSONValue.parse(Array(document)), root, "")
    }

    private func check(_ value: JSONValue, _ schema: JSONValue, _ place: String) -> [String] {
        var problems: [String] = []
        for keyword in schema.asObject ?? [] {
            for problem in check(value, keyword, of: schema, place) {
                problems.append("\(place.isEmpty ? "/" : place): \(problem)")
            }
        }
        return problems
    }

    private func check(
        _ value: JSONValue, _ keyword: JSONValue.Member, of schema: JSONValue, _ place: String
    ) -> [String] {
        let rule = keyword.value
        switch keyword.key {
        case "$schema", "$id", "$defs", "title", "description": return []
        case "$ref": return reference(rule).map { check(value, $0, place) } ?? ["no such $ref"]
        case "type": return isOfType(value, rule.asString ?? "") ? [] : ["is no \(rule)"]
        case "const": return value == rule ? [] : ["is not \(rule)"]
        case "minimum":
            guard let number = value.asInt64 else { return [] }
            return number >= rule.asInt64 ?? .max ? [] : ["is less than \(rule)"]
        case "maximum":
            guard let number = value.asInt64 else { return [] }
            return number <= rule.asInt64 ?? .min ? [] : ["is more than \(rule)"]
        case "minLength":
            guard let text = value.asString else { return [] }
            return text.unicodeScalars.count >= rule.asInt64 ?? .max ? [] : ["is too short"]
        case "maxLength":
            guard let text = value.asString else { return [] }
            return text.unicodeScalars.count <= rule.asInt64 ?? -1 ? [] : ["is too long"]
        case "pattern":
            guard let text = value.asString else { return [] }
            guard let pattern = try? Regex(rule.asString ?? "(") else { return ["bad pattern"] }
            // Characters of patterns are code points (ECMA-262, flag u).
            let isMatch = text.firstMatch(of: pattern.matchingSemantics(.unicodeScalar)) != nil
            return isMatch ? [] : ["does not match \(rule)"]
        case "required":
            guard value.asObject != nil else { return [] }
            return (rule.asArray ?? []).compactMap(\.asString).filter { value[$0] == nil }
                .map { "has no \($0)" }
        case "properties":
            return (value.asObject ?? []).flatMap { member in
                rule[member.key].map { check(member.value, $0, "\(place)/\(member.key)") } ?? []
            }
        case "additionalProperties":
            if rule.asBool == true { return [] }
            let others = (value.asObject ?? []).filter { schema["properties"]?[$0.key] == nil }
            if rule.asObject != nil {
                return others.flatMap { check($0.value, rule, "\(place)/\($0.key)") }
            }
            return others.map { "has the unknown key \($0.key)" }
        case "maxProperties":
            return Int64(value.asObject?.count ?? 0) <= rule.asInt64 ?? -1 ? [] : ["has too many"]
        case "propertyNames":
            return (value.asObject ?? []).flatMap { check(.string($0.key), rule, place) }
        case "dependentRequired":
            return (rule.asObject ?? []).filter { value[$0.key] != nil }.flatMap { member in
                (member.value.asArray ?? []).compactMap(\.asString).filter { value[$0] == nil }
                    .map { "has \(member.key), but no \($0)" }
            }
        case "anyOf":
            let isAny = (rule.asArray ?? []).contains { check(value, $0, place).isEmpty }
            return isAny ? [] : ["is none of what it may be"]
        case "not": return check(value, rule, place).isEmpty ? ["is what it must not be"] : []
        case "if":
            let branch = check(value, rule, place).isEmpty ? "then" : "else"
            return schema[branch].map { check(value, $0, place) } ?? []
        case "then", "else": return []
        case "items":
            return (value.asArray ?? []).enumerated().flatMap {
                check($0.element, rule, "\(place)/\($0.offset)")
            }
        case "maxItems":
            return Int64(value.asArray?.count ?? 0) <= rule.asInt64 ?? -1 ? [] : ["is too long"]
        case "minItems":
            return Int64(value.asArray?.count ?? 0) >= rule.asInt64 ?? 0 ? [] : ["is too short"]
        case "uniqueItems":
            let elements = value.asArray ?? []
            return Set(elements).count == elements.count ? [] : ["has an element twice"]
        default: return ["the keyword \(keyword.key) is not known to this test"]
        }
    }

    private func reference(_ rule: JSONValue) -> JSONValue? {
        guard let path = rule.asString, path.hasPrefix("#/") else { return nil }
        var schema: JSONValue? = root
        for step in path.dropFirst(2).split(separator: "/") { schema = schema?[String(step)] }
        return schema
    }

    private func isOfType(_ value: JSONValue, _ type: String) -> Bool {
        switch type {
        case "object": value.asObject != nil
        case "array": value.asArray != nil
        case "string": value.asString != nil
        case "boolean": value.asBool != nil
        case "integer": value.asInt64 != nil
        default: false
        }
    }
}
