/** Takes out of a text what nobody may read there. */
export type Redact = (text: string) => string

const mark = '[redacted]'
/** A shorter value is no secret (`ollama` as the key of a local server), and taking it out would hide other words. */
const minChars = 8
const maxLearned = 500

/** Keys of this deployment, which it knows by their hash only. */
const ownKey = /\bisk_[\w-]{16,}/g

/** Secrets that turn up while the Worker runs: those that the operator sets. */
export interface LearnedSecrets {
  readonly learn: (value: string) => void
  /** The forms of all of them. */
  readonly forms: () => readonly string[]
}

/** The newest of them: of more, those not used for longest are forgotten. */
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
 * The one writer of everything that leaves for a log or a collector: replaces known secrets by exact value, as they are
 * and as they look in JSON, in an address and in base64.
 */
export function createRedactor(
  secrets: readonly (string | undefined)[],
  learned: Pick<LearnedSecrets, 'forms'> = { forms: () => [] },
): Redact {
  const forms = secrets.flatMap((secret) => (secret ? formsOf(secret) : []))
  return (text) =>
    // The longest first: one may be part of another.
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
