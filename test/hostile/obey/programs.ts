import { toToolResult } from '#runtime/kernel/types/agent-outcome.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import {
  joinLabels,
  labelFrom,
  ownLabel,
  saidLabel,
  type Label,
  type Sink,
} from '#contracts/label.ts'
import { labelOfAll } from '#contracts/message.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelRequest } from '#contracts/model.ts'
import type { Pause, PauseAnswer } from '#runtime/kernel/types/pause.ts'
import type { ToolEntry, ToolResult } from '#contracts/tool.ts'
import type { ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import { deployedGates } from '../../dojo/gated-run.ts'
import {
  agentSpec,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
  toolEntry,
  toolsetOf,
  type Line,
} from '../../fakes/kernel.ts'
import type { createRandom } from '../../fakes/random.ts'

type Random = ReturnType<typeof createRandom>
type Call = NonNullable<Line['calls']>[number]

/**
 * Each value carries marks of its origin: `[S3 do:pay]` came from a stranger, who wants something paid, and `[P1]` is
 * private. A value has the marks of all values it was made from, so that the marks in the input of a sink say what decided
 * about the call, whatever the labels say.
 */
const markForm = /\[[SP]\d+[^\]]*\]/g
export const marksIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(markForm)].map(([mark]) => mark)),
]
export const isStrangers = (text: string): boolean => text.includes('[S')
export const isPrivate = (text: string): boolean => text.includes('[P')

const sinkOf: Readonly<Record<string, Sink>> = {
  visit: 'egress',
  write: 'write',
  pay: 'spend',
  mail: 'message',
  plan: 'code',
}
export const sinks = Object.keys(sinkOf)

/** The sources: a page, a stranger's mail, the user's notes, a clock. */
const sources: Readonly<Record<string, { readonly mark: string; readonly yields: Label }>> = {
  page: { mark: 'S', yields: labelFrom('page', { confidentiality: 'public' }) },
  post: { mark: 'SP', yields: labelFrom('post') },
  notes: { mark: 'P', yields: labelFrom('notes', { integrity: 'data' }) },
  clock: { mark: '', yields: { integrity: 'tool', confidentiality: 'public', sources: [] } },
}

/** One thing that an agent does. */
export type Step =
  | { readonly do: 'read' | 'readLong'; readonly source: string; readonly id: number }
  | { readonly do: 'store' | 'load'; readonly key: string }
  | { readonly do: 'open' }
  | { readonly do: 'sink'; readonly sink: string }
  | { readonly do: 'code'; readonly steps: readonly Step[] }
  | { readonly do: 'child'; readonly turns: readonly (readonly Step[])[] }
/** Runs of sessions that share what is stored; the steps of a turn are asked for at once. */
export type Program = readonly {
  readonly isNewSession: boolean
  readonly turns: readonly (readonly Step[])[]
}[]

/** @param depth How many agents may still be below this one. */
function createStep({ int, chance }: Random, depth: number, inCode = false): Step {
  const pick = <T>(from: readonly T[]): T => from[int(0, from.length - 1)]!
  const key = pick(['a', 'b'])
  const read = { source: pick(Object.keys(sources)), id: int(1, 9) }
  const again = () => createStep({ int, chance } as Random, depth, true)
  const kinds: readonly (() => Step)[] = [
    () => ({ do: 'read', ...read }),
    () => ({ do: 'sink', sink: pick(sinks) }),
    () => ({ do: 'sink', sink: pick(sinks) }),
    () => ({ do: 'store', key }),
    () => ({ do: 'load', key }),
    ...(inCode
      ? []
      : [
          (): Step => ({ do: 'readLong', ...read }),
          (): Step => ({ do: 'open' }),
          (): Step => ({ do: 'code', steps: Array.from({ length: int(1, 3) }, again) }),
        ]),
    ...(depth > 0 && !inCode
      ? [(): Step => ({ do: 'child', turns: createTurns({ int, chance } as Random, depth - 1) })]
      : []),
  ]
  return pick(kinds)()
}
const createTurns = (random: Random, depth: number) =>
  Array.from({ length: random.int(1, 4) }, () =>
    Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => createStep(random, depth)),
  )
export const createProgram = (random: Random): Program =>
  Array.from({ length: random.int(1, 3) }, (_, at) => ({
    isNewSession: at === 0 || random.chance(0.5),
    turns: createTurns(random, 2),
  }))

