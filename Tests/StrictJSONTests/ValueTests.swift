// Trees: what they hold, and when two are equal.

import Expectations

@Suite struct ValueTests {
    @Test func `each accessor answers for its own type only`() throws {
        let values = try parse(#"[null, true, 5, "x", [1], {"k": 1}]"#).asArray ?? []
        expect(values.map(\.isNull), equals: [true, false, false, false, false, false])
        expect(values.map(\.asBool), equals: [nil, true, nil, nil, nil, nil])
        expect(values.map(\.asInt64), equals: [nil, nil, 5, nil, nil, nil])
        expect(values.map(\.asString), equals: [nil, nil, nil, "x", nil, nil])
        expect(values.map { $0.asArray?.count }, equals: [nil, nil, nil, nil, 1, nil])
        expect(values.map { $0.asObject?.count }, equals: [nil, nil, nil, nil, nil, 1])
        expect(values.map { $0["k"]?.asInt64 }, equals: [nil, nil, nil, nil, nil, 1])
    }

    @Test func `finds a member by the bytes of its key`() throws {
        let value = try parse("{\"\u{E9}\":1,\"e\u{301}\":2}")
        expect(value["\u{E9}"]?.asInt64, equals: 1)
        expect(value["e\u{301}"]?.asInt64, equals: 2)
        expect(value["e"] == nil)
    }

    @Test func `values are equal if their texts are`() throws {
        let texts = [
            "null", "true", "false", "1", "1.0", "1e0", "\"1\"", "\"\"", "[]", "{}", "[1]", "[[1]]",
            "[\"a\",\"b\"]", "[\"ab\"]", #"{"a":1}"#, #"{"a":"1"}"#, #"{"a":1,"b":2}"#,
            #"{"b":2,"a":1}"#, "\"\u{E9}\"", "\"e\u{301}\"", "[\"\u{E9}\"]", "[\"e\u{301}\"]",
            "{\"\u{E9}\":1}", "{\"e\u{301}\":1}",
        ]
        let values = try texts.map(parse)
        for (left, leftText) in zip(values, texts) {
            for (right, rightText) in zip(values, texts) {
                let isSame = leftText.utf8.elementsEqual(rightText.utf8)
                expect((left == right), equals: isSame, "\(leftText) \(rightText)")
            }
        }
        expect(Set(values).count, equals: texts.count)
        try expect(Set(texts.map(parse)), equals: Set(values))
    }

    @Test(arguments: ["", "x", "01", "1.", "1 ", " 1", "1e"])
    func `a number made by hand with a bad spelling is no integer`(_ spelling: String) {
        expect(JSONValue.number(spelling).asInt64 == nil)
    }
}
