import type { SessionApi, SessionGateway } from '#contracts/session.ts'

/** What the gateway needs of a Durable Object namespace. */
export interface SessionNamespace {
  readonly getByName: (name: string) => unknown
}

export interface GatewayOptions {
  readonly namespace: SessionNamespace
  readonly sha256: (text: string) => string
}

/**
 * Objects are named by a hash of length-prefixed parts: no two lists of parts can be mistaken for each other
 * (SECURITY.md T2), and a name tells nothing.
 */
export function createSessionGateway({ namespace, sha256 }: GatewayOptions): SessionGateway {
  const hash = (parts: readonly string[]) => sha256(lengthPrefixed(parts))
  return {
    at: (session) => namespace.getByName(hash(['session', session])) as SessionApi,
    idFor: async (kind, parts) => `ses_${toBase62(hash([kind, ...parts]))}`,
  }
}

/** One text for a list of parts, another for any other list. */
export const lengthPrefixed = (parts: readonly string[]): string =>
  parts.map((part) => `${part.length}:${part}`).join('')

export const base62Digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 22 base62 characters of a hex hash: the form of every session id. */
export function toBase62(hex: string): string {
  let value = BigInt(`0x${hex}`)
  let text = ''
  for (let index = 0; index < 22; index += 1) {
    text += base62Digits[Number(value % 62n)]
    value /= 62n
  }
  return text
}
