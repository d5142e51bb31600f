// One thread, and nothing to measure time with.
delete globalThis.SharedArrayBuffer;
delete globalThis.Atomics;
