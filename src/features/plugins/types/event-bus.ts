/** Longest payload of an event, as JSON. */
export const maxPayloadChars = 8_192
