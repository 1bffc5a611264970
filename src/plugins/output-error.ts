/** What a plugin's code answered cannot be taken. The message goes on after the tool's name, and is for the model. */
export class OutputError extends Error {}
