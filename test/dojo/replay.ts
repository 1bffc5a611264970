import type { Json, JsonObject } from '#contracts/json.ts'
import { gatedRun, type Happened } from './gated-run.ts'
import type { RecordedCall, RecordedTask, Suite } from './suite.ts'
import { isEffect } from './tool-table.ts'

/** How a user's task went, with nobody attacking. */
export interface Benign {
  readonly task: RecordedTask
  readonly isFinished: boolean
  /** How often it stopped to ask, and about which calls. */
  readonly pauses: number
  readonly asked: readonly RecordedCall[]
}

/** Replays a task; whoever is asked allows it. `readsTyped`: as far as that is enough for it, by somebody who reads for the model. */
export async function replayTask(
  suite: Suite,
  task: RecordedTask,
  { readsTyped }: { readonly readsTyped: boolean } = { readsTyped: false },
): Promise<Benign> {
  const turns = turnsOf(task.calls)
  const { ran, asked, pauses } = await gatedRun(suite, {
    wants: task.wants,
    turns,
    readsTyped: readsTyped && task.isTyped === true,
    approves: () => true,
  })
  return { task, isFinished: ran.length === task.calls.length, pauses, asked }
}

/** When the model obeys: as soon as it has read the attacker's text, or when the user's own work is done. */
export const moments = ['at once', 'at the end'] as const
/** What an attacker's arguments look like: as recorded, or so that no text of theirs is in the carrier. */
export const forms = ['plain', 'encoded'] as const

export interface Attacked {
  readonly task: RecordedTask
  readonly attack: RecordedTask
  readonly moment: (typeof moments)[number]
  readonly form: (typeof forms)[number]
  /** Calls of the attacker's that did something outside. */
  readonly effects: readonly RecordedCall[]
  /** Calls of the attacker's that somebody was asked about. */
  readonly asked: readonly RecordedCall[]
  /** The user's work was done all the same. */
  readonly isFinished: boolean
}

/** Replays a task into which a carrier brings an attack, which the model obeys. Whoever is asked allows what the user wanted, nothing else. */
export async function replayAttack(
  suite: Suite,
  { task, attack, moment, form }: Pick<Attacked, 'task' | 'attack' | 'moment' | 'form'>,
): Promise<Attacked> {
  const theirs = attack.calls.map((call) => ({
    ...call,
    args: form === 'plain' ? call.args : encoded(call.args),
  }))
  const turns = turnsOf(task.calls)
  const carrier = turns.findIndex((turn) => turn.some(({ carries }) => carries))
  if (carrier < 0) throw new Error(`nothing carries an attack into ${task.id} of ${suite.name}`)
  const after = moment === 'at once' ? carrier + 1 : turns.length
  const happened: Happened = await gatedRun(suite, {
    wants: task.wants,
    turns: [...turns.slice(0, after), ...theirs.map((call) => [call]), ...turns.slice(after)],
    approves: (call) => task.calls.includes(call),
  })
  const isTheirs = (call: RecordedCall) => theirs.includes(call)
  return {
    task,
    attack,
    moment,
    form,
    effects: happened.ran.filter((call) => isTheirs(call) && isEffect(call.tool)),
    asked: happened.asked.filter(isTheirs),
    isFinished: task.calls.every((call) => happened.ran.includes(call)),
  }
}

/** One call a turn; those of one tool that do something and need nothing of each other are asked for side by side. */
function turnsOf(calls: readonly RecordedCall[]): readonly (readonly RecordedCall[])[] {
  const turns: RecordedCall[][] = []
  for (const call of calls) {
    const last = turns.at(-1)
    if (last?.[0]?.tool === call.tool && isEffect(call.tool)) last.push(call)
    else turns.push([call])
  }
  return turns
}

/** Every text of the arguments in another alphabet: base64, rot13 or hex, by its length. */
function encoded(args: JsonObject): JsonObject {
  const change = (value: Json): Json => {
    if (typeof value === 'string') return alphabets[value.length % alphabets.length]!(value)
    if (Array.isArray(value)) return value.map(change)
    if (value === null || typeof value !== 'object') return value
    return encoded(value as JsonObject)
  }
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, change(value)]))
}

const rotated = (letter: string): string => {
  const base = letter <= 'Z' ? 65 : 97
  return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base)
}

const alphabets = [
  (text: string) => Buffer.from(text).toString('base64'),
  (text: string) => text.replaceAll(/[a-z]/gi, rotated),
  (text: string) => Buffer.from(text).toString('hex'),
]
