// isola metrics show: how agents, tools and models did.
import type { Reply } from '../../src/client/client.ts'
import { defineVerbs, type Context } from './command.ts'
import { dollars, table } from './text.ts'
import { UsageError } from './usage.ts'

const hourMs = 3_600_000
type Metrics = Reply<'GET /api/operator/metrics'>
type Latency = { readonly mean: number; readonly max: number } | undefined

const percent = (share: number | undefined) =>
  share === undefined ? '' : `${(share * 100).toFixed(1)} %`
const codes = (failures: Readonly<Record<string, number>>) =>
  Object.entries(failures)
    .map(([code, count]) => `${code} ${count}`)
    .join(', ')
const latency = (ms: Latency) => (ms ? [`${ms.mean} ms`, `${ms.max} ms`] : ['', ''])

function agentsTable(agents: Metrics['agents']) {
  const head = ['agent', 'runs', 'success', 'turns/run', 'tokens in', 'tokens out', 'cost']
  const rows = agents.map((one) => [
    one.agent,
    one.runs,
    percent(one.successRate),
    one.turnsPerRun?.toFixed(1),
    one.inputTokens,
    one.outputTokens,
    dollars(one.costUsd),
  ])
  return table([head, ...rows])
}

function toolsTable(tools: Metrics['tools']) {
  const head = ['tool', 'calls', 'errors', 'mean', 'max', 'codes']
  const rows = tools.map((one) => [
    one.tool,
    one.calls,
    percent(one.errorRate),
    ...latency(one.latencyMs),
    codes(one.failures),
  ])
  return table([head, ...rows])
}

function modelsTable(models: Metrics['models']) {
  const head = ['model', 'calls', 'mean', 'max', 'cost', 'failures']
  const rows = models.map((one) => [
    `${one.provider}/${one.model}`,
    one.calls,
    ...latency(one.latencyMs),
    dollars(one.costUsd),
    codes(one.failures),
  ])
  return table([head, ...rows])
}

async function show({ values, request, print }: Context<{ readonly hours?: string | undefined }>) {
  const { hours = '24' } = values
  if (!/^[1-9]\d{0,2}$/.test(hours) || Number(hours) > 744)
    throw new UsageError('--hours must be 1 to 744.')
  const since = Date.now() - Number(hours) * hourMs
  const answer = await request('GET /api/operator/metrics', { query: { since, format: 'json' } })
  const { agents, tools, models } = answer
  const parts = [
    ...(agents.length > 0 ? [agentsTable(agents)] : []),
    ...(tools.length > 0 ? [toolsTable(tools)] : []),
    ...(models.length > 0 ? [modelsTable(models)] : []),
  ]
  print(answer, parts.length > 0 ? parts.join('\n\n') : `Nothing in the last ${hours} hours.`)
}

export default {
  noun: 'metrics',
  verbs: defineVerbs({
    show: {
      usage: 'isola metrics show [--hours <n>]',
      about: 'How agents, tools and models did: success, turns, errors, latency, tokens, cost.',
      options: { hours: { type: 'string', value: 'n', about: 'how far back; 24 unless set' } },
      run: show,
    },
  }),
}
