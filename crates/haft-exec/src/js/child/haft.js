// What a handler may import: the way to fail in so many words.

export class ToolError extends Error {
  #made = true;

  constructor(kind, message, options) {
    super(message);
    this.kind = kind;
    this.retryable = options?.retryable;
    this.partialSideEffects = options?.partialSideEffects;
    this.suggestion = options?.suggestion;
  }

  // Taken away by the prelude before a handler runs.
  static made(value) {
    return typeof value === "object" && value !== null && #made in value;
  }
}

Object.defineProperty(ToolError.prototype, "name", {
  value: "ToolError",
  writable: true,
  configurable: true,
});
