import type { Json, JsonObject } from '#contracts/json.ts'
import { joinLabels, labelFrom, saidLabel, type Label } from '#contracts/label.ts'
import { noGeneration } from '#runtime/catalog/types/generation.ts'
import type { ModelRequest } from '#contracts/model.ts'
import type { Pause, PauseAnswer } from '#runtime/kernel/types/pause.ts'
import { toolPolicySchema, type ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { composeCatalog } from '../../src/runtime/catalog/compose.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { createLivePolicy } from '../../src/features/policy/live-policy.ts'
import { createKernel } from '../../src/runtime/kernel/run.ts'
import {
  agentSpec,
  createFakeModel,
  createFakeSources,
  createKernelParts,
  createMemoryJournal,
  openGates,
  runInput,
  runPorts,
  type Line,
} from '../fakes/kernel.ts'
import type { Asked, Made, Turns } from './obedient.ts'
import type { RecordedCall, Suite } from './suite.ts'
import { entryOf, labelOfCall } from './tool-table.ts'

/** The script of a model, and of the people and readers around it. */
export interface Script {
  readonly wants: string
  /** A page that the model has read before. */
  readonly toldBy?: string | undefined
  readonly turns: Turns
  /** The approver: whether this very call with these arguments is one that the user wanted. */
  readonly approves: (made: Made, input: JsonObject) => boolean
  /** Text that an attacker puts into the result of a call. */
  readonly injected?: (call: RecordedCall) => string
  /** The reader that answers for texts which the model must not see. */
  readonly answers?: (asked: Asked) => Json
}

/** A call that was made, with what was in it in the end. */
export interface Ran {
  readonly made: Made
  readonly input: JsonObject
}

/** The outcome of a script. */
export interface Happened {
  readonly ran: readonly Ran[]
  /** Calls that waited for an approval, given or denied. */
  readonly asked: readonly Made[]
  /** How often the run stopped to ask; calls of one turn are asked about together. */
  readonly pauses: number
  readonly state: string
}

const maxSegments = 100
const many = 100_000

/** Runs the kernel itself with the gates and the catalog of a deployment; only the tools, and what they return, are made up. */
export async function gatedRun({ tools, policy }: Suite, script: Script): Promise<Happened> {
  const ran: Ran[] = []
  const turns: (readonly Made[])[] = []
  const madeIn = (call: string): Made => {
    // As the kernel names calls: by the turn, and the place in it.
    const made = turns.at(-1)?.[Number(/^call_\d+_(\d+)_/.exec(call)?.[1])]
    if (!made) throw new Error(`nobody made ${call}`)
    return made
  }
  const entries = tools.map(({ name, inputSchema }) =>
    entryOf(name, inputSchema, async (input, { call }) => {
      const made = madeIn(call)
      ran.push({ made, input })
      const label = labelOfCall(name, input)
      const output = `${made.of!.result}${script.injected?.(made.of!) ?? ''}`
      return { ok: true, output, ...(label && { label }) }
    }),
  )
  const journal = createMemoryJournal()
  const { answers: read = ({ truth }: Asked) => truth } = script
  const model = createFakeModel((request): Line => {
    if (isReading(request)) {
      const asks = Object.entries(turns.at(-1)?.[0]?.asks ?? {})
      return {
        text: JSON.stringify(Object.fromEntries(asks.map(([key, one]) => [key, read(one)]))),
      }
    }
    const came = [...journal.rows.values()].at(-1)?.calls.map(({ outcome }) => outcome) ?? []
    const next = script.turns.next(came)
    if (next.done) return { text: 'Done.' }
    turns.push(next.value)
    return { calls: next.value }
  })
  const answers: Record<string, PauseAnswer> = {}
  const { toolset, gates } = deployed(entries, policy)
  const kernel = createKernel(createKernelParts(model, { gates }))
  let seq = 0
  const page = { integrity: 'stranger', confidentiality: 'public' } as const
  const told = script.toldBy === undefined ? [] : [labelFrom(script.toldBy, page)]
  const segment = () =>
    kernel.run(
      runInput({
        options: { pauses: 'park' },
        // Side by side is one after the other then, in the order in which the model asks for it.
        agent: agentSpec({
          maxTurns: many,
          maxToolCalls: many,
          maxTokens: many * many,
          maxConcurrency: 1,
        }),
        toolset,
        messages: [{ role: 'user', text: script.wants, taint: ['user'], label: saidLabel }],
        label: joinLabels([saidLabel, ...told]),
      }),
      runPorts({
        journal,
        nextSeq: () => (seq += 1),
        answerTo: (call) => answers[call],
      }),
    )
  const asked: Made[] = []
  for (let pauses = 0; pauses < maxSegments; pauses += 1) {
    const outcome = await segment()
    if (outcome.state !== 'parked') return { ran, asked, pauses, state: outcome.state }
    for (const pause of outcome.pauses) {
      const made = madeIn(pause.call)
      asked.push(made)
      answers[pause.call] = script.approves(made, pause.input) ? approved(pause) : denied
    }
  }
  throw new Error('it asks without end')
}

/** A model that reads for another has no tools. */
const isReading = ({ tools, outputSchema }: ModelRequest): boolean =>
  tools.length === 0 && outputSchema !== undefined

/** As shipped, in a deployment that has opened every host: closed hosts would ask anyway. */
export const shipped = toolPolicySchema.parse({ network: { hosts: ['*'] } })

/** An agent's tools, and the gates before them, as a deployment with this policy makes them. */
function deployed(entries: readonly ToolEntry[], policy: ToolPolicy = shipped) {
  const nothing = { store: {}, bundles: {}, trust: {}, config: {} }
  const catalog = composeCatalog({
    ...createFakeSources(),
    ...nothing,
    sessions: createSpaces(),
  } as never)
  const toolset = catalog.toolsets({ find: async () => [] } as never)(entries, {
    core: 'without-core-tools',
    narrowReading: policy.narrow_reading && { model: undefined },
  })
  const { in: unseen, around } = catalog.unseenWords
  const gates = deployedGates(policy, unseen)
  return { toolset, gates: { ...gates, hooks: around(gates.hooks) } }
}

export function deployedGates(
  policy: ToolPolicy = shipped,
  unseen?: Parameters<typeof createLivePolicy>[0]['unseen'],
) {
  const pins = { policy: [{ id: 'policy', policy }] } as const
  const snapshot = { ...noGeneration, pins, sources: {} }
  const gates = createLivePolicy({
    snapshot: async () => snapshot,
    takeRate: async () => ({}),
    toAsk: (_subject, { about = '' }) => ({ about }),
    ownHosts: [],
    ...(unseen && { unseen }),
  })
  const outputs = { ...openGates.outputs, maxChars: many }
  return { ...openGates, ...gates, validator: createSchemaValidator(), outputs }
}

/** Where results are kept aside. */
function createSpaces() {
  const kept = new Map<string, { readonly value: Json; readonly label?: Label }>()
  const storage = async ({ verb, key, ...one }: { verb: string; key: string; value: Json }) => {
    if (verb === 'set') kept.set(key, one)
    return verb === 'set' ? {} : (kept.get(key) ?? {})
  }
  return { at: () => ({ storage }) }
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
