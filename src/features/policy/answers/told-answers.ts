import { joinLabels, ownLabel, saidLabel, type Label } from '#contracts/label.ts'
import { labelOf, labelOfAll, type Message } from '#contracts/message.ts'
import type { Planner } from '#runtime/kernel/types/plan.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { ToldAnswers } from '../types.ts'

const space = 'told-answers'
/** How many hashes are kept for a principal, the newest; each counts as one byte. */
const most = 1_000

/** The principal's storage, which outlives sessions. */
type StorageOf = (principal: string) => (request: StorageRequest) => Promise<StorageAnswer>

/**
 * Keeps hashes in the principal's storage: of the first paragraph of a turn's text together with the user's last
 * message. So an answer is recognised even if a client joins the texts of several turns, or cuts off the end.
 */
export function createToldAnswers(
  storageOf: StorageOf,
  sha256: (text: string) => string,
): ToldAnswers & {
  /** Wraps the planner: stores the hashes of a run's texts if its client brings the whole conversation along. */
  readonly around: (planner: Planner) => Planner
} {
  const keyOf = (user: string, paragraph: string) => sha256(JSON.stringify([user, paragraph]))
  const told: ToldAnswers = {
    async tell(principal, { said, texts, label }) {
      if (isUsers(label)) return
      const user = said.findLast(isFromUser)
      for (const text of texts) {
        const [first] = paragraphsOf(text)
        if (first === undefined) continue
        const set = { verb: 'set', space, value: 1, label, quotaBytes: most } as const
        const key = keyOf(textOf(user), first)
        await storageOf(principal)({ ...set, key, evicts: true, joins: true })
      }
    },
    async labelled(principal, messages) {
      if (!messages.some(({ role }) => role === 'assistant')) return messages
      const ask = storageOf(principal)
      let user: Message | undefined
      try {
        const { keys = [] } = await ask({ verb: 'list', space, prefix: '', limit: most })
        const known = new Set(keys)
        return await Promise.all(
          messages.map(async (message) => {
            if (isFromUser(message)) user = message
            if (message.role !== 'assistant' || known.size === 0) return message
            const last = textOf(user)
            const found = paragraphsOf(message.text)
              .map((one) => keyOf(last, one))
              .filter((key) => known.has(key))
            if (found.length === 0) return message
            const answers = await Promise.all(found.map((key) => ask({ verb: 'get', space, key })))
            return { ...message, label: joinLabels([labelOf(message), ...answers.map(labelIn)]) }
          }),
        )
      } catch {
        const label = joinLabels([undefined])
        return messages.map((one) => (one.role === 'assistant' ? { ...one, label } : one))
      }
    },
  }
  return { ...told, around: (planner) => createTelling(told, planner) }
}

function createTelling({ tell }: Pick<ToldAnswers, 'tell'>, planner: Planner): Planner {
  return {
    async plan(state) {
      const { principal, options } = state.caller
      if (!options.bringsAll) return planner.plan(state)
      let label = ownLabel
      const texts = new Set<string>()
      const read = (more: Label | undefined) => {
        label = joinLabels([label, more])
        state.read?.(more)
      }
      const steps = await planner.plan({
        ...state,
        read,
        async generate(request) {
          const reply = await state.generate(request)
          texts.add(reply.text)
          return reply
        },
      })
      // A hook may have changed the model's text: the client gets this version.
      for (const step of steps) if ('message' in step) texts.add(step.message)
      const said = state.messages
      await tell(principal, {
        said,
        texts: [...texts],
        label: joinLabels([label, labelOfAll(said)]),
      })
      return steps
    },
  }
}

const isFromUser = (message: Message): boolean =>
  message.role === 'user' && message.taint.includes('user')
const textOf = (message: Message | undefined): string =>
  message?.role === 'user' ? message.text : ''
const paragraphsOf = (text: string): readonly string[] =>
  text.split(/\n\s*\n/).flatMap((one) => one.trim() || [])

/** True if the label is the user's own: no stranger wrote a part of it, and nothing in it is private. */
function isUsers(label: Label): boolean {
  const { integrity, confidentiality } = joinLabels([saidLabel, label])
  return integrity === saidLabel.integrity && confidentiality === saidLabel.confidentiality
}

const labelIn = ({ label }: StorageAnswer): Label | undefined => label
