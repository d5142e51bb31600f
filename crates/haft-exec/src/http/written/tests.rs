use super::*;
use haft_core::error::ErrorKind;
use serde_json::json;

fn slot(style: &str, explode: bool, reserved: bool) -> Slot {
    let mut slot = json!({"from": "v", "style": style, "allowReserved": reserved});
    if matches!(style, "form" | "simple" | "label" | "matrix") {
        slot["explode"] = json!(explode);
    }
    serde_json::from_value(slot).unwrap()
}

fn said(found: Result<Option<String>, ToolError>) -> String {
    match found {
        Ok(text) => text.unwrap_or_else(|| "nothing".to_owned()),
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::InvalidArguments, "{error:?}");
            error.message.clone()
        }
    }
}

/// One, a list and an object, as the table of OpenAPI has them.
fn colours() -> [Value; 3] {
    [
        json!("blue"),
        json!(["blue", "black", "brown"]),
        json!({"R": 100, "G": 200, "B": 150, "none": null}),
    ]
}

#[test]
fn a_query_is_written_as_openapi_says() {
    for (style, explode, expected) in [
        ("form", false, ["color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
        ("form", true, ["color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"]),
        (
            "spaceDelimited",
            false,
            ["color=blue", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"],
        ),
        (
            "pipeDelimited",
            false,
            ["color=blue", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"],
        ),
        (
            "deepObject",
            true,
            [
                "color=blue",
                "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown",
                "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
            ],
        ),
    ] {
        for (value, expected) in colours().into_iter().zip(expected) {
            let found = pairs("color", &slot(style, explode, false), &json!({"v": value}));
            assert_eq!(text(&found.unwrap(), &[]).unwrap(), expected, "{style} {explode}");
        }
    }
}

#[test]
fn a_slot_of_the_path_is_written_as_openapi_says() {
    for (style, explode, expected) in [
        ("simple", false, ["blue", "blue,black,brown", "R,100,G,200,B,150"]),
        ("simple", true, ["blue", "blue,black,brown", "R=100,G=200,B=150"]),
        ("label", false, [".blue", ".blue,black,brown", ".R,100,G,200,B,150"]),
        ("label", true, [".blue", ".blue.black.brown", ".R=100.G=200.B=150"]),
        ("matrix", false, [";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"]),
        (
            "matrix",
            true,
            [";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
        ),
    ] {
        for (value, expected) in colours().into_iter().zip(expected) {
            let found = segment("color", &slot(style, explode, false), &json!({"v": value}));
            assert_eq!(said(found), expected, "{style} {explode}");
        }
    }
    for empty in [json!(""), json!([]), json!({}), json!(null)] {
        let found = segment("color", &slot("label", true, false), &json!({"v": empty}));
        assert_eq!(said(found), "nothing");
    }
}

#[test]
fn a_header_is_written_as_openapi_says() {
    for (explode, expected) in [
        (false, ["blue", "blue,black,brown", "R,100,G,200,B,150"]),
        (true, ["blue", "blue,black,brown", "R=100,G=200,B=150"]),
    ] {
        for (value, expected) in colours().into_iter().zip(expected) {
            let found = line("color", &slot("simple", explode, false), &json!({"v": value}));
            assert_eq!(said(found), expected, "{explode}");
        }
    }
}

#[test]
fn values_stay_between_their_signs() {
    let query = |style: &str, explode, value: Value| {
        let found = pairs("c", &slot(style, explode, false), &json!({"v": value}));
        said(found.and_then(|pairs| text(&pairs, &[&"key".to_owned()])).map(Some))
    };
    let mixed = |sign| format!("a value of `c` holds the `{sign}` that stands between values");
    assert_eq!(query("form", false, json!(["a,b", "c&d"])), "c=a%2Cb,c%26d");
    assert_eq!(query("spaceDelimited", false, json!(["a b", "c"])), mixed(' '));
    assert_eq!(query("pipeDelimited", false, json!(["a|b", "c"])), mixed('|'));
    assert_eq!(
        query("form", true, json!({"key": "mine"})),
        "`key` has a place of its own in this request"
    );
    assert_eq!(query("form", false, json!([])), "");
    assert_eq!(
        query("json", false, json!({"a": [1, "&"]})),
        "c=%7B%22a%22%3A%5B1%2C%22%26%22%5D%7D"
    );
    assert_eq!(
        query("deepObject", true, json!({"a": {"b": ["x", {"y": 1}]}})),
        "c%5Ba%5D%5Bb%5D%5B0%5D=x&c%5Ba%5D%5Bb%5D%5B1%5D%5By%5D=1"
    );
    assert_eq!(
        query("deepObject", true, json!({"a][b": 1})),
        "`c` has a member with a bracket in its name"
    );
    assert_eq!(
        query("form", true, json!({"q.op": "and", "other[key]": 1})),
        "q.op=and&other%5Bkey%5D=1"
    );
    let nested = query("form", false, json!([["a"]]));
    assert!(nested.contains("cannot say"), "{nested}");
    let path = segment("c", &slot("label", true, false), &json!({"v": ["a.b", "c"]}));
    assert_eq!(said(path), mixed('.'));
    let path = segment("c", &slot("matrix", true, false), &json!({"v": ["a;b=c/d", ".."]}));
    assert_eq!(said(path), ";c=a%3Bb%3Dc%2Fd;c=..");
    let header = line("c", &slot("simple", false, false), &json!({"v": ["a,b", "c"]}));
    assert_eq!(said(header), mixed(','));
}

/// A service reads `filter[owner]` as a member of `filter`, and many are lenient about how it is written.
#[test]
fn a_member_is_no_part_of_what_has_a_place_of_its_own() {
    let check = |own: &str, name: &str, taken: bool| {
        let found = pairs("c", &slot("form", true, false), &json!({"v": {name: "you"}}));
        let said = said(found.and_then(|pairs| text(&pairs, &[&own.to_owned()])).map(Some));
        let expected = match taken {
            true => format!("`{}` has a place of its own in this request", visible(name)),
            false => format!("{}=you", encoded(name)),
        };
        assert_eq!(said, expected, "{own} {name}");
    };
    for name in [
        "filter",
        "filter[owner]",
        "filter[owner][name]",
        "filter[]",
        "filter[",
        "filter]",
        "[filter]",
        "[filter][owner]",
        "filter%5Bowner%5D",
        "filter%5bowner%5d",
        "filter%255Bowner%255D",
        "%66ilter[owner]",
        "filter+[owner]",
        "+filter",
        " filter [owner]",
        "Filter[owner]",
        "filter\0",
    ] {
        check("filter", name, true);
    }
    for name in ["filter[owner]", "filter", "filter[owner][]", "filter[[owner]]"] {
        check("filter[owner]", name, true);
    }
    for name in
        ["filters", "filters[owner]", "my[filter]", "filter.owner", "%", "+", "[]", "a&filter"]
    {
        check("filter", name, false);
    }
    check("filter[owner]", "filter[since]", false);
    let long = format!("%{}", "25".repeat(1 << 20));
    check("filter", &long, false);
}

/// What an object brings to its own name stays out of the other names of the contract.
#[test]
fn a_member_of_an_object_is_no_part_of_another_name() {
    let check = |slots: &[&str], value: Value, expected: &str| {
        let found = pairs("filter", &slot("deepObject", true, false), &json!({"v": value}));
        let own: Vec<String> = slots.iter().map(|name| (*name).to_owned()).collect();
        let own: Vec<&String> = own.iter().collect();
        assert_eq!(said(found.and_then(|pairs| text(&pairs, &own)).map(Some)), expected);
    };
    let taken = |name: &str| format!("`{name}` has a place of its own in this request");
    let slots = ["filter", "filter[owner]", "filter[in][0]", "q"];
    check(&slots, json!({"owner": "you"}), &taken("filter[owner]"));
    check(&slots, json!({"Owner": {"id": 1}}), &taken("filter[Owner][id]"));
    check(&slots, json!({"%6Fwner": "you"}), &taken("filter[%6Fwner]"));
    check(&slots, json!({"in": "x"}), &taken("filter[in]"));
    check(&slots, json!({"in": ["x"]}), &taken("filter[in][0]"));
    check(&slots, json!({"since": 1, "q": 2}), "filter%5Bsince%5D=1&filter%5Bq%5D=2");
    check(&slots, json!("blue"), "filter=blue");
}

#[test]
fn reserved_signs_stay_where_they_end_nothing() {
    let found = |style, value: Value| {
        let found = pairs("c", &slot(style, false, true), &json!({"v": value}));
        text(&found.unwrap(), &[]).unwrap()
    };
    assert_eq!(
        found("form", json!(":/?#[]@!$&'()*+,;= ä%41")),
        "c=:/?%23%5B%5D@!$%26%27()*%2B,%3B=%20%C3%A4%2541"
    );
    assert_eq!(found("form", json!(["a,b", "c/d"])), "c=a%2Cb,c/d");
}
