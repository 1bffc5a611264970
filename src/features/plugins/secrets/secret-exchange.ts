import type { Redaction } from '#contracts/outbound.ts'
import type { CallSecrets } from './call-secrets.ts'
import {
  checkPlaceholders,
  fillPlaceholders,
  hasPlaceholder,
  headerHasPlaceholder,
} from './placeholders.ts'
import { createReplyRedactor } from './reply-redactor.ts'

/**
 * Reads all of the plugin's secrets once, because a host may answer with a value from an earlier request. Without a
 * value its copies could not be redacted, so if one cannot be read, nothing is sent.
 */
export async function openSecretExchange(secrets: CallSecrets): Promise<Redaction> {
  const { grants, nonce } = secrets
  const sent = grants.filter((grant) => grant.in !== 'hmac')
  const values: ReadonlyMap<string, string> =
    grants.length === 0
      ? new Map()
      : await secrets.read([...new Set(grants.map(({ name }) => name))])
  const redactor = createReplyRedactor(values.values())
  return {
    async fill({ url, headers, body }) {
      const request = { url, headers, body: typeof body === 'string' ? body : undefined }
      const slots = checkPlaceholders(request, secrets)
      if (sent.length > 0 && isPartial(request.headers))
        throw secrets.refuse(
          '',
          'The header "range" is not allowed where there are secrets: a part of one could come back.',
        )
      if (slots.length === 0) return request
      const filled = fillPlaceholders(request, { values, nonce })
      for (const slot of slots) secrets.used({ ...slot, host: url.host })
      return filled
    },
    mayLeave: (name, value) => !headerHasPlaceholder(name, value, nonce),
    checkRedirect(location, { isElsewhere }) {
      if (hasPlaceholder(location, nonce))
        throw secrets.refuse('', 'The server redirects to a place with a secret in it: refused.')
      if (isElsewhere && holdsValue(location))
        throw secrets.refuse('', 'The server redirects a secret to another host: refused.')
    },
    redacts: values.size > 0,
    redactText: redactor.text,
    redactHeaders: redactor.headers,
    redactBytes: redactor.bytes,
  }

  function holdsValue(location: string): boolean {
    return [location, decoded(location)].some((text) => redactor.text(text) !== text)
  }
}

const isPartial = (headers: Headers) => headers.has('range') || headers.has('if-range')

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
