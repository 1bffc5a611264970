import { call, type Play } from './conversation.ts'

const lastOf = (texts: readonly string[]) => texts.at(-1) ?? ''

/** Remembers what was said in its conversation, and no more. */
export const chat: Play = ({ said }) => {
  const name = said.map((text) => /my name is (\w+)/i.exec(text)?.[1]).findLast(Boolean)
  return {
    text: lastOf(said).endsWith('?') ? `It is ${name ?? 'unknown to me'}.` : `Hello ${name}.`,
  }
}

/** Does as its prompt says: searches, quotes the passage that has the words, or says that there is none. */
export const retrievalQa: Play = ({ said, done }) => {
  const found = done.at(-1)
  if (!found) return call('knowledge__search', { query: lastOf(said) })
  const [passage] = found.output.passages
  if (!passage) return { text: `The documents do not say. I looked for: ${found.input.query}` }
  return { text: `${passage.text} [${passage.cite}]` }
}

/** Hands over what it is not for, and goes on from what came of it. */
export const supportCopilot: Play = ({ said, done }) => {
  const task = lastOf(said)
  if (done.length > 0) return { text: `Support: ${JSON.stringify(done.at(-1)!.output)}` }
  if (/invoice/i.test(task)) return call('support-billing__run', { task })
  if (/sign in/i.test(task)) return call('support-technical__run', { task })
  return { text: `Support: ${task}` }
}

/** Both desks: look something up, ask for what is missing, and give the conversation back once they have heard it. */
const desk =
  (voice: string, { asks, hears, gives }: { asks: string; hears: RegExp; gives: string }): Play =>
  ({ said, done }) => {
    const task = lastOf(said)
    if (hears.test(task)) return call('isola__return', { summary: gives })
    if (done.length === 0) return call('knowledge__search', { query: task })
    return { text: `${voice}: ${done[0]!.output.passages?.[0]?.text ?? ''} ${asks}` }
  }

export const supportBilling = desk('Billing', {
  asks: 'Which invoice is it?',
  hears: /R-\d+/,
  gives: 'Invoice R-17 was paid twice; a colleague books the refund.',
})
export const supportTechnical = desk('Technician', {
  asks: 'Did that help?',
  hears: /works now/,
  gives: 'Signs in again after the link was sent anew.',
})
