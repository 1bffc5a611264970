import type { JsonObject } from '#contracts/json.ts'
import type { ToolDefinition } from '#contracts/model.ts'
import { fillArguments } from './arguments.ts'
import { maskLiterals, unmask, type Literal, type Masked } from './literals.ts'
import { pronoun } from './parameter-names.ts'
import { toReviewTasks } from './review.ts'
import {
  callName,
  findName,
  listedIn,
  textOfOutput,
  type MadeCall,
  type RunSoFar,
} from './run-so-far.ts'
import { isJsonObject, typeOf } from './schema-shape.ts'
import { asksForAction, quotable, readTasks, withCandidates, type Task } from './tasks.ts'
import { ownerOf, type ToolChooser } from './tool-choice.ts'

export interface PlannedCall {
  readonly name: string
  readonly input: JsonObject
}

/** What the offline model does next, with what it could not do. */
export interface Plan {
  /** Independent calls for one turn; none means: answer now. */
  readonly calls: readonly PlannedCall[]
  readonly notes: readonly string[]
}

type Resolved =
  | { readonly kind: 'call'; readonly call: PlannedCall }
  | { readonly kind: 'incomplete'; readonly tool: string; readonly missing: readonly string[] }
  | { readonly kind: 'nothing' }

/** A chooser among tools; the two core tools are never chosen. */
export type ChooserFor = (tools: readonly ToolDefinition[]) => ToolChooser

/** No run of the offline model makes more calls than this, whatever its tools answer. */
const maxCalls = 24

/**
 * Decides the next calls from the task, the tools and what was called before. A pure function of its arguments: the
 * same steps are read out of the task in every turn, and those whose call was made are done, so it cannot loop.
 */
export function planNext(
  run: RunSoFar,
  tools: readonly ToolDefinition[],
  chooserFor: ChooserFor,
): Plan {
  const masked = maskLiterals(run.task)
  const chooser = chooserFor(tools)
  const tasks = toReviewTasks(readTasks(masked, chooser), run, tools)
  const blocks = masked.literals.filter(({ kind }) => kind === 'block')
  const hasFind = tools.some(({ name }) => name === findName)
  const made = [...run.calls]
  const found = foundTools(run.calls)

  const unknown = hasFind
    ? tasks.filter((task) => task.candidates.length === 0 && asksForAction(task.text))
    : []
  if (unknown.length > 0 && !made.some(({ name }) => name === findName)) {
    const queries = unknown
      .slice(0, 8)
      .map((task) => unmask(task.text, masked.literals, ({ text }) => text).slice(0, 300))
    return { calls: [{ name: findName, input: { queries } }], notes: [] }
  }

  const finder = chooserFor(found)
  const calls: PlannedCall[] = []
  const notes: string[] = []
  let previous: string | undefined
  let failed: string | undefined
  for (const task of tasks) {
    const resolved = resolve(task, {
      masked,
      blocks,
      previous,
      finder: unknown.includes(task) ? finder : undefined,
    })
    if (resolved.kind === 'nothing') {
      if (asksForAction(task.text))
        notes.push(`No installed tool clearly fits "${quotable(task, masked)}".`)
      continue
    }
    if (resolved.kind === 'incomplete') {
      notes.push(
        `I did not call ${resolved.tool}: the message does not say its ${resolved.missing.join(', ')}.`,
      )
      continue
    }
    const before = take(made, resolved.call)
    if (before?.result) {
      previous = before.result.isError ? undefined : textOfOutput(before.result.output)
      if (before.result.isError) failed = before.name
    } else if (failed !== undefined) {
      notes.push(`I did not call ${resolved.call.name}, since ${failed} before it failed.`)
    } else if (calls.length === 0 || mayJoin(task, resolved.call, calls)) {
      calls.push(resolved.call)
    } else break
  }
  return { calls: run.calls.length < maxCalls ? withoutRepeats(calls, run.calls) : [], notes }
}

interface Surroundings {
  readonly masked: Masked
  readonly blocks: readonly Literal[]
  readonly previous: string | undefined
  /** Set for a step whose tool was looked for: chooses among what was found. */
  readonly finder: ToolChooser | undefined
}

/** The best tool whose required arguments were said. */
function resolve(task: Task, { masked, blocks, previous, finder }: Surroundings): Resolved {
  const candidates = finder ? withCandidates(task, masked, finder).candidates : task.candidates
  let incomplete: Resolved | undefined
  for (const tool of candidates) {
    const filled = fillArguments(tool, {
      text: task.text,
      literals: masked.literals,
      blocks,
      previous,
    })
    if (filled.ok) {
      const { name } = tool
      const call = finder
        ? { name: callName, input: { name, input: filled.input } }
        : { name, input: filled.input }
      return { kind: 'call', call }
    }
    incomplete ??= { kind: 'incomplete', tool: tool.name, missing: filled.missing }
  }
  return incomplete ?? { kind: 'nothing' }
}

/** Side by side only what cannot depend on each other: not ordered, no "it", no other tool of the same owner. */
function mayJoin(task: Task, call: PlannedCall, calls: readonly PlannedCall[]): boolean {
  const name = meantTool(call)
  return (
    !task.isOrdered &&
    !pronoun.test(task.text) &&
    calls.every((other) => meantTool(other) === name || ownerOf(meantTool(other)) !== ownerOf(name))
  )
}

const meantTool = ({ name, input }: PlannedCall): string =>
  name === callName && typeof input.name === 'string' ? input.name : name

/** Takes the call out of those made, so that two equal steps need two calls. */
function take(made: MadeCall[], call: PlannedCall): MadeCall | undefined {
  const at = made.findIndex((one) => isSame(one, call))
  return at < 0 ? undefined : made.splice(at, 1)[0]
}

/** Makes no call twice: a second one with the same input would answer the same. */
function withoutRepeats(
  calls: readonly PlannedCall[],
  made: readonly MadeCall[],
): readonly PlannedCall[] {
  return calls.filter(
    (call, index) =>
      !made.some((one) => isSame(one, call)) &&
      !calls.slice(0, index).some((one) => isSame(one, call)),
  )
}

const isSame = (one: PlannedCall, other: PlannedCall): boolean =>
  one.name === other.name && JSON.stringify(one.input) === JSON.stringify(other.input)

/** What `isola__find` answered in this run, as tools. */
function foundTools(calls: readonly MadeCall[]): readonly ToolDefinition[] {
  const output = calls.find(({ name }) => name === findName)?.result?.output
  return listedIn(output).flatMap((hit) => {
    const name = hit.id ?? hit.name
    const schema = hit.input_schema ?? hit.inputSchema
    if (typeof name !== 'string' || !isJsonObject(schema) || typeOf(schema) !== 'object') return []
    return [
      {
        name,
        description: typeof hit.description === 'string' ? hit.description : '',
        inputSchema: schema,
      },
    ]
  })
}
