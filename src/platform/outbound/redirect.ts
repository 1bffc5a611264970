import type { OutboundHop, Redaction } from '#contracts/outbound.ts'

export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

const becomesGet = (status: number, method: string): boolean =>
  (status <= 302 && method === 'POST') || (status === 303 && method !== 'HEAD')

/** The method after a redirect, as the fetch standard has it (4.4, HTTP-redirect fetch). */
export const methodAfter = (status: number, method: string): string =>
  becomesGet(status, method) ? 'GET' : method

const credentialHeaders =
  /^(authorization|cookie2?|.*(api[-_]?key|token|secret|auth|session|signature).*)$/i

/** The request after a redirect. Credentials stay with the origin that they were for. */
export function hopAfter(
  hop: OutboundHop,
  to: {
    readonly url: URL
    readonly status: number
    readonly redaction: Redaction | undefined
  },
): OutboundHop {
  const { url, status, redaction } = to
  const isNew = becomesGet(status, hop.method)
  const isElsewhere = url.origin !== hop.url.origin
  const stays = (name: string, value: string): boolean =>
    !(isNew && /^content-|^idempotency-key$/.test(name)) &&
    !(isElsewhere && credentialHeaders.test(name)) &&
    !(isElsewhere && redaction?.mayLeave(name, value) === false)
  return {
    url,
    method: methodAfter(status, hop.method),
    headers: new Headers([...hop.headers].filter(([name, value]) => stays(name, value))),
    body: isNew ? undefined : hop.body,
  }
}
