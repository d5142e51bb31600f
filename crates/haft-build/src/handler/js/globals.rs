//! Names that a handler finds without declaring them, and names it looks for in vain.

/// What a name that the sandbox lacks is to be replaced by.
pub(super) fn missing(name: &str) -> Option<&'static str> {
    Some(match name {
        "fetch" | "XMLHttpRequest" | "WebSocket" | "EventSource" => {
            "list `http` under `capabilities` and call `context.http`"
        }
        "console" | "alert" => {
            "return what the caller should know; list `audit` under `capabilities` for the record"
        }
        "setTimeout"
        | "setInterval"
        | "setImmediate"
        | "clearTimeout"
        | "clearInterval"
        | "clearImmediate"
        | "requestAnimationFrame" => {
            "there are no timers: a call ends at its deadline, and retries are the runtime's"
        }
        "performance" => "list `clock` under `capabilities` and call `context.clock`",
        "crypto" => "nothing is random here: use `context.callId` where something must be unique",
        "process" | "Deno" | "Bun" => {
            "there is no environment: settings come with `args` and `context`"
        }
        "require" => "write `import { ToolError } from \"haft\"`; nothing else can be imported",
        "module" | "exports" => "write `export async function execute({ args, context })`",
        "Buffer" => "use `Uint8Array`",
        "global" | "window" | "self" => "use `globalThis`",
        "document" | "navigator" | "location" => "there is no page around a handler",
        "localStorage" | "sessionStorage" | "indexedDB" => {
            "nothing is kept between calls: store it through a capability"
        }
        "__dirname" | "__filename" => "there are no files: put what the handler needs into it",
        "eval" => "text cannot become code here",
        "SharedArrayBuffer" | "Atomics" | "Worker" | "importScripts" => {
            "a call is one thread: use `ArrayBuffer` and `await`"
        }
        "WebAssembly" => "build a component and name it `handler.wasm`",
        _ => return None,
    })
}

/// What the language itself defines, and a few names of the web that a sandbox may add.
pub(super) fn is_defined(name: &str) -> bool {
    DEFINED.binary_search(&name).is_ok()
}

static DEFINED: &[&str] = &[
    "AggregateError",
    "Array",
    "ArrayBuffer",
    "BigInt",
    "BigInt64Array",
    "BigUint64Array",
    "Boolean",
    "DOMException",
    "DataView",
    "Date",
    "Error",
    "EvalError",
    "FinalizationRegistry",
    "Float16Array",
    "Float32Array",
    "Float64Array",
    "Function",
    "Infinity",
    "Int16Array",
    "Int32Array",
    "Int8Array",
    "Intl",
    "Iterator",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "RangeError",
    "ReferenceError",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "SyntaxError",
    "TypeError",
    "URIError",
    "Uint16Array",
    "Uint32Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "WeakMap",
    "WeakRef",
    "WeakSet",
    "arguments",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "escape",
    "globalThis",
    "isFinite",
    "isNaN",
    "parseFloat",
    "parseInt",
    "queueMicrotask",
    "undefined",
    "unescape",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_says_nothing_twice() {
        assert!(DEFINED.is_sorted());
        assert!(DEFINED.iter().all(|name| missing(name).is_none()));
    }
}
