/** Of the host of a URL, or one that is opened. */
export const isOfThisMachine = (host: string): boolean =>
  /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(host)

// prettier-ignore
