// The contents of a session's window, and the result of a compaction: for isola chat and isola session.
import type { Client, Reply } from '../src/client/client.ts'
import { dollars, table } from './text.ts'

/** The context that a model would be sent next. */
export const readContext = (request: Client['request'], id: string) =>
  request('GET /api/sessions/:id/context', { params: { id } })

/** Compacts what was said, at rest. */
export const compactSession = (request: Client['request'], id: string, model?: string) =>
  request('POST /api/sessions/:id/compact', { params: { id }, body: model ? { model } : {} })

const names: Readonly<Record<string, string>> = {
  instructions: 'instructions',
  added_by_plugins: 'added by plugins',
  tools: 'tools',
  user_messages: 'messages of the user',
  assistant_messages: 'messages of the agent',
  tool_results: 'results of tools',
  cleared_results: 'results behind handles',
  summary: 'summary of what was before',
}
const share = (part: number, whole: number) =>
  whole > 0 ? `${Math.round((part / whole) * 100)} %` : ''

export function describeContext(view: Reply<'GET /api/sessions/:id/context'>): string {
  const { model, tokens, windowTokens, startTokens, targetTokens, parts, costUsd } = view
  const whole = windowTokens ?? tokens
  const rows = parts.map(({ kind, tokens: own, count }) => [
    names[kind] ?? kind,
    String(count),
    String(own),
    share(own, whole),
  ])
  const lines = [
    table([
      ['part', 'count', 'tokens', windowTokens === undefined ? 'of it' : 'of the window'],
      ...rows,
      ['in all', '', String(tokens), share(tokens, whole)],
    ]),
    model === undefined ? 'No model would answer.' : `The next request goes to ${model}.`,
    windowTokens === undefined
      ? 'How much it takes is not known: it is compacted when it is refused as too long, or on request.'
      : `It takes ${windowTokens} tokens; from ${startTokens} on it is compacted, to ${targetTokens}.`,
  ]
  if (costUsd)
    lines.push(
      `It costs ${dollars(costUsd.input)}, with the longest answer ${dollars(costUsd.atMost)}.`,
    )
  return lines.join('\n')
}

export function describeCompaction({
  compaction,
}: Reply<'POST /api/sessions/:id/compact'>): string {
  const { tokensBefore, tokensAfter, stage, by, left, costNanoUsd, callCostNanoUsd } = compaction
  const how =
    stage === 'results'
      ? `${left.results} results of tools are behind handles`
      : `${left.messages} messages are in a summary ${by === 'model' ? 'by the model' : 'by rule'}`
  const spent = costNanoUsd > 0 ? ` It cost ${dollars(costNanoUsd / 1e9)}.` : ''
  const next = callCostNanoUsd
    ? ` The next request: ${dollars(callCostNanoUsd.before / 1e9)} before, ${dollars(callCostNanoUsd.after / 1e9)} now.`
    : ''
  return `${tokensBefore} tokens before, ${tokensAfter} now: ${how}.${spent}${next}`
}
