import type { Compaction } from '#contracts/context.ts'
import type { ContextInput } from '../../src/runtime/context/types.ts'
import { defaultContextSettings } from '../../src/runtime/context/types.ts'
import type { Json } from '#contracts/json.ts'
import { defaultMaxOutputTokens } from '../../src/contracts/lease.ts'
import { unlimited } from '#contracts/lease.ts'
import { readOutputName } from '../../src/runtime/catalog/output-tool.ts'
import { createContextBuilder } from '../../src/runtime/context/context-builder.ts'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import { systemSources } from '../../src/compose/sources.ts'
import type { CreateCompactor, StepInput } from './compactor-contract.ts'

const { sha256 } = systemSources
const count = createTokenEstimator()
const builder = createContextBuilder({ count, readTool: readOutputName })
const signal = new AbortController().signal
/** Runs hand over so many records (src/runtime/session/log/transcript.ts). */
const maxRecords = 2
/** As the handles of a deployment are. */
const session = 'ses_0Ue6uFgDGvzUCXcbbzDvtf'

/** The one that Isola uses, with its settings unless a manifest says otherwise; the summary is made by rule. */
export const createCompactor: CreateCompactor = () => compactorOf()

/** The same with a model that writes summaries. */
export const withSummaries =
  (summarize: NonNullable<ContextInput['summarize']>): CreateCompactor =>
  () =>
    compactorOf(summarize)

function compactorOf(summarize?: ContextInput['summarize']): ReturnType<CreateCompactor> {
  return async (step) => {
    const records = (step.state ?? []) as unknown as readonly Compaction[]
    const input: ContextInput = { ...inputOf(step, records), ...(summarize && { summarize }) }
    const { messages } = step
    const built = builder.isNeeded(input) ? await builder.build(input) : { messages }
    const { compaction } = { compaction: undefined, ...built }
    const known = compaction ? [...records, stored(compaction)].slice(-maxRecords) : records
    return {
      messages: built.messages,
      isCompacted: compaction !== undefined,
      state: known as unknown as Json,
    }
  }
}

const inputOf = (
  { transcript, windowTokens, keep, decidedCalls }: StepInput,
  records: readonly Compaction[],
): ContextInput => ({
  messages: transcript,
  tools: [],
  // The window of the scorer is what may be sent: what a model answers is not in it.
  model: {
    name: 'generated',
    contextTokens: windowTokens + defaultMaxOutputTokens,
    maxOutputTokens: defaultMaxOutputTokens,
  },
  left: { maxTokens: unlimited, maxCostNanoUsd: unlimited },
  settings: defaultContextSettings,
  records,
  isDecision: (message) => message.role === 'tool' && decidedCalls.includes(message.callId),
  keep: async (text) => keep(text, `${session}.kept.${sha256(text).slice(0, 22)}`),
  signal,
})

/** As a later step reads it from its row. */
const stored = (record: Compaction): Compaction => JSON.parse(JSON.stringify(record)) as Compaction
