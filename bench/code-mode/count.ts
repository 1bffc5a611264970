// Counts the tokens of a run, by the estimate that the product itself reserves by.
import type { JsonObject } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import type { ChatMessage, ChatRequestBody } from '../../test/fakes/model-server.mjs'
import type { WrittenTask } from './task.ts'

const count = createTokenEstimator()

/** Tokens of all requests of a run, those of definitions apart, and of all that the model said. */
export interface Counted {
  readonly turns: number
  readonly definitions: number
  readonly messages: number
  readonly said: number
  /** Tokens with definitions and messages counted once each, as with a provider whose cache is free. */
  readonly once: number
  /** Of `definitions`, if the agent had been given no tool but those of this task. */
  readonly least: number
  /** Tools of the task whose signatures were not among those that were found. */
  readonly missed: readonly string[]
  /** Definitions that its model was sent with each request. */
  readonly tools: number
}

/** The text of a message on the wire. */
export function textOf({ content }: ChatMessage | undefined = { role: '' }): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text = '' }) => text).join('')
}

/** A message on the wire as the estimate knows it. */
function toMessage(message: ChatMessage): Message {
  const text = textOf(message)
  switch (message.role) {
    case 'system':
      return { role: 'system', text }
    case 'assistant': {
      const toolCalls = (message.tool_calls ?? []).map(
        ({ id, function: { name, arguments: input } }) => {
          return { id, name, input: JSON.parse(input) as JsonObject }
        },
      )
      return { role: 'assistant', text, taint: [], ...(toolCalls.length > 0 && { toolCalls }) }
    }
    case 'tool':
      return { role: 'tool', callId: '', name: '', output: text, isError: false, taint: [] }
    default:
      return { role: 'user', text, taint: ['user'] }
  }
}

/** Of the requests of one run. */
export function countRun(bodies: readonly ChatRequestBody[], task: WrittenTask): Counted {
  const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0)
  const definitionsIn = ({ tools = [] }: ChatRequestBody, wanted?: ReadonlySet<string>) =>
    count.ofTools(
      tools
        .filter(({ function: { name } }) => !wanted || wanted.has(name))
        .map(({ function: { name, description = '', parameters = {} } }) => {
          return { name, description, inputSchema: parameters as JsonObject }
        }),
    )
  const messagesIn = ({ messages }: ChatRequestBody) =>
    sumOf(messages.map((message) => count.ofMessage(toMessage(message))))
  const last = bodies.at(-1)!
  const answer = count.ofMessage({ role: 'assistant', text: task.answer, taint: [] })
  const spoken = last.messages.filter(({ role }) => role === 'assistant').map(toMessage)
  const found = textOf(last.messages.find(({ role }) => role === 'tool'))
  const needed = new Set(task.calls.flat().map(([name]) => name))
  return {
    turns: bodies.length,
    definitions: sumOf(bodies.map((body) => definitionsIn(body))),
    messages: sumOf(bodies.map(messagesIn)),
    said: sumOf(spoken.map((message) => count.ofMessage(message))) + answer,
    once: definitionsIn(last) + messagesIn(last) + answer,
    least: sumOf(bodies.map((body) => definitionsIn(body, needed))),
    missed: [...needed].filter((name) => !found.includes(`tools.${name.replace('__', '.')}(`)),
    tools: last.tools?.length ?? 0,
  }
}

export const totalOf = ({ definitions, messages, said }: Counted): number =>
  definitions + messages + said
/** The same, had the agent been given no tool but those of its task. */
export const leastOf = ({ least, messages, said }: Counted): number => least + messages + said
