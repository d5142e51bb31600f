// Runs in every realm before the handler does. What it needs later it takes now: the handler may
// change every built-in of its realm, and none of the functions below may notice. So what runs
// after the handler's module trusts no prototype.

import { ToolError } from "haft";

const { parse, stringify } = JSON;
const { freeze, create, defineProperty, setPrototypeOf } = Object;
const { construct } = Reflect;
const PromiseOf = Promise;
const ProxyOf = Proxy;
const TypeErrorOf = TypeError;
const text = String;
const made = ToolError.made;
delete ToolError.made;

// One thread, and nothing to measure time with.
delete globalThis.SharedArrayBuffer;
delete globalThis.Atomics;
delete globalThis.performance;
// Text cannot become code: the engine behind these is not there. Gone, they say so sooner.
delete globalThis.eval;

const noClock = () => {
  throw new TypeErrorOf("there is no clock here; list `clock` in the contract and call `context.clock.now()`");
};

const RealDate = Date;
// The system looks for its time zone once, in files. That must happen before they are out of reach.
new RealDate(0).getTimezoneOffset();
function FixedDate(...parts) {
  if (new.target === undefined || parts.length === 0) return noClock();
  return construct(RealDate, parts, new.target);
}
defineProperty(FixedDate, "name", { value: "Date" });
defineProperty(FixedDate, "length", { value: 7 });
FixedDate.prototype = RealDate.prototype;
defineProperty(FixedDate, "prototype", { writable: false, enumerable: false });
for (const [name, value] of [["now", noClock], ["parse", RealDate.parse], ["UTC", RealDate.UTC]]) {
  defineProperty(FixedDate, name, { value, writable: true, configurable: true });
}
defineProperty(RealDate.prototype, "constructor", {
  value: FixedDate,
  writable: true,
  configurable: true,
});
defineProperty(globalThis, "Date", { value: FixedDate, writable: true, configurable: true });

// Names that the language itself asks objects for. `await context.kb` must not call a method.
const reserved = setPrototypeOf(
  {
    then: true,
    toJSON: true,
    toString: true,
    valueOf: true,
    constructor: true,
    hasOwnProperty: true,
    isPrototypeOf: true,
    propertyIsEnumerable: true,
    toLocaleString: true,
  },
  null,
);

const waiting = create(null);
let send;
let done;

const REFUSED = setPrototypeOf(
  {
    "-1": "the handler has made too many calls",
    "-2": "the handler's calls carry too much",
    "-3": "there is no method of this name",
  },
  null,
);

function ask(capability, method, value) {
  return new PromiseOf((resolve, reject) => {
    const json = stringify(value);
    const id = send(capability, method, json === undefined ? "null" : json);
    if (id < 0) {
      reject(new ToolError(id === -3 ? "internal" : "rate_limited", REFUSED[id], { retryable: false }));
    } else {
      waiting[id] = { resolve, reject };
    }
  });
}

function capabilityOf(name) {
  const methods = create(null);
  return new ProxyOf(freeze(create(null)), {
    __proto__: null,
    get(_, method) {
      if (typeof method !== "string" || reserved[method]) return undefined;
      return (methods[method] ??= (...values) =>
        ask(name, method, values.length < 2 ? values[0] : values));
    },
  });
}

// A small generator of good spread: what is random is the same in every attempt of one call.
function seeded(a, b) {
  let c = 0x9e3779b9 | 0;
  let counter = 1;
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 12; round += 1) next();
  return () => (next() * 0x200000 + (next() >>> 11)) / 0x20000000000000;
}

// A realm may be made, and its handler loaded, before its call is known. What is random follows from
// the call; who asks for it sooner is told so, and the realm is not used.
let seeds;
let draw;
let early = false;
const random = () => {
  if (draw === undefined) {
    if (seeds === undefined) {
      early = true;
      throw new TypeErrorOf("nothing is random before the call");
    }
    draw = seeded(seeds.high, seeds.low);
  }
  return draw();
};
defineProperty(Math, "random", { value: random, writable: true, configurable: true });

export function seed(high, low) {
  seeds = { high, low };
}

export function isEarly() {
  return early;
}

// What the handler gets beside its arguments. All of it is made before the call is known and cannot
// be changed; what the call says about itself is read when it is first asked for.
const context = {};
let about;
let parts;

function part(name) {
  if (parts === undefined) {
    parts = parse(about);
    freeze(parts.session.state);
    freeze(parts.session);
    freeze(parts.tool);
  }
  return parts[name];
}

// Before the handler's module is loaded.
export function equip(capabilities, asked, ended) {
  send = asked;
  done = ended;
  for (const name of ["mode", "session", "tool", "callId"]) {
    defineProperty(context, name, { get: () => part(name), enumerable: true });
  }
  for (const name of parse(capabilities)) {
    const value =
      name === "callTool"
        ? (tool, values = {}) => ask("callTool", text(tool), values)
        : capabilityOf(name);
    defineProperty(context, name, { value, enumerable: true });
  }
  freeze(context);
}

// Runs the handler; `done` is called once with how it ended and a JSON text.
export async function start(execute, call, json, high, low) {
  about = call;
  seeds ??= { high, low };
  let value;
  try {
    value = await execute({ args: parse(json), context });
  } catch (error) {
    return thrown(error);
  }
  let answer;
  try {
    answer = stringify(value);
  } catch (error) {
    return report("unwritable", error);
  }
  return done("returned", answer === undefined ? "" : answer);
}

function thrown(error) {
  if (!made(error)) return report("thrown", error);
  try {
    const { kind, message, retryable, partialSideEffects, suggestion } = error;
    return done("failed", stringify({ kind, message, retryable, partialSideEffects, suggestion }));
  } catch (second) {
    return report("thrown", second);
  }
}

function report(how, error) {
  try {
    const is = typeof error === "object" && error !== null;
    return done(
      how,
      stringify({
        name: is ? text(error.name) : typeof error,
        message: is ? text(error.message) : text(error),
        stack: is ? text(error.stack) : "",
      }),
    );
  } catch {
    return done(how, "{}");
  }
}

// The host's answer to a call.
export function answer(id, ok, json) {
  const asked = waiting[id];
  if (asked === undefined) return;
  delete waiting[id];
  const value = parse(json);
  if (ok) {
    asked.resolve(value);
  } else {
    asked.reject(new ToolError(value.kind, value.message, value));
  }
}
