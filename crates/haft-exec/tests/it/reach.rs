//! An engine has what its handler can reach. Nobody misses the rest.

use serde_json::{Value, json};

use crate::rig::{data, pool, run};

/// Enough calls that the later ones find an engine that was made for their handler.
const CALLS: usize = 5;

async fn check(source: &str, expected: Value) {
    let js = pool(1);
    for call in 0..CALLS {
        assert_eq!(data(run(&js, source, json!({})).await), expected, "call {call} of {source}");
    }
}

/// Runs an expression; none of the names in it stands there as it is.
async fn comes_to(expression: &str, expected: Value) {
    check(&format!("export const execute = () => ({{ ok: true, data: {expression} }});"), expected)
        .await;
}

#[tokio::test]
async fn what_is_named_in_a_roundabout_way_is_there() {
    comes_to(r"new \u004dap([[1, 2]]).size", json!(1)).await;
    comes_to(r"new M\u{61}p([[1, 2]]).size", json!(1)).await;
    comes_to("new globalThis['Wea' + 'kSet']() instanceof globalThis['Wea' + 'kSet']", json!(true))
        .await;
    comes_to("new globalThis['Da' + 'te'](0).getTime()", json!(0)).await;
    comes_to("typeof globalThis['Da' + 'te'].now", json!("function")).await;
    comes_to("new globalThis['Ui' + 'nt8Array']([256, 7])[1]", json!(7)).await;
    comes_to(
        "typeof globalThis['ev' + 'al'] + typeof globalThis['At' + 'omics']",
        json!("undefinedundefined"),
    )
    .await;
    comes_to("'axb'['mat' + 'ch']('x').index + 'axb'['sea' + 'rch']('b')", json!(3)).await;
    comes_to("Object.keys([...'ab'].entries().toArray()).length", json!(2)).await;
}

#[tokio::test]
async fn an_error_of_ours_is_there_however_it_is_imported() {
    check(
        "export async function execute() {
             const { ToolError } = await import('ha' + 'ft');
             const error = new ToolError('conflict', 'no');
             return { ok: true, data: [error.name, error.kind, error instanceof Error] };
         }",
        json!(["ToolError", "conflict", true]),
    )
    .await;
    check(
        "import * as haft from 'haft';
         export const execute = () => ({ ok: true, data: Object.keys(haft) });",
        json!(["ToolError"]),
    )
    .await;
    check("export * from 'haft'; export const execute = () => ({ ok: true, data: 1 });", json!(1))
        .await;
}

/// S7: a handler that does not write the name of the global object does not come to it; otherwise an
/// engine could lack what it can reach.
#[tokio::test]
async fn the_global_object_is_reached_by_its_name_alone() {
    check(
        "const self = function () { return this };
         const isGlobal = (it) => it !== null && typeof it === 'object' && 'parseInt' in it;
         const ways = [
             () => this, self, () => self.call(null), () => self.apply(undefined), () => (0, self)(),
             () => self.bind()(), () => Reflect.apply(self, undefined, []), () => [1].map(self)[0],
             () => new Proxy(self, {})(), () => Promise.resolve().then.call.call(self),
             () => valueOf(), () => Object.prototype.valueOf.call(undefined),
             () => __lookupGetter__('__proto__').call(undefined),
             () => Reflect.get({ get it() { return self() } }, 'it', undefined),
             () => { let it; 'x'.replace('x', function () { it = this }); return it },
             () => { let it; [2, 1].sort(function () { it = this }); return it },
             () => { let it; JSON.stringify({ toJSON() { it = self() } }); return it },
             () => { Error.prepareStackTrace = (_, sites) => sites; const sites = new Error('x').stack;
                     return sites.map((site) => site.getThis?.() ?? site.getFunction()).find(isGlobal) },
             () => { const { fromAsync } = Array; let it; fromAsync([1], function () { it = this }); return it },
             () => (function* () { yield this })().next().value,
         ];
         const tried = (way) => { try { return isGlobal(way()) } catch { return false } };
         export const execute = () => ({ ok: true, data: ways.map(tried).filter(Boolean).length });",
        json!(0),
    )
    .await;
}
