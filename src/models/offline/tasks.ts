import type { ToolDefinition } from '#contracts/model.ts'
import { literalsIn, unmask, type Literal, type Masked } from './literals.ts'
import { pairIn, pathNames } from './parameter-names.ts'
import { fileName, looksLikePath, shown } from './phrases.ts'
import { parametersOf } from './schema-shape.ts'
import { leadVerb, maxSteps, splitSteps, type Step } from './steps.ts'
import type { ToolChooser } from './tool-choice.ts'

/** A step with the tools it may mean, best first. */
export interface Task extends Step {
  readonly candidates: readonly ToolDefinition[]
}

/** What a message asks for, step by step. */
export function readTasks(masked: Masked, chooser: ToolChooser): readonly Task[] {
  return joinLoose(
    splitSteps(masked.text).map((step) => withCandidates(step, masked, chooser)),
    masked.literals,
  )
    .flatMap(perAssignment)
    .slice(0, maxSteps)
}

export function withCandidates(step: Step, { literals }: Masked, chooser: ToolChooser): Task {
  // Quoted text is material; only a tool's name in code marks may choose the tool.
  const words = unmask(step.text.replace(fileName, ' '), literals, ({ kind, text }) =>
    kind === 'code' && /^[\w-]{1,80}$/.test(text) ? text : ' ',
  )
  const candidates = chooser.choose(words, hintsFor(step.text, literals))
  const first = goesToPath(step.text, literals) ? candidates.filter(needsPath) : []
  return { ...step, candidates: [...new Set([...first, ...candidates])] }
}

function hintsFor(text: string, literals: readonly Literal[]): readonly string[] {
  const hints = literalsIn(text, literals).flatMap(({ kind }) =>
    kind === 'url' ? ['url http'] : kind === 'block' ? ['code'] : [],
  )
  if (assignment.test(text)) return [...hints, 'key value']
  return goesToPath(text, literals) || text.search(fileName) >= 0 ? [...hints, 'file'] : hints
}

/** "Write … to src/a.js" wants a tool that asks for a path. */
function goesToPath(text: string, literals: readonly Literal[]): boolean {
  const target =
    /^(?:write|save|put|append|download)\b.* (?:to|into|as) (?:the )?(?:file )?(\S+)$/i.exec(
      text,
    )?.[1]
  return target !== undefined && looksLikePath(shown(target, literals))
}

const needsPath = ({ inputSchema }: ToolDefinition): boolean =>
  parametersOf(inputSchema).some(({ name, isRequired }) => isRequired && pathNames.test(name))

/** A verb and at once a name with its value: "keep a = 1". */
const assignment = /^(?<verb>\p{L}+ )(?<name>[\w\ue000-\uf8ff-]{1,64}) ?= ?\S/u

/** "Keep a = 1 and b = 2" is two calls of a tool that takes one name and one value. */
function perAssignment(task: Task): readonly Task[] {
  const { verb, name } = assignment.exec(task.text)?.groups ?? {}
  const parameters = parametersOf(task.candidates[0]?.inputSchema ?? {})
  const pair = pairIn(parameters)
  const isOfTool = !pair || pathNames.test(pair.nameOf.name)
  if (verb === undefined || isOfTool || parameters.some((one) => one.name === name)) return [task]
  const parts = task.text.split(/(?:,? and|[,.]) (?=[\w\ue000-\uf8ff-]{1,64} ?= ?\S)/)
  return parts.map((text, index) =>
    index === 0 ? { ...task, text } : { ...task, text: verb + text, isOrdered: false },
  )
}

/** Begins with a verb that asks to do something, not just to say something. */
export function asksForAction(text: string): boolean {
  const verb = leadVerb(text)
  return verb !== undefined && !/^(?:tell|explain|describe|give|make|try|keep)$/.test(verb)
}

/**
 * Joins what belongs together: a sentence that begins with no verb and means no tool says more about the step before
 * it, and several sentences to one agent are one task.
 */
function joinLoose(steps: readonly Task[], literals: readonly Literal[]): readonly Task[] {
  const joined: Task[] = []
  for (const step of steps) {
    const before = joined.at(-1)
    const isMoreOfTask = !step.isOrdered && takesTask(before?.candidates[0]) && says.test(step.text)
    const isLoose =
      step.candidates.length === 0 &&
      (leadVerb(step.text) === undefined || isOnlyBlock(step.text, literals) || isMoreOfTask)
    const isSameAgent =
      !step.isOrdered &&
      before?.candidates[0] === step.candidates[0] &&
      takesTask(step.candidates[0])
    const isMore =
      before !== undefined && (isSameAgent || (isLoose && before.candidates.length > 0))
    if (before && isMore)
      joined[joined.length - 1] = { ...before, text: `${before.text}. ${step.text}` }
    else if (
      before &&
      before.candidates.length === 0 &&
      leadVerb(before.text) === undefined &&
      step.candidates.length > 0
    ) {
      // "The colour is blue. Store it." keeps what was said first.
      joined[joined.length - 1] = { ...step, text: `${step.text}. ${before.text}` }
    } else joined.push(step)
  }
  return joined
}

/** How an agent is told more about its task. */
const says =
  /^(?:look|check|report|list|focus|consider|explain|describe|give|tell|show|keep|make|use|include|return|answer|find)\b/i

const isOnlyBlock = (text: string, literals: readonly Literal[]): boolean =>
  text.length === 1 && literalsIn(text, literals).length === 1

/** One free-text argument is all it needs: agents, mostly. */
function takesTask(tool: ToolDefinition | undefined): boolean {
  const required = tool ? parametersOf(tool.inputSchema).filter(({ isRequired }) => isRequired) : []
  return (
    required.length === 1 &&
    /^(?:task|prompt|instructions?|request|question)$/i.test(required[0]?.name ?? '')
  )
}

/** A step as a note quotes it. */
export function quotable({ text }: Task, { literals }: Masked): string {
  const words = unmask(text, literals, ({ raw }) => raw).replace(/\s+/g, ' ')
  return words.length > 80 ? `${words.slice(0, 79)}…` : words
}
