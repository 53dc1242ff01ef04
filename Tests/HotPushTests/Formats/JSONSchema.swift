import StrictJSON

/// The part of JSON Schema (draft 2020-12) that castree's schemas use.
///
/// A keyword that is not known here is a failure of its own: nothing is silently unchecked.
struct JSONSchema {
    let root: JSONValue

    /// What is wrong with a value; empty if nothing.
    func problems(of value: JSONValue) -> [String] { check(value, root, "") }

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
            return (value.asObject ?? []).filter { schema["properties"]?[$0.key] == nil }
                .map { "has the unknown key \($0.key)" }
        case "items":
            return (value.asArray ?? []).enumerated().flatMap {
                check($0.element, rule, "\(place)/\($0.offset)")
            }
        case "maxItems":
            return Int64(value.asArray?.count ?? 0) <= rule.asInt64 ?? -1 ? [] : ["is too long"]
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
