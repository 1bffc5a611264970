import type { Domain } from './domains.ts'
import type { Draw } from './draw.ts'
import type { FactKind } from './types.ts'
import type { Language, RecallForm } from './languages.ts'

/** A fact before it has a place. */
export interface PlannedFact {
  readonly kind: FactKind
  readonly form: string
  readonly subject: string
  /** The words about the subject. */
  readonly said: string
  /** The part of `said` that has to be found: what a summary in other words would still have. */
  readonly value: string
  /** It is planted as soon as there are so many messages. */
  readonly due: number
  /** Of a correction: what does not count any more. */
  readonly corrects?: PlannedFact
}

export const factsEach = 50
/** Of 50; the rest are recalled. */
const shares = { artefact: 16, decision: 10, continuation: 10 } as const
const corrections = 3

const recallForms = ['date', 'amount', 'name', 'number', 'constraint', 'preference'] as const
const decisionForms = ['answer', 'approved', 'denied'] as const
const continuationForms = ['announced', 'announced', 'todo', 'background', 'waiting'] as const

/** Fifty facts in the order of their places; no two share a subject (but a correction) or a value. */
export function planFacts(
  draw: Draw,
  options: { readonly domain: Domain; readonly language: Language; readonly messages: number },
): readonly PlannedFact[] {
  const { domain, language, messages } = options
  const used = new Set<string>()
  const fresh = <T>(make: () => T, keyOf: (made: T) => string): T => {
    for (let tries = 0; tries < 1_000; tries += 1) {
      const made = make()
      if (used.has(keyOf(made))) continue
      used.add(keyOf(made))
      return made
    }
    throw new Error('There are not so many different values.')
  }
  const subject = () =>
    fresh(
      () => language.join(draw.pick(language.subjects[0]), draw.pick(language.subjects[1])),
      String,
    )
  const recalled = (form: RecallForm) =>
    fresh(
      () => recalledValue(draw, form, language),
      ({ value }) => value,
    )
  const id = () =>
    fresh(
      () => {
        const { form, make } = draw.pick(domain.ids)
        return { form, value: make(draw) }
      },
      ({ value }) => value,
    )
  /** A random value for decisions and announcements: no model can guess it. */
  const setting = () => fresh(() => `${draw.pick(settingNames)} ${draw.digits(5)}`, String)
  const due = () => draw.int(2, Math.floor(messages * 0.96))

  const facts: PlannedFact[] = []
  const add = (fact: Omit<PlannedFact, 'said'> & { readonly said?: string }) => {
    const planned = { said: fact.value, ...fact }
    facts.push(planned)
    return planned
  }
  const counts = { ...shares, recall: factsEach - corrections }
  for (const share of Object.values(shares)) counts.recall -= share
  for (let left = counts.artefact; left > 0; left -= 1)
    add({ kind: 'artefact', ...id(), subject: subject(), due: due() })
  for (let left = counts.decision; left > 0; left -= 1) {
    const form = draw.pick(decisionForms)
    const value = form === 'approved' ? id().value : setting()
    add({ kind: 'decision', form, value, subject: subject(), due: due() })
  }
  for (let left = counts.continuation; left > 0; left -= 1) {
    const form = draw.pick(continuationForms)
    add({ kind: 'continuation', form, value: setting(), subject: subject(), due: due() })
  }
  for (let place = 0; place < counts.recall; place += 1) {
    const form = draw.pick(recallForms)
    // The first four stand in the rules and in the goal, which are there from the start.
    const at = place < 4 ? 0 : due()
    const fact = add({ kind: 'recall', form, subject: subject(), due: at, ...recalled(form) })
    // What the rules say only an operator could correct.
    if (place < 2 || place >= 2 + corrections) continue
    const later = draw.int(Math.min(at + 6, messages - 2), messages - 2)
    add({ ...fact, form: 'correction', due: later, ...recalled(form), corrects: fact })
  }
  return facts.sort((one, other) => one.due - other.due)
}

const settingNames = ['seed', 'batch', 'profile', 'plan', 'cut-off', 'variant', 'limit', 'tier']

function recalledValue(draw: Draw, form: RecallForm, language: Language) {
  const same = (value: string) => ({ said: value, value })
  switch (form) {
    case 'date':
      return same(language.date(draw.int(1, 28), draw.int(1, 12), draw.int(2027, 2031)))
    case 'amount': {
      const [whole, thousand, cents] = [draw.int(2, 98), draw.digits(3), draw.digits(2)]
      const isPointed = language.name === 'de' || language.name === 'es'
      return same(
        isPointed ? `${whole}.${thousand},${cents} EUR` : `${whole},${thousand}.${cents} EUR`,
      )
    }
    case 'name':
      return same(`${draw.pick(language.people)} (☎ ${draw.digits(4)})`)
    case 'number':
      return same(`${draw.digits(3)}/${draw.digits(4)}-${draw.code(2)}`)
    case 'constraint': {
      const value = `${draw.int(10, 23)}:${draw.int(10, 59)}`
      return { value, said: language.constraint(value) }
    }
    case 'preference': {
      const value = draw.digits(4)
      return { value, said: language.preference(value) }
    }
  }
}
