// What the handler may ask the host for.

const { create } = Object;
const PromiseOf = Promise;
const ProxyOf = Proxy;

let waiting;
let send;

const refused = (id) => {
  switch (id) {
    case -1:
      return "the handler has made too many calls";
    case -2:
      return "the handler's calls carry too much";
    default:
      return "there is no method of this name";
  }
};

const ask = (capability, method, value) =>
  new PromiseOf((resolve, reject) => {
    const json = stringify(value);
    const id = send(capability, method, json === undefined ? "null" : json);
    if (id < 0) {
      reject(new ToolError(id === -3 ? "internal" : "rate_limited", refused(id), { retryable: false }));
    } else {
      waiting ??= create(null);
      waiting[id] = { resolve, reject };
    }
  });

// Names that the language itself asks objects for. `await context.kb` must not call a method.
const isReserved = (name) => {
  switch (name) {
    case "then":
    case "toJSON":
    case "toString":
    case "valueOf":
    case "constructor":
    case "hasOwnProperty":
    case "isPrototypeOf":
    case "propertyIsEnumerable":
    case "toLocaleString":
      return true;
    default:
      return false;
  }
};

const capabilityOf = (name) => {
  const methods = create(null);
  return new ProxyOf(freeze(create(null)), {
    __proto__: null,
    get(_, method) {
      if (typeof method !== "string" || isReserved(method)) return undefined;
      return (methods[method] ??= (...values) =>
        ask(name, method, values.length < 2 ? values[0] : values));
    },
  });
};

// Before the handler's module is loaded: until then every built-in is as it should be.
export const equip = (capabilities, asked) => {
  send = asked;
  for (const name of capabilities) {
    context[name] =
      name === "callTool"
        ? (tool, values = {}) => ask("callTool", text(tool), values)
        : capabilityOf(name);
  }
  freeze(context);
};

// The host's answer to a call.
export const answer = (id, ok, value) => {
  const asked = waiting?.[id];
  if (asked === undefined) return;
  delete waiting[id];
  if (ok) {
    asked.resolve(value);
  } else {
    asked.reject(new ToolError(value.kind, value.message, value));
  }
};
