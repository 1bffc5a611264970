import { createHash } from 'node:crypto'
import { defaultContextSettings, type ContextInput } from '../../src/runtime/context/types.ts'
import { type Compaction, type TokenCounter } from '#contracts/context.ts'
import { unlimited } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelRequest } from '#contracts/model.ts'
import { createOutputStore } from '../../src/runtime/catalog/output-tool.ts'
import { createContextBuilder } from '../../src/runtime/context/context-builder.ts'
import {
  createContextFitter,
  type ContextFitterParts,
} from '../../src/runtime/context/context-fitter.ts'
import { createContextReader } from '../../src/runtime/context/context-reader.ts'
import {
  createTokenEstimator,
  outputCap,
  reservationFor,
} from '../../src/platform/models/estimate.ts'
import { createFakeModel, openGates, sha256, type FakeModel, type Script } from './kernel.ts'
import type { createRandom } from './random.ts'
import { createFakeGateway } from './session-gateway.ts'

const estimator = createTokenEstimator()
const request = { model: undefined, messages: [], tools: [], parameters: {} }

/** Counts as the models do. */
export const tokenCounter: TokenCounter = estimator

export const contextBuilder = createContextBuilder({
  count: tokenCounter,
  readTool: 'isola__read_output',
})

/** Keeps texts in memory under handles that say what is in them. */
export function createKept() {
  const texts = new Map<string, string>()
  return {
    texts,
    keep: async (text: string): Promise<string> => {
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 22)
      const handle = `ses_0Ue6uFgDGvzUCXcbbzDvtf.kept.${hash}`
      texts.set(handle, text)
      return handle
    },
  }
}

export const contextInput = (
  messages: readonly Message[],
  more: Partial<ContextInput> = {},
): ContextInput => ({
  messages,
  tools: [],
  model: { name: 'a-model', contextTokens: 16_000, maxOutputTokens: 4_000 },
  left: { maxTokens: unlimited, maxCostNanoUsd: unlimited },
  settings: defaultContextSettings,
  records: [],
  keep: createKept().keep,
  signal: new AbortController().signal,
  ...more,
})

export const system = (text: string): Message => ({ role: 'system', text })
export const user = (text: string): Message => ({ role: 'user', text, taint: ['user'] })
export const says = (text: string): Message => ({ role: 'assistant', text, taint: ['model'] })
export const calls = (id: string, name = 'files__read', input = {}, text = ''): Message => ({
  role: 'assistant',
  text,
  toolCalls: [{ id, name, input }],
  taint: ['model'],
})
export const answer = (
  callId: string,
  output: Extract<Message, { role: 'tool' }>['output'],
  name = 'files__read',
): Message => ({
  role: 'tool',
  callId,
  name,
  output,
  isError: false,
  taint: [`tool:${name}`],
})

/** Text of about so many tokens that is not the same twice. */
export function prose(random: ReturnType<typeof createRandom>, tokens: number): string {
  const words = [
    'harbour',
    'lists',
    'seven',
    'green',
    'across',
    'window',
    'paper',
    'under',
    'Zeile',
  ]
  return Array.from({ length: tokens }, () => words[random.int(0, words.length - 1)]).join(' ')
}

/** Talk of about 12,000 tokens, with something at its beginning. */
export function talkAfter(
  first: readonly Message[],
  random: ReturnType<typeof createRandom>,
): readonly Message[] {
  return [
    system('You are careful.'),
    user('Plan the move to Lisbon in May.'),
    ...first,
    ...Array.from({ length: 20 }, (_, index) => [
      says(`${prose(random, 300)} Next I will check step ${index}.`),
      user(`${prose(random, 300)} Remember number ${index + 7_000}.`),
    ]).flat(),
  ]
}

/** The text that the model is sent, and the texts that it can open from there with one call. */
export function reachable(messages: readonly Message[], texts: ReadonlyMap<string, string>) {
  const window = messages.map((message) => JSON.stringify(message)).join('\n')
  const behind = [...texts].flatMap(([handle, text]) => (window.includes(handle) ? [text] : []))
  return {
    inWindow: (fact: string) => window.includes(fact),
    inReach: (fact: string) => window.includes(fact) || behind.some((text) => text.includes(fact)),
  }
}

/** Asks before each model step, as the loop does: every place after which a model would be asked. */
export async function* steps(
  messages: readonly Message[],
  more: Partial<ContextInput> = {},
): AsyncGenerator<{ at: number; sent: readonly Message[]; tokens: number; made?: Compaction }> {
  const records: Compaction[] = []
  for (let at = 1; at <= messages.length; at += 1) {
    const next = messages[at]
    // The model is asked where it spoke next, and at the end.
    if (next && next.role !== 'assistant') continue
    const input = contextInput(messages.slice(0, at), { ...more, records: [...records] })
    const built = await contextBuilder.build(input)
    if (built.compaction) records.push(built.compaction)
    yield {
      at,
      sent: built.messages,
      tokens: built.tokens,
      ...(built.compaction && { made: built.compaction }),
    }
  }
}

/** The parts by which a kernel fits messages into a window: both count tokens as deployments do. */
export function createContextParts(
  script: Script,
  contextTokens?: number,
  around: Pick<ContextFitterParts, 'aroundSummary'> = {},
) {
  const base = createFakeModel(script)
  const gateway = createFakeGateway()
  const models: FakeModel = {
    ...base,
    estimate: (asked) => reservationFor(estimator.ofRequest(asked), asked),
    contextOf: (asked) => ({
      name: 'fake',
      ...(contextTokens !== undefined && { contextTokens }),
      maxOutputTokens: outputCap(asked),
    }),
  }
  const outputs = createOutputStore(gateway)
  const fitter = (keep: typeof outputs.keep) =>
    createContextFitter({ builder: contextBuilder, models, outputs: { keep }, sha256, ...around })
  const gates = { ...openGates, outputs }
  const reader = createContextReader({ builder: contextBuilder, count: estimator, models })
  return { models, gateway, fitter, reader, more: { models, gates, context: fitter(outputs.keep) } }
}

/** Whether it asks for a summary. */
export const asksForSummary = ({ messages }: Pick<ModelRequest, 'messages'>): boolean =>
  messages[0]?.role === 'system' && messages[0].text.startsWith('You write the notes')

export const tokensOf = (asked: Pick<ModelRequest, 'messages' | 'tools'>): number =>
  estimator.ofRequest({ ...request, ...asked })
