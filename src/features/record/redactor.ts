/** Removes secrets from a text. */
export type Redact = (text: string) => string

const mark = '[redacted]'
/**
 * A shorter value is not treated as a secret (`ollama` as the key of a local server): redacting it would hide other
 * words.
 */
const minChars = 8
const maxLearned = 500

/** Keys of this deployment, of which it knows only the hash. */
const ownKey = /\bisk_[\w-]{16,}/g

/** Secrets that the Worker learns while it runs, such as those the operator sets. */
export interface LearnedSecrets {
  readonly learn: (value: string) => void
  /** All forms of all learned secrets. */
  readonly forms: () => readonly string[]
}

/** Keeps the newest `maxLearned` secrets, and forgets the least recently learned. */
export function createLearnedSecrets(): LearnedSecrets {
  const known = new Map<string, readonly string[]>()
  return {
    learn(value) {
      const forms = known.get(value) ?? formsOf(value)
      known.delete(value)
      known.set(value, forms)
      const [oldest] = known.keys()
      if (known.size > maxLearned && oldest !== undefined) known.delete(oldest)
    },
    forms: () => [...known.values()].flat(),
  }
}

/**
 * Every text for a log or a collector passes through this. Replaces known secrets by exact value, in plain form and
 * as they look in JSON, in an address and in base64.
 */
export function createRedactor(
  secrets: readonly (string | undefined)[],
  learned: Pick<LearnedSecrets, 'forms'> = { forms: () => [] },
): Redact {
  const forms = secrets.flatMap((secret) => (secret ? formsOf(secret) : []))
  return (text) =>
    // The longest first: a secret may be part of another.
    [...new Set([...forms, ...learned.forms()])]
      .toSorted((one, other) => other.length - one.length)
      .reduce((rest, value) => rest.replaceAll(value, mark), text)
      .replace(ownKey, mark)
}

function formsOf(secret: string): readonly string[] {
  const trimmed = secret.trim()
  if (trimmed.length < minChars) return []
  const base64 = btoa(String.fromCharCode(...new TextEncoder().encode(trimmed)))
  return [
    secret,
    trimmed,
    JSON.stringify(trimmed).slice(1, -1),
    encodeURIComponent(trimmed.toWellFormed()),
    base64.replace(/(?<!=)=+$/, ''),
  ]
}
