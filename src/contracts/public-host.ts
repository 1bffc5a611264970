/** Whether a host, of a URL or of a rule, is this machine. */
export const isOfThisMachine = (host: string): boolean =>
  /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(host)

// prettier-ignore
