import { defined } from '#contracts/defined.ts'
import { answerTo } from '#features/plugins/types/answers.ts'
import { errorCode } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { McpAnswered, McpAsked, McpPin } from '#runtime/catalog/types/mcp.ts'
import type { Message } from '#contracts/message.ts'
import type { Asks, SchemaValidator, ToolContext } from '#contracts/tool.ts'
import { hasInvisible } from './definition-checks.ts'

/** The check of answers, and a source of ids for questions. */
export interface AnswerDeps {
  readonly sha256: (text: string) => string
  readonly validator: SchemaValidator
}

type Elicit = Extract<McpAsked, { readonly kind: 'elicit' }>
type Sample = Extract<McpAsked, { readonly kind: 'sample' }>

const maxQuestionChars = 3_500
const maxFormChars = 32_000
const maxAsks = 16

const refused = (why: string): McpAnswered => ({ state: 'refused', why })

/**
 * Answers what a server asks in the middle of one call, within what the operator allowed it (docs/security.md T18). A
 * question to a person says which server asks; without an answer yet it is kept for the pause of the call, which runs
 * again with it. A model is asked out of the call's own lease.
 */
export function createAnswers(
  { pin, deps }: { readonly pin: McpPin; readonly deps: AnswerDeps },
  context: Pick<ToolContext, 'answers' | 'inner'>,
) {
  const { allow } = pin.config
  const asks = new Map<string, JsonObject>()
  const counts = new Map<string, number>()

  /**
   * By the text of each question, since questions of one moment come in any order; a repeated text is another
   * question.
   */
  const keyOf = (asked: JsonObject): string => {
    const stem = `elicit_${deps.sha256(JSON.stringify(asked)).slice(0, 8)}`
    const count = (counts.get(stem) ?? 0) + 1
    counts.set(stem, count)
    return count === 1 ? stem : `${stem}_${count}`
  }

  const elicit = (asked: Elicit): McpAnswered => {
    if (!allow.elicitation) return refused('This server may not ask a person.')
    const question = labelled(asked, pin)
    const isLarge =
      asked.message.length > maxQuestionChars || JSON.stringify(question).length > maxFormChars
    if (isLarge) return refused('The question is too long.')
    if (hasInvisible(question as JsonObject))
      return refused('It has characters that nobody can see.')
    const key = keyOf(question as JsonObject)
    const found = answerTo(question, context.answers?.[key], deps.validator)
    if ('answer' in found) return { state: 'answered', answer: found.answer }
    if (asks.size >= maxAsks) return refused('Too much is asked at once.')
    asks.set(key, found.asked)
    return { state: 'later' }
  }

  const sample = async (asked: Sample): Promise<McpAnswered> => {
    const generate = context.inner?.generate
    if (!allow.sampling || !generate) return refused('This server may not ask a model.')
    const messages = toMessages(asked, pin)
    if (!messages) return refused('Models are asked in text here, and in nothing else.')
    const maxOutputTokens = Math.min(asked.maxTokens, allow.sampling.maxTokens)
    const { temperature } = asked
    const parameters = { maxOutputTokens, ...defined({ temperature }) }
    const reply = await generate({ model: undefined, messages, tools: [], parameters }, () => true)
    const { text, provider, model, finishReason } = reply
    const answer = {
      role: 'assistant',
      content: { type: 'text', text },
      model: `${provider}/${model}`,
      stopReason: finishReason === 'length' ? 'maxTokens' : 'endTurn',
    }
    return { state: 'answered', answer }
  }

  return {
    /** The questions that a person has to answer before the call can go on; `undefined` if there are none. */
    asks: (): Asks | undefined => (asks.size > 0 ? Object.fromEntries(asks) : undefined),
    asked: async (asked: McpAsked): Promise<McpAnswered> => {
      try {
        return asked.kind === 'elicit' ? elicit(asked) : await sample(asked)
      } catch (error) {
        // The server is a stranger: it learns the code, and not how much of a lease is left.
        return refused(`It could not be answered${codeOf(error)}.`)
      }
    },
  }
}

/** A person must not take the question for ours: the name is the operator's, the host the one that really asks. */
function labelled({ message, ...asked }: Elicit, { id, config }: McpPin): Elicit {
  // An empty screen in between would push the name out of sight.
  const said = message.replace(/\s+/g, (run) => (run.includes('\n') ? '\n' : run))
  return { ...asked, message: `The MCP server "${id}" (${new URL(config.url).host}) asks: ${said}` }
}

/** `undefined` if there is anything but text in it. */
function toMessages({ messages, system }: Sample, { id }: McpPin): readonly Message[] | undefined {
  const taint = [`tool:${id}`] as const
  const read = messages.flatMap(({ role, content }): readonly Message[] =>
    content.type === 'text' ? [{ role, text: content.text, taint }] : [],
  )
  if (read.length < messages.length) return undefined
  // Not as our own system prompt: the server wrote this text.
  return system === undefined ? read : [{ role: 'user', text: system, taint }, ...read]
}

const codeOf = (error: unknown): string => {
  const code = errorCode(error)
  return code === undefined ? '' : ` (${code})`
}
