// What a handler may import: the way to fail in so many words.

export { ToolError } from "haft:prelude";
