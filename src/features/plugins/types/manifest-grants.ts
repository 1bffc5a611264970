/** Limit for a new plugin: every reply of a host is searched for all of its secrets. */
export const maxSecrets = 16
