import type { AgentDefinition } from './agent-definition.ts'

/** What two definitions have that the other has not, a line each with where it stands. */
export function definitionDiff(before: AgentDefinition, after: AgentDefinition) {
  const [old, now] = [linesOf(before, ''), linesOf(after, '')]
  return {
    added: now.filter((line) => !old.includes(line)),
    removed: old.filter((line) => !now.includes(line)),
  }
}

function linesOf(value: unknown, place: string): readonly string[] {
  if (typeof value === 'string') return value.split('\n').map((line) => `${place}: ${line}`)
  if (typeof value !== 'object' || value === null) return [`${place}: ${JSON.stringify(value)}`]
  const isList = Array.isArray(value)
  return Object.entries(value).flatMap(([key, part]) =>
    linesOf(part, isList ? place : place === '' ? key : `${place}.${key}`),
  )
}
