import type { Pause, PauseAnswer } from '#contracts/pause.ts'
import { labelFrom, saidLabel } from '#contracts/label.ts'
import { noGeneration } from '#contracts/generation.ts'
import { toolPolicySchema, type ToolPolicy } from '#contracts/tool-policy.ts'
import { createSchemaValidator } from '../../src/catalog/schema-validator.ts'
import { createLivePolicy } from '../../src/governance/policy/live-policy.ts'
import { createKernel } from '../../src/kernel/run.ts'
import {
  agentSpec,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  openGates,
  runInput,
  runPorts,
  toolsetOf,
} from '../fakes/kernel.ts'
import type { RecordedCall, Suite } from './suite.ts'
import { entryOf, labelOfCall } from './tool-table.ts'

/** A model that obeys whatever it reads, as the calls of each of its turns. */
export interface Script {
  readonly wants: string
  readonly turns: readonly (readonly RecordedCall[])[]
  /** What is read stays outside the context, and what comes in of it has a narrow type. */
  readonly readsTyped?: boolean
  /** Whoever is asked: whether this very call is what they wanted. */
  readonly approves: (call: RecordedCall) => boolean
}

/** What became of the calls of a script. */
export interface Happened {
  readonly ran: readonly RecordedCall[]
  /** Somebody was asked about them, and said yes or no. */
  readonly asked: readonly RecordedCall[]
  /** How often the run stopped to ask; calls of one turn are asked about together. */
  readonly pauses: number
  /** Not run although nobody was asked: by their error codes. */
  readonly refused: readonly string[]
  readonly state: string
}

const keyOf = (tool: string, args: unknown) => `${tool} ${JSON.stringify(args)}`
const maxSegments = 100
const many = 100_000

/** Runs the kernel itself with the gates of a deployment: its policy document, its validator; only the tools are made up. */
export async function gatedRun({ tools, policy }: Suite, script: Script): Promise<Happened> {
  const all = script.turns.flat()
  const ran: RecordedCall[] = []
  const refusedByPerson = new Set<RecordedCall>()
  const entries = tools.map(({ name, inputSchema }) =>
    entryOf(name, inputSchema, async (input) => {
      const key = keyOf(name, input)
      const isOpen = (one: RecordedCall) => !ran.includes(one) && !refusedByPerson.has(one)
      const call = all.find((one) => keyOf(one.tool, one.args) === key && isOpen(one))
      if (!call) throw new Error(`nobody asked for ${key}`)
      ran.push(call)
      const label = script.readsTyped ? lowered(name) : labelOfCall(name, input)
      return { ok: true, output: call.result, ...(label && { label }) }
    }),
  )
  const model = createFakeModel((_request, index) => {
    const turn = script.turns[index]
    return turn
      ? { calls: turn.map(({ tool, args }) => ({ name: tool, input: args })) }
      : { text: 'Done.' }
  })
  const answers: Record<string, PauseAnswer> = {}
  const journal = createMemoryJournal()
  let seq = 0
  const segment = () =>
    createKernel(createKernelParts(model, { gates: deployedGates(policy) })).run(
      runInput({
        options: { pauses: 'park' },
        agent: agentSpec({ maxTurns: many, maxToolCalls: many, maxTokens: many * many }),
        toolset: toolsetOf(entries),
        messages: [{ role: 'user', text: script.wants, taint: ['user'], label: saidLabel }],
        label: saidLabel,
      }),
      runPorts({
        journal,
        nextSeq: () => (seq += 1),
        answerTo: (call) => answers[call],
      }),
    )
  /** By its place in the journal: two calls may be alike, one of the user's and one of the attacker's. */
  const scripted = ({ call }: Pause): RecordedCall => {
    for (const [turn, { calls }] of [...journal.rows.values()].entries()) {
      const found = script.turns[turn]?.[calls.findIndex(({ id }) => id === call)]
      if (found) return found
    }
    throw new Error(`asked about a call that nobody made: ${call}`)
  }
  const asked: RecordedCall[] = []
  for (let pauses = 0; pauses < maxSegments; pauses += 1) {
    const outcome = await segment()
    if (outcome.state !== 'parked') {
      const refused = [...journal.rows.values()]
        .flatMap(({ calls }) => calls)
        .flatMap(({ id, outcome: came }) =>
          came && !came.ok && !Object.hasOwn(answers, id) ? [came.error.code] : [],
        )
      return { ran, asked, pauses, refused, state: outcome.state }
    }
    for (const pause of outcome.pauses) {
      const call = scripted(pause)
      asked.push(call)
      const isApproved = script.approves(call)
      if (!isApproved) refusedByPerson.add(call)
      answers[pause.call] = isApproved ? approved(pause) : denied
    }
  }
  throw new Error('it asks without end')
}

/** As shipped, in a deployment that has opened every host: closed hosts would ask anyway. */
const shipped = toolPolicySchema.parse({ network: { hosts: ['*'] } })

export function deployedGates(policy: ToolPolicy = shipped) {
  const pins = { policy: [{ id: 'policy', policy }] } as const
  const snapshot = { ...noGeneration, pins, sources: {} }
  const gates = createLivePolicy({
    snapshot: async () => snapshot,
    lastKnown: () => snapshot,
    takeRate: async () => ({}),
    toAsk: (_subject, { about = '' }) => ({ about }),
    ownHosts: [],
  })
  const outputs = { ...openGates.outputs, maxChars: many }
  return { ...openGates, ...gates, validator: createSchemaValidator(), outputs }
}

/** Of what somebody without tools read for the model, and answered in a narrow type: whose it is stays, and no stranger steers by it. */
const lowered = (tool: string) => labelFrom(tool, { integrity: 'tool' })

const approved = ({ argsHash, definitionHash }: Pause): PauseAnswer => ({
  kind: 'approved',
  argsHash,
  definitionHash,
})

const denied: PauseAnswer = {
  kind: 'outcome',
  result: { ok: false, error: { code: 'tool_denied', message: 'No.' } },
}
