// npm run bench:code-mode [-- --json]: the twenty written tasks of tasks.ts, each once by a model that calls its
// tools and once by one that writes code against them, in the local runtime. The model is a script, so both do
// exactly what is written. What it was sent and what it said is counted by the estimate that the product itself
// reserves by.
import { deepStrictEqual } from 'node:assert'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../scripts/toolchain.mjs'
import { startModelServer, type ChatRequestBody } from '../../test/fakes/model-server.mjs'
import { build, makeTempDir, removeTempDir, serve, wranglerConfig } from '../serve.mjs'
import { countRun, leastOf, textOf, totalOf, type Counted } from './count.ts'
import { shopBundle } from './shop.ts'
import type { Call, WrittenTask } from './task.ts'
import { tasks } from './tasks.ts'

/**
 * How a task is done: by its calls, in code, or (one call) found and then called by its name; and by the orchestrator,
 * which finds its tools anyway: one call after another (`found`), or in code.
 */
const ways = {
  plain: 'clerk',
  code: 'coder',
  name: 'coder',
  found: 'orchestrator',
  foundCode: 'orchestrator',
} as const
type Way = keyof typeof ways

/** The fields of the API's replies that are read here. */
interface Answer {
  readonly id: string
  readonly state: string
  readonly plugin: { readonly hash: string; readonly asks: object }
}

const isolateUsd = 0.002
const key = 'isk_bench'
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
const { values: options } = parseArgs({ options: { json: { type: 'boolean', default: false } } })

const call = ([name, input]: Call) => ({ name, arguments: input })
const find = ({ queries }: WrittenTask) => ({ name: 'isola__find', arguments: { queries } })

/** Each turn's calls. */
function turnsOf(task: WrittenTask, way: Way) {
  if (way === 'plain') return task.calls.map((calls) => calls.map(call))
  if (way === 'code' || way === 'foundCode')
    return [[find(task)], [{ name: 'code__run', arguments: { code: task.code } }]]
  if (way === 'found') {
    const through = ([name, input]: Call) => call(['isola__call', { name, input }])
    return [[find(task)], ...task.calls.map((calls) => calls.map(through))]
  }
  const [[name, input]] = task.calls[0] as readonly [Call]
  return [[find(task)], [{ name: 'code__run', arguments: { name, input } }]]
}

function reply({ body: { messages } }: { readonly body: ChatRequestBody }) {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const [, at = '', way = ''] = /^\[(\d+) (\w+)\]/.exec(textOf(messages[asked])) ?? []
  const task = tasks[Number(at)]!
  const done = messages.slice(asked).filter(({ role }) => role === 'assistant').length
  const toolCalls = turnsOf(task, way as Way)[done]
  return toolCalls ? { toolCalls } : { text: task.answer }
}

/** Checks that the calls gave the task's result; else the counts would mean nothing. */
function check(task: WrittenTask, way: Way, { messages }: ChatRequestBody): void {
  const answers = messages.filter(({ role }) => role === 'tool').map(textOf)
  for (const answer of answers) {
    if (answer.startsWith('{"error"')) throw new Error(`${task.task} (${way}): ${answer}`)
  }
  if (way !== 'code' && way !== 'foundCode') return
  const { result } = JSON.parse(answers.at(-1)!) as { readonly result: unknown }
  deepStrictEqual(result, task.returns, task.task)
}

const agentOf = (id: string, isCode: boolean) => ({
  manifest: {
    id,
    name: 'Clerk',
    version: '1.0.0',
    description: 'Works for the shop.',
    agent: {
      integration_mode: 'tool',
      model: 'default',
      instructions: 'clerk.md',
      uses_tools: ['shop', 'files', 'kv', 'memory'],
      limits: { max_turns: 20, max_tool_calls: 200, max_tokens_per_invocation: 500_000 },
      ...(isCode && { code_mode: true }),
    },
  },
  files: {
    'clerk.md':
      'You work in the back office of a shop. Do what you are asked, then say what came of it.',
  },
})

async function measure(): Promise<ReadonlyMap<string, Counted>> {
  const temp = makeTempDir('code-mode')
  const model = await startModelServer({ script: reply })
  const vars = {
    ISOLA_OPERATOR_KEY: key,
    ISOLA_ENV: 'development',
    ISOLA_MODEL: 'openai/bench',
    OPENAI_BASE_URL: model.url,
  }
  try {
    const entry = join(root, 'src', 'index.ts')
    const { folder } = await build({ entry, config: wranglerConfig, outDir: join(temp, 'out') })
    const stateDir = join(temp, 'state')
    const server = await serve({ folder, config: wranglerConfig, vars, stateDir })
    const post = async (path: string, json: object): Promise<Answer> => {
      const body = JSON.stringify(json)
      const answer = await fetch(`${server.url}/api/${path}`, { method: 'POST', headers, body })
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
      return (await answer.json()) as Answer
    }
    const install = async (bundle: { readonly manifest: { readonly id: string } }) => {
      const plugins = `operator/plugins`
      const { plugin } = await post(plugins, { bundle })
      await post(`${plugins}/${bundle.manifest.id}/grant`, {
        hash: plugin.hash,
        permit: plugin.asks,
        texts: true,
      })
      await post(`${plugins}/${bundle.manifest.id}/enable`, {})
    }
    try {
      await post('operator/plugins/code/enable', {})
      for (const bundle of [shopBundle, agentOf('clerk', false), agentOf('coder', true)])
        await install(bundle)
      const counted = new Map<string, Counted>()
      const work = async (at: number, way: Way): Promise<void> => {
        const task = tasks[at]!
        const { id } = await post('sessions', { agent: ways[way] })
        const before = model.requests.length
        const told = `[${at} ${way}] ${task.task}`
        const run = await post(`sessions/${id}/runs`, { task: told, wait: true })
        if (run.state !== 'completed') throw new Error(`${told}: ${JSON.stringify(run)}`)
        const bodies = model.requests.slice(before).map(({ body }) => body)
        check(task, way, bodies.at(-1)!)
        counted.set(`${at} ${way}`, countRun(bodies, task))
      }
      for (const [at, { kind }] of tasks.entries()) {
        for (const way of ['plain', 'code', 'found'] as const) await work(at, way)
        if (kind === 'one call') await work(at, 'name')
      }
      await post('operator/policy', { policy: { code_mode: ['orchestrator'] } })
      for (const at of tasks.keys()) await work(at, 'foundCode')
      return counted
    } finally {
      await server.close()
    }
  } finally {
    await model.close()
    removeTempDir(temp)
  }
}

