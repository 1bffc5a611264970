import type { ToolDefinition } from '#contracts/model.ts'
import { maskLiterals, unmask, type Masked } from './literals.ts'
import { pathNames } from './parameter-names.ts'
import { fileName } from './phrases.ts'
import { findName, type RunSoFar } from './run-so-far.ts'
import { parametersOf } from './schema-shape.ts'
import type { Task } from './tasks.ts'
import { ownerOf } from './tool-choice.ts'

export const asksForReview =
  /\b(?:review(?:s|ed|ing)?|inspect|lint|analy[sz]e|summari[sz]e|audit|check|look (?:at|over|through)|bugs)\b/i

const maxFiles = 8
const looksLikeCode = /[={}]|\w\(|;$/m

/** Only the orchestrator can look for what is not pinned. */
export const isSubAgent = (tools: readonly ToolDefinition[]): boolean =>
  !tools.some(({ name }) => name === findName)

/** What a task brings along to be looked at: its blocks, else code in or after a request for a review. */
export function materialOf(task: string): string | undefined {
  const { text, literals } = maskLiterals(task)
  const blocks = literals.filter(({ kind, text: inner }) => kind === 'block' && inner.trim() !== '')
  if (blocks.length > 0) return blocks.map(({ text: inner }) => inner).join('\n')
  if (!asksForReview.test(text)) return undefined
  const rest = text.replace(/^[\p{L} ,'-]{1,100}:\s|^\p{L}+\s/u, '')
  if (looksLikeCode.test(rest)) return unmask(rest, literals, ({ raw }) => raw).trim()
  const quoted = literals.filter(
    ({ kind, text: inner }) =>
      inner.search(fileName) < 0 &&
      (kind === 'code' || (kind === 'quote' && looksLikeCode.test(inner))),
  )
  return quoted.length > 0 ? quoted.map(({ text: inner }) => inner).join('\n') : undefined
}

/** A sub-agent reads the files that it is to review; what the task brings along needs no tool. */
export function toReviewTasks(
  tasks: readonly Task[],
  { task }: RunSoFar,
  tools: readonly ToolDefinition[],
): readonly Task[] {
  if (!isSubAgent(tools) || !asksForReview.test(task)) return tasks
  const masked = maskLiterals(task)
  const hasMaterial = materialOf(task) !== undefined
  const reader = tools.find(isReader)
  return tasks.flatMap((step) => {
    const [best] = step.candidates
    // A linter, or a step that writes its findings to a file, stays what it is.
    const isReading =
      reader &&
      (!best || (ownerOf(best.name) === ownerOf(reader.name) && asksForReview.test(step.text)))
    const files = isReading ? filesIn(step.text, masked) : []
    if (isReading && files.length > 0)
      return files.map((text) => ({ text, isOrdered: false, candidates: [reader] }))
    return !best && hasMaterial ? [] : [step]
  })
}

function isReader({ name, inputSchema }: ToolDefinition): boolean {
  const [first, second] = parametersOf(inputSchema)
  return /(?:^|_)read/.test(name) && !second?.isRequired && pathNames.test(first?.name ?? '')
}

function filesIn(text: string, { literals }: Masked): readonly string[] {
  const words = unmask(text, literals, ({ text: inner }) => (/\s/.test(inner) ? ' ' : ` ${inner} `))
  return [...new Set(words.match(fileName))].slice(0, maxFiles)
}
