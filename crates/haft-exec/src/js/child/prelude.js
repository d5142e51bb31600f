// Runs in every realm before the handler does. What it needs later it takes now: the handler may
// change every built-in of its realm, and none of the functions below may notice. So what runs
// after the handler's module trusts no prototype.
//
// What it makes is copied back after every call. So it makes little, and what only some handlers can
// reach is in files of its own, which follow here where they are needed (`prelude/`).

const { parse, stringify } = JSON;
const { freeze } = Object;
const text = String;

// What the handler gets beside its arguments. All of it is made before the call is known and cannot
// be changed; what the call says about itself is read when it is first asked for.
let about;
let parts;

const part = (name) => {
  if (parts === undefined) {
    // Taken by number: to take a list apart is up to the handler, who can change how that is done.
    const told = parse(about());
    const mode = told[0];
    const active = told[2];
    const turn = told[3];
    const suppressAudio = told[5];
    const suppressTranscript = told[6];
    const session = {
      active,
      turn,
      registryVersion: told[4],
      suppressAudio,
      suppressTranscript,
      mode,
      // The tool registry architecture's name for `active`.
      isActive: active,
      state: freeze({ turn, suppressAudio, suppressTranscript }),
    };
    const id = told[1];
    const tool = freeze({ id: told[7], version: told[8], idempotent: told[9] });
    parts = { mode, session: freeze(id === null ? session : { id, ...session }), tool, callId: told[10] };
  }
  return parts[name];
};

const context = {
  get mode() {
    return part("mode");
  },
  get session() {
    return part("session");
  },
  get tool() {
    return part("tool");
  },
  get callId() {
    return part("callId");
  },
};

// Where that is read from. Made with the engine, before the handler's module is loaded.
export const know = (told) => {
  about = told;
};

// Runs the handler.
export const start = (execute, args) => execute({ args, context });

// What a promise, or something like one, comes to. It is handed over in a box of which nothing can be
// taken for a promise.
export const settled = async (value) => ({ __proto__: null, value: await value });

// What can be said of anything that was thrown.
export const report = (error) => {
  try {
    const is = typeof error === "object" && error !== null;
    return stringify({
      name: is ? text(error.name) : typeof error,
      message: is ? text(error.message) : text(error),
      stack: is ? text(error.stack) : "",
    });
  } catch {
    return "{}";
  }
};
