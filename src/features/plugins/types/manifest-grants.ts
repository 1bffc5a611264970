/** Of a plugin that arrives, whatever it does with each: every reply is searched for all of them. */
export const maxSecrets = 16
