// The way to fail in so many words: for the handler, and for what its capabilities answer.

let made;

export class ToolError extends Error {
  #made = true;

  constructor(kind, message, options) {
    super(message);
    this.kind = kind;
    this.retryable = options?.retryable;
    this.partialSideEffects = options?.partialSideEffects;
    this.suggestion = options?.suggestion;
  }

  static {
    made = (value) => typeof value === "object" && value !== null && #made in value;
  }
}

Object.defineProperty(ToolError.prototype, "name", {
  value: "ToolError",
  writable: true,
  configurable: true,
});

// What a `ToolError` says; nothing of anything else.
export const failed = (error) => {
  if (!made(error)) return undefined;
  const { kind, message, retryable, partialSideEffects, suggestion } = error;
  return stringify({ kind, message, retryable, partialSideEffects, suggestion });
};
