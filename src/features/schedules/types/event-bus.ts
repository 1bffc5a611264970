/** The pattern of all that the emitter of an event emits. */
export const allOf = (name: string): string => `${name.slice(0, name.indexOf('.'))}.*`