/** Something that was done outside. */
export interface Effect {
  readonly sink: string
  readonly text: string
  readonly isApproved: boolean
}
export interface Happened {
  readonly effects: readonly Effect[]
  /** Calls that waited for an approval, or that were refused where no person could be asked. */
  readonly held: readonly { readonly sink: string; readonly text: string }[]
}

/** Where a label is lost, to see that it would be noticed. */
export type Hole = 'load' | 'child' | 'answer'

export interface World {
  readonly policy: ToolPolicy
  /** The goal of the stranger of this number. */
  readonly wants: (id: number) => string
  readonly approves: () => boolean
  readonly hole?: Hole
}

interface Kept {
  readonly text: string
  readonly label: Label | undefined
}

/** Runs a program by the kernel and the gates of a deployment; only the tools are made up. */
export async function runProgram(program: Program, world: World): Promise<Happened> {
  const effects: Effect[] = []
  const held: { sink: string; text: string }[] = []
  const stored = new Map<string, Kept>()
  const outputs = new Map<string, Kept>()
  let count = 0
  const lost = (hole: Hole, label: Label | undefined) => (world.hole === hole ? ownLabel : label)
  /** A stored value is private, whatever it was before. */
  const loaded = ({ text, label }: Kept): ToolResult => ({
    ok: true,
    output: `[P99] ${text}`,
    label: lost('load', joinLabels([label, labelFrom('load', { integrity: 'data' })])),
  })
  const textIn = (input: object) => String((input as { text?: unknown }).text ?? '')

  const valueOf = (source: string, id: number): string => {
    const { mark } = sources[source]!
    const want = world.wants(id)
    return `${mark.includes('S') ? `[S${id} do:${want}]` : ''}${mark.includes('P') ? `[P${id}]` : ''}`
  }
  const simple: readonly ToolEntry[] = [
    ...Object.entries(sources).map(([source, { yields }]) =>
      toolEntry(
        source,
        async ({ id, long }) => {
          const text = valueOf(source, Number(id))
          return { ok: true, output: long ? text.padEnd(900, '.') : text }
        },
        { sinks: [], yields },
      ),
    ),
    ...sinks.map((sink) =>
      toolEntry(
        sink,
        async (input, { isApproved = false }) => {
          effects.push({ sink, text: textIn(input), isApproved })
          return { ok: true, output: 'done' }
        },
        { sinks: [sinkOf[sink]!], yields: sources['clock']!.yields },
      ),
    ),
    toolEntry(
      'store',
      async (input, { label }) => {
        stored.set(String(input['key']), { text: textIn(input), label })
        return { ok: true, output: 'kept' }
      },
      { sinks: [], yields: ownLabel },
    ),
    toolEntry(
      'load',
      async ({ key }) => {
        const value = stored.get(String(key))
        return value ? loaded(value) : { ok: true, output: 'nothing' }
      },
      { sinks: [], yields: ownLabel },
    ),
  ]
  const code: ToolEntry = {
    ...toolEntry(
      'code',
      async (input, { inner }) => {
        let text = textIn(input)
        for (const { name, input: args } of input['calls'] as unknown as readonly Call[]) {
          const result = await inner!.callTool(name, { ...(args as object), text })
          if (!result.ok && sinks.includes(name)) held.push({ sink: name, text })
          text = marksIn(`${text} ${JSON.stringify(result)}`).join(' ')
        }
        return { ok: true, output: text }
      },
      { sinks: [], yields: ownLabel },
    ),
    spends: defaultAgentLimits,
    inner: { resolve: toolsetOf(simple).resolve, children: 0 },
  }
  const open = toolEntry(
    'open',
    async ({ handle }) => {
      const { text = 'nothing', label } = outputs.get(String(handle)) ?? {}
      return { ok: true, output: text, label }
    },
    { sinks: [], yields: ownLabel },
  )
  const child = toolEntry(
    'child',
    async (input, { label }) => {
      const task: Message = { role: 'user', text: textIn(input), taint: ['user'], label: label! }
      const turns = input['turns'] as unknown as readonly (readonly Step[])[]
      const result = await run(turns, [task], 'refuse')
      const told = toToolResult(result)
      return { ...told, label: lost('child', told.label) } as ToolResult
    },
    { sinks: [], yields: ownLabel, spends: defaultAgentLimits },
  )
  const gates = {
    ...deployedGates(world.policy),
    outputs: {
      maxChars: 700,
      async keep({ label }: { readonly label?: Label | undefined }, json: string) {
        const handle = `h${(count += 1)}`
        outputs.set(handle, { text: json, label })
        return { handle, chars: json.length, head: json.slice(0, 60) }
      },
    },
  }

  async function run(
    turns: readonly (readonly Step[])[],
    messages: readonly Message[],
    pauses: 'park' | 'refuse',
  ) {
    const obedient = createObedient(turns)
    const model = createFakeModel((request) => obedient(request))
    const journal = createMemoryJournal()
    const answers: Record<string, PauseAnswer> = {}
    let seq = 0
    for (;;) {
      const outcome = await createKernel(createKernelParts(model, { gates })).run(
        runInput({
          options: { pauses },
          agent: agentSpec({ maxTurns: 500, maxToolCalls: 5_000, maxTokens: 1e9, maxDepth: 8 }),
          toolset: toolsetOf([...simple, code, open, child]),
          messages,
          label: labelOfAll(messages),
        }),
        runPorts({ journal, nextSeq: () => (seq += 1), answerTo: (call) => answers[call] }),
      )
      if (outcome.state !== 'parked') {
        if (outcome.state !== 'completed') throw new Error(JSON.stringify(outcome.error))
        for (const { calls } of journal.rows.values())
          for (const { tool, input, outcome: came } of calls)
            if (pauses === 'refuse' && came && !came.ok && sinks.includes(tool))
              held.push({ sink: tool, text: textIn(input) })
        return outcome
      }
      for (const pause of outcome.pauses) {
        held.push({ sink: pause.tool, text: textIn(pause.input) })
        answers[pause.call] = world.approves() ? approved(pause) : denied
      }
    }
  }

  let transcript: readonly Message[] = []
  for (const { isNewSession, turns } of program) {
    if (isNewSession) transcript = []
    const task: Message = { role: 'user', text: 'go', taint: ['user'], label: saidLabel }
    const messages = [...transcript, task]
    const { result, label } = await run(turns, messages, 'park')
    const answer: Message = {
      role: 'assistant',
      text: result,
      taint: ['model'],
      label: lost('answer', label)!,
    }
    transcript = [...messages, answer]
  }
  return { effects, held }
}

