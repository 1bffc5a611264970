/** At most so large is a payload, as JSON. */
export const maxPayloadChars = 8_192
