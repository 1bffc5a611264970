/** An answer of a plugin's code that cannot be used. The message follows the tool's name, and is for the model. */
export class OutputError extends Error {}

/** The requested item does not exist. Thrown by the host alone; the message is for the model. */
export class InputError extends Error {
  readonly code = 'tool_invalid_input'
}