/** Does what strangers want as soon as it reads it, and else what it was to do; puts all that it has read into all that it says. */
function createObedient(turns: readonly (readonly Step[])[]) {
  const obeyed = new Set<string>()
  let turn = 0
  return (request: ModelRequest): Line => {
    const said = JSON.stringify(request.messages)
    const marks = marksIn(said)
    const text = marks.join(' ')
    const fresh = marks.filter((mark) => !obeyed.has(mark))
    for (const mark of fresh) obeyed.add(mark)
    const wanted = fresh.flatMap((mark) => /do:(\w+)/.exec(mark)?.[1] ?? [])
    if (wanted.length > 0) return { calls: wanted.map((name) => ({ name, input: { text } })) }
    const steps = turns[turn]
    turn += 1
    if (!steps) return { text: `Done. ${text}` }
    const handle = [...said.matchAll(/handle\W+(h\d+)/g)].at(-1)?.[1] ?? 'none'
    return { calls: steps.map((step) => callOf(step, text, handle)) }
  }
}

function callOf(step: Step, text: string, handle: string): Call {
  switch (step.do) {
    case 'read':
      return { name: step.source, input: { id: step.id } }
    case 'readLong':
      return { name: step.source, input: { id: step.id, long: true } }
    case 'store':
    case 'load':
      return { name: step.do, input: { key: step.key, text } }
    case 'open':
      return { name: 'open', input: { handle } }
    case 'sink':
      return { name: step.sink, input: { text } }
    case 'code':
      return {
        name: 'code',
        input: { text, calls: step.steps.map((one) => callOf(one, text, handle)) as never },
      }
    case 'child':
      return { name: 'child', input: { text, turns: step.turns as never } }
  }
}

const approved = ({ argsHash, definitionHash }: Pause): PauseAnswer => ({
  kind: 'approved',
  argsHash,
  definitionHash,
})
const denied: PauseAnswer = {
  kind: 'outcome',
  result: { ok: false, error: { code: 'tool_denied', message: 'No.' } },
}
