/** What a plugin's code answered cannot be taken. The message goes on after the tool's name, and is for the model. */
export class OutputError extends Error {}

/** What a call asked for is not there. Made by the host alone; the message is for the model. */
export class InputError extends Error {
  readonly code = 'tool_invalid_input'
}