/** The figures of the code way and of the plain way that a ratio compares. */
type Values = readonly [(one: Counted) => number, (one: Counted) => number]

function print(counted: ReadonlyMap<string, Counted>): void {
  const of = (at: number, way: Way) => counted.get(`${at} ${way}`)!
  const ratio = (code: number, plain: number) => `${(code / plain).toFixed(2)}×`
  const cells = (values: readonly (string | number)[], widths: readonly number[]) =>
    values.map((value, at) => String(value).padStart(widths[at]!)).join('')
  const head = [
    'calls',
    'turns',
    'defin.',
    'mess.',
    'said',
    'all',
    'turns',
    'defin.',
    'mess.',
    'said',
    'all',
    'code/plain',
  ]
  const widths = [7, 8, 8, 8, 7, 8, 9, 8, 8, 7, 8, 12]
  const columns = ({ turns, definitions, messages, said }: Counted) => [
    turns,
    definitions,
    messages,
    said,
  ]
  console.log(`${''.padEnd(44)}${cells(['', 'plain', '', '', '', '', 'code'], widths)}`)
  console.log(`${''.padEnd(44)}${cells(head, widths)}`)
  for (const [at, { kind, task, calls }] of tasks.entries()) {
    const [plain, code] = [of(at, 'plain'), of(at, 'code')]
    const row = [
      calls.flat().length,
      ...columns(plain),
      totalOf(plain),
      ...columns(code),
      totalOf(code),
      ratio(totalOf(code), totalOf(plain)),
    ]
    console.log(`${`${kind}: ${task}`.slice(0, 43).padEnd(44)}${cells(row, widths)}`)
  }
  const sumOver = (at: readonly number[], way: Way, value: (one: Counted) => number) =>
    at.reduce((sum, one) => sum + value(of(one, way)), 0)
  const all = tasks.map((_, at) => at)
  console.log(`
Tokens in all of code against plain calling:  A of an agent with ${of(0, 'plain').tools} tools,  B of one that has only the tools of its task,
C as A where a provider charges nothing for what it was sent before (each definition and message once),  D of the
orchestrator, which finds its tools in either case
${cells(['A', 'B', 'C', 'D'], [22, 8, 8, 8])}`)
  const compare = (some: readonly number[], [code, plain]: readonly [Way, Way], values: Values) =>
    ratio(sumOver(some, code, values[0]), sumOver(some, plain, values[1]))
  for (const kind of ['one call', 'a chain', 'a loop', 'a join', undefined]) {
    const some = all.filter((at) => kind === undefined || tasks[at]!.kind === kind)
    const once = (one: Counted) => one.once
    const values = [
      compare(some, ['code', 'plain'], [totalOf, totalOf]),
      compare(some, ['code', 'plain'], [totalOf, leastOf]),
      compare(some, ['code', 'plain'], [once, once]),
      compare(some, ['foundCode', 'found'], [totalOf, totalOf]),
    ]
    const turnsOfAll = (['code', 'plain', 'foundCode', 'found'] as const).map((way) =>
      sumOver(some, way, ({ turns }) => turns),
    )
    console.log(
      `  ${(kind ?? 'all twenty').padEnd(12)}${cells(values, [8, 8, 8, 8])}   turns ` +
        `${turnsOfAll.slice(0, 2).join(' for ')}, D ${turnsOfAll.slice(2).join(' for ')}`,
    )
  }
  const single = all.filter((at) => tasks[at]!.kind === 'one call')
  console.log(
    '  one call by its name, without code: ' +
      `${ratio(sumOver(single, 'name', totalOf), sumOver(single, 'plain', totalOf))}; with only its own ` +
      `tool: ${ratio(sumOver(single, 'name', totalOf), sumOver(single, 'plain', leastOf))}`,
  )
  const missed = all.flatMap((at) =>
    of(at, 'code').missed.map((name) => `${name} (task ${at + 1})`),
  )
  console.log(
    `  signatures that the queries of a task did not find: ${missed.join(', ') || 'none'}`,
  )
  const saved = (sumOver(all, 'plain', totalOf) - sumOver(all, 'code', totalOf)) / all.length
  console.log(
    `\nEach code is $${isolateUsd} for its isolate. ${Math.round(saved)} tokens saved a task are worth that ` +
      `from $${((isolateUsd / saved) * 1e6).toFixed(2)} a million tokens on.`,
  )
}

const counted = await measure()
if (options.json) console.log(JSON.stringify(Object.fromEntries(counted), undefined, 2))
else print(counted)
